//! The trial of a new version: its first calls.

use informer_types::{Failure, FailureKind};
use parking_lot::Mutex;

use crate::{Component, PluginConfig, TrialConfig};

/// A version whose first calls all fail has failed its trial after this number of calls. If there are few events, the share of failed calls
/// would be reached only after all attempts are used up.
const HOPELESS: u32 = 5;

/// The trial of one version. It ends with the verdict.
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
        let state = last_good.map(|last_good| State { last_good, calls: 0, failures: 0 });
        Self { config, state: Mutex::new(state) }
    }

    /// The last good version while this version is on trial. Returns `None` after the trial.
    pub(super) fn last_good(&self) -> Option<LastGood> {
        self.state.lock().as_ref().map(|state| state.last_good.clone())
    }

    /// Counts a call. Returns the last good version and the reason if this call decides against the version.
    pub(super) fn judge(&self, failure: Option<&Failure>) -> Option<(LastGood, String)> {
        let mut state = self.state.lock();
        let trial = state.as_mut()?;
        trial.calls += 1;
        let bad = failure.filter(|failure| is_the_versions_fault(failure.kind));
        trial.failures += u32::from(bad.is_some());
        let allowed = self.config.share.clamp(0.0, 1.0) * f64::from(self.config.calls);
        let hopeless = trial.failures == trial.calls && trial.calls >= HOPELESS.min(self.config.calls);
        if let Some(failure) = bad
            && (f64::from(trial.failures) > allowed || hopeless && self.config.share < 1.0)
        {
            let State { last_good, calls, failures } = state.take()?;
            let why = format!("{failures} of its first {calls} calls failed, the last with {failure}");
            return Some((last_good, why));
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
