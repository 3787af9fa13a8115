//! How a call of a handler or reconciler ended.

use std::time::Duration;

use informer_types::{Failure, KeyThen, Step, Then};
use opentelemetry::KeyValue;

use crate::attributes::{number, text};

/// What a span shows about the end of a call.
pub(super) struct Ended {
    pub(super) took: Duration,
    pub(super) attempt: u32,
    pub(super) about: Vec<KeyValue>,
    /// The kind of the failure. Its message is the guest's own, so no span has it.
    pub(super) error: Option<String>,
}

// === impl Ended ===

impl Ended {
    /// Returns `None` if the step is not the end of a call.
    pub(super) fn of(step: &Step) -> Option<Self> {
        match step {
            Step::Called { verb, cause, attempt, took, failure, then, .. } => {
                let (result, wait) = handled(then);
                let about = [text("informer.verb", *verb), text("informer.cause", cause.as_str())];
                Some(Self::new((*took, *attempt), failure.as_deref(), (result, wait), about))
            }
            Step::KeyDone { attempt, took, failure, then } => {
                let about = [text("informer.verb", "reconcile")];
                Some(Self::new((*took, *attempt), failure.as_deref(), reconciled(*then), about))
            }
            _ => None,
        }
    }

    fn new(
        (took, attempt): (Duration, u32),
        failure: Option<&Failure>,
        (result, wait): (&'static str, Option<Duration>),
        about: impl IntoIterator<Item = KeyValue>,
    ) -> Self {
        let millis = |wait: Duration| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        let wait = wait.map(|wait| number("informer.retry_in_ms", millis(wait)));
        let own = [number("informer.attempt", attempt.into()), text("informer.result", result)];
        let about = about.into_iter().chain(own).chain(wait).collect();
        Self { took, attempt, about, error: failure.map(|failure| failure.kind.as_str().to_owned()) }
    }
}

fn handled(then: &Then) -> (&'static str, Option<Duration>) {
    match then {
        Then::Acknowledged => ("acknowledged", None),
        Then::Recovered => ("recovered", None),
        Then::Retry { after, .. } => ("retry", Some(*after)),
        Then::Quarantined { probe_in } => ("quarantined", Some(*probe_in)),
        Then::DeadLetter => ("dead-letter", None),
        Then::Dropped => ("dropped", None),
        Then::GivenBack => ("given-back", None),
        Then::Discarded => ("discarded", None),
    }
}

fn reconciled(then: KeyThen) -> (&'static str, Option<Duration>) {
    match then {
        KeyThen::Done => ("acknowledged", None),
        KeyThen::Again { after } => ("retry", Some(after)),
        KeyThen::GivenUp => ("dead-letter", None),
        KeyThen::GivenBack => ("given-back", None),
        KeyThen::Spared => ("quarantined", None),
        KeyThen::Discarded => ("discarded", None),
    }
}
