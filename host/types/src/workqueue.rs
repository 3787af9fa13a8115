//! The workqueue of a plugin, as the plugin sees it, and the interface between its workers and a reconciler.

use std::{fmt, future::Future, sync::Arc, time::Duration};

use crate::{EventTrace, Failure, ObjectKey, Source};

/// client-go's rate-limited workqueue without `Get` and `Done`, which only the workers call. `dispatch` implements it, and
/// `runtime` passes it to the guest.
///
/// After the shutdown of the queue, keys that are added are ignored silently (W-5).
pub trait Workqueue: Send + Sync + 'static {
    /// Adds a key. A key that is ready already is not added a second time. A key that is being reconciled is reconciled once more
    /// afterwards, however often it is added meanwhile (W-2).
    ///
    /// # Errors
    /// [`AddError`]: nothing was added.
    fn add(&self, key: &str) -> Result<(), AddError>;

    /// Adds a key after a delay, or at once if the delay is zero. If a key is added several times, the earliest deadline wins
    /// (W-7).
    ///
    /// # Errors
    /// [`AddError`]: nothing was added.
    fn add_after(&self, key: &str, delay: Duration) -> Result<(), AddError>;

    /// Adds a key after its backoff, which grows with each call until the key is forgotten (W-9, W-10).
    ///
    /// # Errors
    /// [`AddError`]: nothing was added, and the backoff did not grow.
    fn add_rate_limited(&self, key: &str) -> Result<(), AddError>;

    /// Starts the backoff of a key over. The key itself stays in the queue (W-12).
    fn forget(&self, key: &str);

    /// The number of calls of [`add_rate_limited`](Self::add_rate_limited) for a key since it was forgotten (W-10).
    fn num_requeues(&self, key: &str) -> u32;

    /// The number of ready keys, without keys in flight and delayed keys (W-6).
    fn waiting(&self) -> usize;
}

/// The key that a notification adds to the workqueue. Its text is `shop/web`, or `v1/pods shop/web` with a resource.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WorkKey {
    /// The resource of the object, `v1/pods`, or the kind of the owner, `apps/v1/ReplicaSet`. `None` unless the subscription has
    /// `resource-in-key`.
    pub of: Option<Arc<str>>,
    /// The namespace and the name.
    pub key: ObjectKey,
}

/// The version of an object that added its key to the workqueue, for logs. The object may have a newer version when its key is
/// reconciled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyedVersion {
    /// The informer of the object.
    pub source: Source,
    /// The resource version.
    pub resource_version: Box<str>,
}

/// Why a key was not added.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddError {
    /// The guest has added as many distinct keys as it may.
    #[error("the workqueue holds {capacity} keys, which is `capacity` of [plugin.workqueue]")]
    Full {
        /// The number of distinct keys that the guest may add.
        capacity: usize,
    },
    /// The key is too long: keys are names, not storage.
    #[error("a key of {bytes} bytes; at most {limit}")]
    TooLong {
        /// The length of the key.
        bytes: usize,
        /// The longest key allowed.
        limit: usize,
    },
}

// === impl WorkKey ===

impl From<ObjectKey> for WorkKey {
    fn from(key: ObjectKey) -> Self {
        Self { of: None, key }
    }
}

impl fmt::Display for WorkKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(of) = &self.of {
            write!(f, "{of} ")?;
        }
        self.key.fmt(f)
    }
}

/// One call for a key.
#[derive(Clone, Debug)]
pub struct Request {
    /// The key, as it was added.
    pub key: Arc<str>,
    /// The number of the attempt: 1, and one more for each failed call in a row.
    pub attempt: u32,
    /// Time since the first add of the key.
    pub queued: Duration,
    /// The trace of the event that added the key, or of the oldest of several. A key that the plugin added itself has none.
    pub trace: EventTrace,
    /// The newest version of the key's object that added the key. `None` if the plugin added the key itself, or if the key is that of
    /// an owner.
    pub version: Option<Arc<KeyedVersion>>,
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
    /// The call failed. The key is retried until its attempts are spent.
    Retry {
        /// The delay that the plugin requested. `None` means the backoff of the key.
        after: Option<Duration>,
        /// Why the call failed.
        failure: Failure,
    },
    /// The call failed, and repeating it cannot help. The key is given up.
    Terminal {
        /// Why the call failed.
        failure: Failure,
    },
}

// === impl Reconciled ===

impl Reconciled {
    /// The failure, if the call failed.
    pub fn failure(&mut self) -> Option<&mut Failure> {
        match self {
            Self::Done | Self::Requeue | Self::RequeueAfter(_) => None,
            Self::Retry { failure, .. } | Self::Terminal { failure } => Some(failure),
        }
    }
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
