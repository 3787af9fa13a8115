//! The texts for how a call ended. A recording of a running host contains them, and the story that is made of it expects them.

use std::time::Duration;

use informer_types::{Failure, FailureKind, Outcome, Reconciled};

/// How a call ended, as stories and recordings write it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ending {
    /// The next call that the plugin requested: `again after 60s`, `requeue` or `requeue after 60s`. `None` if it requested none.
    pub(crate) next: Option<String>,
    /// `retry: MESSAGE` or `retry after 60s: MESSAGE`, for example. `None` if the call succeeded.
    pub(crate) failure: Option<String>,
}

// === impl Ending ===

impl Ending {
    /// The end of a call for a notification.
    pub(crate) fn of_handler(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Acknowledged => Self::default(),
            Outcome::Again(after) => Self::next(format!("again after {after:?}")),
            Outcome::Retry { after, failure } => Self::failed(&retry(*after), failure),
            Outcome::Permanent { failure } => Self::failed("permanent", failure),
        }
    }

    /// The end of a call for a key.
    pub(crate) fn of_reconciler(outcome: &Reconciled) -> Self {
        match outcome {
            Reconciled::Done => Self::default(),
            Reconciled::Requeue => Self::next("requeue".to_owned()),
            Reconciled::RequeueAfter(after) => Self::next(format!("requeue after {after:?}")),
            Reconciled::Retry { after, failure } => Self::failed(&retry(*after), failure),
            Reconciled::Terminal { failure } => Self::failed("terminal", failure),
        }
    }

    /// The end of a call for a signal. It has the words of a handler, because the guest returns the failures of a handler.
    pub(crate) fn of_signal(outcome: &Reconciled) -> Self {
        match outcome {
            Reconciled::Terminal { failure } => Self::failed("permanent", failure),
            other => Self::of_reconciler(other),
        }
    }

    fn next(next: String) -> Self {
        Self { next: Some(next), failure: None }
    }

    /// `how` is the word for a failure that the guest returned.
    fn failed(how: &str, failure: &Failure) -> Self {
        let how = if failure.kind == FailureKind::Handler { how } else { failure.kind.as_str() };
        Self { next: None, failure: Some(format!("{how}: {}", failure.message.trim_end())) }
    }
}

fn retry(after: Option<Duration>) -> String {
    after.map_or_else(|| "retry".to_owned(), |after| format!("retry after {after:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const AFTER: Duration = Duration::from_millis(1500);

    /// Each text as `NEXT / FAILURE`.
    fn shown(Ending { next, failure }: Ending) -> String {
        format!("{} / {}", next.unwrap_or_default(), failure.unwrap_or_default())
    }

    fn failure(kind: FailureKind) -> Failure {
        Failure::new(kind, "too early\n")
    }

    #[test]
    fn calls_of_handlers_reconcilers_and_signals_end_with_the_words_of_the_guide() {
        let handler = || failure(FailureKind::Handler);
        for (outcome, text) in [
            (Outcome::Acknowledged, " / "),
            (Outcome::Again(AFTER), "again after 1.5s / "),
            (Outcome::Retry { after: None, failure: handler() }, " / retry: too early"),
            (Outcome::Retry { after: Some(AFTER), failure: handler() }, " / retry after 1.5s: too early"),
            (Outcome::Permanent { failure: handler() }, " / permanent: too early"),
            (Outcome::Retry { after: None, failure: failure(FailureKind::Trap) }, " / trap: too early"),
        ] {
            assert_eq!(shown(Ending::of_handler(&outcome)), text);
        }
        for (outcome, text, of_signal) in [
            (Reconciled::Done, " / ", " / "),
            (Reconciled::Requeue, "requeue / ", "requeue / "),
            (Reconciled::RequeueAfter(AFTER), "requeue after 1.5s / ", "requeue after 1.5s / "),
            (
                Reconciled::Retry { after: Some(AFTER), failure: handler() },
                " / retry after 1.5s: too early",
                " / retry after 1.5s: too early",
            ),
            (
                Reconciled::Terminal { failure: handler() },
                " / terminal: too early",
                " / permanent: too early",
            ),
        ] {
            assert_eq!(shown(Ending::of_reconciler(&outcome)), text);
            assert_eq!(shown(Ending::of_signal(&outcome)), of_signal);
        }
    }
}
