//! The first calls of a version that took over from another.

use informer_types::{Failure, FailureKind};
use parking_lot::Mutex;

use crate::{Component, PluginConfig, TrialConfig};

/// A version none of whose first so many calls did what it should need not go on until its share is full: with few
/// events that would take until their attempts are spent.
const HOPELESS: u32 = 5;

/// A version on trial. It ends with the verdict.
pub(super) struct Trial {
    config: TrialConfig,
    state: Mutex<Option<State>>,
}

/// What the plugin goes back to: what was written for the last version that passed. What it may reach and use is not
/// gone back to.
#[derive(Clone)]
pub(super) struct LastGood {
    pub(super) component: Component,
    /// Handed to `start`.
    pub(super) config_json: String,
}

struct State {
    last_good: LastGood,
    calls: u32,
    failures: u32,
}

// === impl LastGood ===

impl LastGood {
    /// True where this may work and the other not.
    pub(super) fn differs(&self, component: &Component, config: &PluginConfig) -> bool {
        self.component.digest() != component.digest() || self.config_json != config.config_json
    }
}

// === impl Trial ===

impl Trial {
    /// Without anything to go back to, or without calls to be judged by, there is no trial.
    pub(super) fn new(config: TrialConfig, last_good: Option<LastGood>) -> Self {
        let last_good = last_good.filter(|_| config.calls > 0);
        let state = last_good.map(|last_good| State { last_good, calls: 0, failures: 0 });
        Self { config, state: Mutex::new(state) }
    }

    /// What the version after this one would go back to, where this one has not passed yet.
    pub(super) fn last_good(&self) -> Option<LastGood> {
        self.state.lock().as_ref().map(|state| state.last_good.clone())
    }

    /// Counts a call. With the one that decides against the version: what to go back to, and why.
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

/// An error that a handler returns of its own accord is its answer: a downstream is away, a conflict. That it cannot
/// answer is the version's fault.
fn is_the_versions_fault(kind: FailureKind) -> bool {
    match kind {
        FailureKind::Trap
        | FailureKind::Deadline
        | FailureKind::Memory
        | FailureKind::HostCalls
        | FailureKind::Start => true,
        FailureKind::Handler | FailureKind::Host => false,
    }
}
