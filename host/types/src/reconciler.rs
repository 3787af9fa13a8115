//! The interface between the workers of a workqueue and a reconciler.

use std::{future::Future, sync::Arc, time::Duration};

use crate::Failure;

/// One call for a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The key, as it was added.
    pub key: Arc<str>,
    /// The number of the attempt: 1, and one more for each failed call in a row.
    pub attempt: u32,
    /// Time since the first add of the key.
    pub queued: Duration,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reconciled {
    /// The call succeeded. The backoff of the key starts over.
    Done,
    /// The call succeeded, and the key is to be reconciled again after its backoff, which grows.
    Requeue,
    /// The call succeeded, and the key is to be reconciled again after this delay. The backoff of the key starts over.
    RequeueAfter(Duration),
    /// The call failed. The key is retried after its backoff until its attempts are spent.
    Retry {
        /// Why the call failed.
        failure: Failure,
    },
    /// The call failed, and repeating it cannot help. The key is given up.
    Terminal {
        /// Why the call failed.
        failure: Failure,
    },
}

/// The sync function of a controller (W-1). `runtime` implements it with a plugin.
pub trait Reconciler: Send + Sync + 'static {
    /// Brings the actual state closer to the state that the key's object describes. Returns `None` if no call was made, because
    /// a version without a reconciler was put into service meanwhile. The key is put back then.
    ///
    /// The workers never make overlapping calls for one key (W-3). Calls for different keys may overlap.
    ///
    /// # Cancel safety
    /// A dropped future ends the call: the guest may have done all, some or none of its work.
    fn reconcile(&self, request: Request) -> impl Future<Output = Option<Reconciled>> + Send;
}
