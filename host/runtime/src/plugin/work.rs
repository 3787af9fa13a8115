//! The work that `dispatch` hands to a plugin: notifications, one or several, keys and signals.

use std::time::{Duration, Instant};

use informer_types::{Cause, Delivery, Failure, Outcome, Reconciled, Request, Signal, SignalCall};

use super::version::VersionInfo;
use crate::call::{Batch, Call};

/// A notification or a batch of them, a key or a signal.
pub(super) trait Work: Sync {
    /// The result that `dispatch` receives.
    type Answer: Send;

    /// Returns true if the version exports the interface for this work.
    fn is_served_by(&self, version: &VersionInfo) -> bool;

    /// The call of an instance that does this work.
    fn call(&self) -> impl Call<Answer = Self::Answer>;

    /// The action of the call, for failure messages: `update of apps/v1/deployments default/web`.
    fn action(&self) -> String;

    /// How long the notification was in the queue. Returns `None` for a key and a signal, which the workqueue measures itself.
    fn queued(&self) -> Option<Duration>;

    /// When the watch received the change. Returns `None` if the watch did not send it, and for a key, which may stand for
    /// many changes.
    fn watched(&self) -> Option<Instant>;

    /// The result after a call that did not return.
    fn retry(failure: Failure) -> Self::Answer;

    /// The failure in a result. Returns `None` if the call returned ok.
    fn failure(answer: &mut Self::Answer) -> Option<&mut Failure>;
}

impl Work for Delivery {
    type Answer = Outcome;

    fn is_served_by(&self, version: &VersionInfo) -> bool {
        version.handles
    }

    fn call(&self) -> impl Call<Answer = Outcome> {
        self
    }

    fn action(&self) -> String {
        let notification = &self.notification;
        format!("{} of {} {}", notification.change.verb(), notification.source, notification.key())
    }

    fn queued(&self) -> Option<Duration> {
        Some(self.queued)
    }

    fn watched(&self) -> Option<Instant> {
        let notification = &self.notification;
        (notification.cause == Cause::Live).then_some(notification.observed.at)
    }

    fn retry(failure: Failure) -> Outcome {
        Outcome::Retry { after: None, failure }
    }

    fn failure(answer: &mut Outcome) -> Option<&mut Failure> {
        answer.failure()
    }
}

impl Work for Batch {
    type Answer = Result<Vec<Outcome>, Failure>;

    fn is_served_by(&self, version: &VersionInfo) -> bool {
        version.handles_batches
    }

    fn call(&self) -> impl Call<Answer = Self::Answer> {
        self
    }

    fn action(&self) -> String {
        let Self(deliveries) = self;
        let first = deliveries.first().map(Work::action).unwrap_or_default();
        format!("{} notifications, the first the {first}", deliveries.len())
    }

    /// The longest of the batch.
    fn queued(&self) -> Option<Duration> {
        self.0.iter().map(|delivery| delivery.queued).max()
    }

    /// The earliest of the batch.
    fn watched(&self) -> Option<Instant> {
        self.0.iter().filter_map(Work::watched).min()
    }

    fn retry(failure: Failure) -> Self::Answer {
        Err(failure)
    }

    fn failure(answer: &mut Self::Answer) -> Option<&mut Failure> {
        <&Self as Call>::failure(answer)
    }
}

impl Work for Request {
    type Answer = Reconciled;

    fn is_served_by(&self, version: &VersionInfo) -> bool {
        version.reconciles
    }

    fn call(&self) -> impl Call<Answer = Reconciled> {
        self
    }

    fn action(&self) -> String {
        format!("reconcile of {}", self.key)
    }

    fn queued(&self) -> Option<Duration> {
        None
    }

    fn watched(&self) -> Option<Instant> {
        None
    }

    fn retry(failure: Failure) -> Reconciled {
        Reconciled::Retry { after: None, failure }
    }

    fn failure(answer: &mut Reconciled) -> Option<&mut Failure> {
        answer.failure()
    }
}

impl Work for SignalCall {
    type Answer = Reconciled;

    fn is_served_by(&self, version: &VersionInfo) -> bool {
        match self.signal {
            Signal::Synced(_) => version.handles_synced,
            Signal::Timer(_) => version.has_timers,
            Signal::Config => version.follows_config,
        }
    }

    fn call(&self) -> impl Call<Answer = Reconciled> {
        self
    }

    fn action(&self) -> String {
        format!("{} of {}", self.signal.verb(), self.signal.subject())
    }

    fn queued(&self) -> Option<Duration> {
        None
    }

    fn watched(&self) -> Option<Instant> {
        None
    }

    fn retry(failure: Failure) -> Reconciled {
        <Request as Work>::retry(failure)
    }

    fn failure(answer: &mut Reconciled) -> Option<&mut Failure> {
        answer.failure()
    }
}
