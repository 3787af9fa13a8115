//! What the workers of a workqueue ask of a plugin, and what they hear back.

use std::{future::Future, sync::Arc, time::Duration};

use crate::Failure;

/// One key whose turn has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// As it was added.
    pub key: Arc<str>,
    /// 1 for the first call, and again after a call that did not fail.
    pub attempt: u32,
    /// Since the key was first added to those that wait.
    pub queued: Duration,
}

/// How one call of the sync function ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reconciled {
    /// Nothing more: the backoff of the key starts over.
    Done,
    /// Once more after the backoff of the key, which grows.
    Requeue,
    /// Once more after this long; the backoff of the key starts over.
    RequeueAfter(Duration),
    /// No call was made, because there is nothing to call now: once more after this long. Neither a success nor a failure:
    /// the backoff of the key stays what it is, and so does its dead letter.
    NotCalled(Duration),
    /// It failed: once more after the backoff of the key, until its attempts are spent.
    Retry {
        /// Why.
        failure: Failure,
    },
    /// It failed, and trying again cannot help.
    Terminal {
        /// Why.
        failure: Failure,
    },
}

/// The sync function of a controller (W-1). `runtime` implements it with a plugin; tests with closures.
pub trait Reconciler: Send + Sync + 'static {
    /// Brings the world into the state that the key's object asks for. The workers never make two overlapping calls for
    /// one key (W-3), but may make overlapping calls for different ones.
    ///
    /// # Cancel safety
    /// A dropped future ends the call: the guest may have done all, some or nothing of it.
    fn reconcile(&self, request: Request) -> impl Future<Output = Reconciled> + Send;
}
