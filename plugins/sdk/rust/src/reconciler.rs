//! The sync function of a controller.

use std::time::Duration;

use crate::bindings::reconciler::exports::informer::plugin::reconciler;
use crate::error::with_sources;
use crate::failure::whole_millis;
use crate::{Config, Handler};

/// What the host should do with a key that was reconciled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reconciled {
    /// Nothing more: its backoff starts over.
    Done,
    /// Reconcile it again after the backoff of the key, which grows.
    Requeue,
    /// Reconcile it again after this long (whole milliseconds, at most about 49 days); its backoff starts over.
    RequeueAfter(Duration),
}

/// Why a key could not be reconciled.
///
/// Every error type becomes [`ReconcileError::Retry`] through `?`. (For the sake of `?`, this type itself is not a
/// [`std::error::Error`].)
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReconcileError {
    /// Try again after the backoff of the key, until `attempts` of `[plugin.workqueue]` are spent.
    Retry(String),
    /// Trying again cannot help: it is counted, logged and shown, and forgotten until the key is added again.
    Terminal(String),
}

/// What a call of `reconcile` answers.
pub type ReconcileResult = Result<Reconciled, ReconcileError>;

/// The classic controller: the host puts the key of every notification of the plugin's subscriptions into the queue,
/// deletions too, and calls `reconcile`. [`export_reconciler!`](crate::export_reconciler) makes the component of it.
///
/// One key is never reconciled by two workers at once, and one that is added meanwhile is reconciled again afterwards.
/// The first call is made once every cache the plugin reads is synced. With several workers there are several
/// instances, each with a `self` of its own.
///
/// ```
/// use informer_sdk::{Config, ObjectKey, Reconciled, ReconcileResult, Reconciler, lister, log};
///
/// struct Pods;
///
/// impl Reconciler for Pods {
///     fn start(_config: Config) -> Result<Self, String> {
///         Ok(Self)
///     }
///
///     fn reconcile(&mut self, key: &str) -> ReconcileResult {
///         match lister::get_fields("v1/pods", &key.parse::<ObjectKey>()?, ["/status/phase"])? {
///             Some([phase]) => log::info!(phase = phase.json().unwrap_or("none"); "pod {key}"),
///             None => log::info!("pod {key} is gone"),
///         }
///         Ok(Reconciled::Done)
///     }
/// }
///
/// informer_sdk::export_reconciler!(Pods);
/// # fn main() {}
/// ```
pub trait Reconciler: Sized + 'static {
    /// As [`Handler::start`].
    ///
    /// # Errors
    /// As [`Handler::start`].
    fn start(config: Config) -> Result<Self, String>;

    /// Brings the world into the state the key's object asks for. Read the object through [`lister`](crate::lister):
    /// none means that it is gone.
    ///
    /// # Errors
    /// A [`ReconcileError`] says whether the key comes again. A panic and a missed deadline are as
    /// [`ReconcileError::Retry`].
    fn reconcile(&mut self, key: &str) -> ReconcileResult;

    /// As [`Handler::stop`].
    fn stop(&mut self) {}
}

/// A controller that decides itself what it enqueues: its handlers call [`workqueue::add`](crate::workqueue::add).
/// [`export_controller!`](crate::export_controller) makes the component of it.
pub trait Controller: Handler {
    /// As [`Reconciler::reconcile`].
    ///
    /// # Errors
    /// As [`Reconciler::reconcile`].
    fn reconcile(&mut self, key: &str) -> ReconcileResult;
}

// === impl ReconcileError ===

impl ReconcileError {
    /// Try again after the backoff of the key.
    pub fn retry(why: impl Into<String>) -> Self {
        Self::Retry(why.into())
    }

    /// Trying again cannot help.
    pub fn terminal(why: impl Into<String>) -> Self {
        Self::Terminal(why.into())
    }
}

impl<E: std::error::Error> From<E> for ReconcileError {
    fn from(error: E) -> Self {
        Self::Retry(with_sources(&error))
    }
}

impl From<Reconciled> for reconciler::Outcome {
    fn from(reconciled: Reconciled) -> Self {
        match reconciled {
            Reconciled::Done => Self::Done,
            Reconciled::Requeue => Self::Requeue,
            Reconciled::RequeueAfter(delay) => Self::RequeueAfter(whole_millis(delay)),
        }
    }
}

impl From<ReconcileError> for reconciler::ReconcileError {
    fn from(error: ReconcileError) -> Self {
        match error {
            ReconcileError::Retry(why) => Self::Retry(why),
            ReconcileError::Terminal(why) => Self::Terminal(why),
        }
    }
}
