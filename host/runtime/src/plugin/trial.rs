//! The trial of a new version: its first calls.

use std::time::{Duration, Instant};

use informer_types::{Failure, FailureKind};
use parking_lot::Mutex;

use crate::{Component, PluginConfig, TrialConfig};

/// A version whose first calls all fail has failed its trial after this number of calls. If there are few events, the share of failed calls
/// would be reached only after all attempts are used up.
const HOPELESS: u32 = 5;

/// The pause after a version failed its trial. If the last good version does not start, the new version stays in service, and its trial
/// begins anew after the pause: the last good version may start then.
const PAUSE: Duration = Duration::from_secs(30);

/// The trial of one version. It ends when the version has passed it.
pub(super) struct Trial {
    config: TrialConfig,
    state: Mutex<Option<State>>,
}

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
    /// The end of the pause after the last verdict. `None` if there was no verdict.
    paused_until: Option<Instant>,
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
        let state = last_good.map(|last_good| State { last_good, calls: 0, failures: 0, paused_until: None });
        Self { config, state: Mutex::new(state) }
    }

    /// The last good version while this version is on trial. Returns `None` once it has passed.
    pub(super) fn last_good(&self) -> Option<LastGood> {
        self.state.lock().as_ref().map(|state| state.last_good.clone())
    }

    /// Counts a call. Returns the last good version and the reason if this call decides against the version. Calls during the pause after
    /// such a verdict do not count.
    pub(super) fn judge(&self, failure: Option<&Failure>, now: Instant) -> Option<(LastGood, String)> {
        let mut state = self.state.lock();
        let trial = state.as_mut()?;
        if trial.paused_until.is_some_and(|until| now < until) {
            return None;
        }
        trial.calls += 1;
        let bad = failure.filter(|failure| is_the_versions_fault(failure.kind));
        trial.failures += u32::from(bad.is_some());
        let allowed = self.config.share.clamp(0.0, 1.0) * f64::from(self.config.calls);
        let hopeless = trial.failures == trial.calls && trial.calls >= HOPELESS.min(self.config.calls);
        if let Some(failure) = bad
            && (f64::from(trial.failures) > allowed || hopeless && self.config.share < 1.0)
        {
            let which = if trial.paused_until.is_none() { "first" } else { "last" };
            let State { calls, failures, .. } = *trial;
            let why = format!("{failures} of its {which} {calls} calls failed, the last with {failure}");
            (trial.calls, trial.failures, trial.paused_until) = (0, 0, Some(now + PAUSE));
            return Some((trial.last_good.clone(), why));
        }
        if trial.calls >= self.config.calls {
            *state = None;
        }
        None
    }
}

/// A failure to answer is the version's fault. An error that a handler returns is an answer: for example, a conflict or an
/// unavailable service.
fn is_the_versions_fault(kind: FailureKind) -> bool {
    match kind {
        FailureKind::Trap
        | FailureKind::Deadline
        | FailureKind::Memory
        | FailureKind::HostCalls
        | FailureKind::Start => true,
        FailureKind::Handler | FailureKind::GuestMemory | FailureKind::Host => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Engine, EngineConfig};

    /// The last good version did not start, so the version that failed is still in service.
    #[tokio::test]
    async fn a_version_that_failed_its_trial_is_on_trial_again_after_a_pause() {
        let engine = Engine::new(&EngineConfig::default()).unwrap();
        let component = Component::from_bytes(&engine, wat::parse_str("(component)").unwrap()).await.unwrap();
        let last_good = LastGood { component, config_json: "{}".to_owned() };
        let trial = Trial::new(TrialConfig { calls: 8, share: 0.5 }, Some(last_good));
        let (trap, begun) = (Failure::new(FailureKind::Trap, "no"), Instant::now());
        let verdicts = |calls: usize, now: Instant| -> Vec<String> {
            (0..calls).filter_map(|_| trial.judge(Some(&trap), now)).map(|(_, why)| why).collect()
        };

        assert_eq!(verdicts(5, begun), ["5 of its first 5 calls failed, the last with trap: no"]);
        assert!(trial.last_good().is_some(), "it has not passed");
        assert!(verdicts(100, begun + PAUSE / 2).is_empty(), "the last good version did not start just now");
        let later = begun + PAUSE;
        assert_eq!(verdicts(5, later), ["5 of its last 5 calls failed, the last with trap: no"]);

        let later = later + PAUSE;
        for _ in 0..8 {
            assert!(trial.judge(None, later).is_none());
        }
        assert!(trial.last_good().is_none(), "it has passed");
    }
}
