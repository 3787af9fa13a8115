//! The trial of a new version: its first calls.

use std::time::{Duration, Instant};

use informer_types::{Failure, FailureKind};
use parking_lot::Mutex;

use crate::{Component, PluginConfig, TrialConfig};

/// A version whose first calls all fail has failed its trial after this number of calls. If there are few events, the share of failed calls
/// would be reached only after all attempts are used up.
const HOPELESS: u32 = 5;

/// The pause after the last good version did not start. The new version stays in service, and its trial begins anew after the pause,
/// because the last good version may be able to start by then.
const PAUSE: Duration = Duration::from_secs(30);

/// The trial of one version. It ends when the version has passed it.
pub(super) struct Trial(Mutex<Option<State>>);

/// The code and the `config` table of the last version that passed its trial. Grants and limits are not part of it: they
/// stay as configured.
#[derive(Clone)]
pub(super) struct LastGood {
    pub(super) component: Component,
    /// The argument of `start`.
    pub(super) config_json: String,
}

struct State {
    last_good: LastGood,
    calls: u32,
    failures: u32,
    phase: Phase,
}

/// The phase of a trial decides whether calls count.
#[derive(Clone, Copy)]
enum Phase {
    /// The first calls of the version count.
    First,
    /// The last good version is about to start. No call counts.
    Verdict,
    /// The last good version did not start. Calls count from this time on.
    Again(Instant),
}

/// The verdict that a version failed its trial. The version's calls do not count until [`PAUSE`] after the verdict is dropped.
pub(super) struct Verdict<'a> {
    trial: &'a Trial,
    pub(super) last_good: LastGood,
    /// The number of failed calls, and the last failure.
    pub(super) why: String,
}

/// What a call shows about the version.
enum Evidence<'a> {
    Good,
    Bad(&'a Failure),
    /// The host could not make the call.
    Nothing,
}

// === impl LastGood ===

impl LastGood {
    /// Returns true if the code or the `config` table is another one.
    pub(super) fn differs(&self, component: &Component, config: &PluginConfig) -> bool {
        self.component.digest() != component.digest() || self.config_json != config.config_json
    }
}

// === impl Trial ===

impl Trial {
    /// Begins the trial of a version. There is no trial without a last good version, or if `calls` is 0.
    pub(super) fn new(config: TrialConfig, last_good: Option<LastGood>) -> Self {
        let last_good = last_good.filter(|_| config.calls > 0);
        let state =
            last_good.map(|last_good| State { last_good, calls: 0, failures: 0, phase: Phase::First });
        Self(Mutex::new(state))
    }

    /// Returns true until the version has passed.
    pub(super) fn is_on(&self) -> bool {
        self.0.lock().is_some()
    }

    /// The last good version while this version is on trial. Returns `None` once it has passed.
    pub(super) fn last_good(&self) -> Option<LastGood> {
        self.0.lock().as_ref().map(|state| state.last_good.clone())
    }

    /// Counts a call. Returns a verdict if this call decides against the version. `config` is the present configuration: if its `calls`
    /// is 0, the trial ends, and the version has passed.
    pub(super) fn judge(
        &self,
        config: TrialConfig,
        failure: Option<&Failure>,
        now: Instant,
    ) -> Option<Verdict<'_>> {
        let mut state = self.0.lock();
        if config.calls == 0 {
            *state = None;
        }
        let trial = state.as_mut()?;
        let which = match trial.phase {
            Phase::First => "first",
            Phase::Again(from) if now >= from => "last",
            Phase::Verdict | Phase::Again(_) => return None,
        };
        let bad = match Evidence::of(failure) {
            Evidence::Good => None,
            Evidence::Bad(failure) => Some(failure),
            Evidence::Nothing => return None,
        };
        trial.calls += 1;
        trial.failures += u32::from(bad.is_some());
        let allowed = config.share.clamp(0.0, 1.0) * f64::from(config.calls);
        let hopeless = trial.failures == trial.calls && trial.calls >= HOPELESS.min(config.calls);
        if let Some(failure) = bad
            && (f64::from(trial.failures) > allowed || hopeless && config.share < 1.0)
        {
            let State { calls, failures, .. } = *trial;
            let why = format!("{failures} of its {which} {calls} calls failed, the last with {failure}");
            (trial.calls, trial.failures, trial.phase) = (0, 0, Phase::Verdict);
            return Some(Verdict { trial: self, last_good: trial.last_good.clone(), why });
        }
        if trial.calls >= config.calls {
            *state = None;
        }
        None
    }
}

// === impl Verdict ===

impl Drop for Verdict<'_> {
    fn drop(&mut self) {
        if let Some(state) = &mut *self.trial.0.lock() {
            state.phase = Phase::Again(Instant::now() + PAUSE);
        }
    }
}

// === impl Evidence ===

impl<'a> Evidence<'a> {
    /// A failure to answer is the version's fault. An error that a handler returns is an answer: for example, a conflict or an
    /// unavailable service.
    fn of(failure: Option<&'a Failure>) -> Self {
        let Some(failure) = failure else { return Self::Good };
        match failure.kind {
            FailureKind::Trap
            | FailureKind::Deadline
            | FailureKind::Memory
            | FailureKind::HostCalls
            | FailureKind::Start => Self::Bad(failure),
            FailureKind::Handler => Self::Good,
            FailureKind::GuestMemory | FailureKind::Host => Self::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Engine, EngineConfig};

    const CONFIG: TrialConfig = TrialConfig { calls: 8, share: 0.5 };

    async fn trial() -> Trial {
        let engine = Engine::new(&EngineConfig::default()).unwrap();
        let component = Component::from_bytes(&engine, wat::parse_str("(component)").unwrap()).await.unwrap();
        let last_good = LastGood { component, config_json: "{}".to_owned() };
        Trial::new(CONFIG, Some(last_good))
    }

    /// The verdicts of this number of calls that trap. Each verdict is dropped, as after a last good version that does not start.
    fn verdicts(trial: &Trial, calls: usize, now: Instant) -> Vec<String> {
        let trap = Failure::new(FailureKind::Trap, "no");
        (0..calls)
            .filter_map(|_| trial.judge(CONFIG, Some(&trap), now).map(|verdict| verdict.why.clone()))
            .collect()
    }

    #[tokio::test]
    async fn a_version_that_failed_its_trial_is_on_trial_again_after_a_pause() {
        let (trial, begun) = (trial().await, Instant::now());

        assert_eq!(verdicts(&trial, 5, begun), ["5 of its first 5 calls failed, the last with trap: no"]);
        assert!(trial.last_good().is_some(), "it has not passed");
        assert!(verdicts(&trial, 100, begun + PAUSE / 2).is_empty(), "the pause has not ended");
        let later = Instant::now() + PAUSE;
        assert_eq!(verdicts(&trial, 5, later), ["5 of its last 5 calls failed, the last with trap: no"]);

        let later = Instant::now() + PAUSE;
        for _ in 0..8 {
            assert!(trial.judge(CONFIG, None, later).is_none());
        }
        assert!(trial.last_good().is_none(), "it has passed");
    }

    /// A start may take longer than the pause. Each further verdict would occupy one more worker of the plugin.
    #[tokio::test]
    async fn no_call_counts_while_the_last_good_version_starts() {
        let (trial, begun) = (trial().await, Instant::now());
        let trap = Failure::new(FailureKind::Trap, "no");
        assert!(verdicts(&trial, 4, begun).is_empty());
        let verdict = trial.judge(CONFIG, Some(&trap), begun).unwrap();

        assert!(verdicts(&trial, 100, begun + 10 * PAUSE).is_empty());
        drop(verdict);

        assert!(verdicts(&trial, 100, begun + PAUSE / 2).is_empty(), "the pause begins now");
        assert_eq!(verdicts(&trial, 5, Instant::now() + PAUSE).len(), 1);
    }

    /// A version whose code never ran has not passed.
    #[tokio::test]
    async fn calls_that_the_host_could_not_make_do_not_count() {
        let (trial, now) = (trial().await, Instant::now());
        for kind in [FailureKind::GuestMemory, FailureKind::Host] {
            for _ in 0..100 {
                assert!(trial.judge(CONFIG, Some(&Failure::new(kind, "no")), now).is_none());
            }
        }

        assert!(trial.last_good().is_some());
        assert_eq!(verdicts(&trial, 5, now), ["5 of its first 5 calls failed, the last with trap: no"]);
    }
}
