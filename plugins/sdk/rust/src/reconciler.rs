//! Reconcilers and controllers.

use std::time::Duration;

use crate::bindings::reconciler::exports::informer::plugin::reconciler;
use crate::error::with_sources;
use crate::failure::whole_millis;
use crate::{Config, Handler};

/// What the host does with a key after a successful `reconcile`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reconciled {
    /// The host does nothing more with the key, and resets its backoff.
    Done,
    /// Reconcile the key again after its backoff, which grows each time.
    Requeue,
    /// Reconcile the key again after this delay in whole milliseconds, at most about 49 days. The backoff of the key is reset.
    RequeueAfter(Duration),
}

/// Why a key could not be reconciled.
///
/// `?` turns every error type into [`ReconcileError::Retry`]. `ReconcileError` is not a [`std::error::Error`] itself:
/// otherwise `?` could not convert all other errors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReconcileError {
    /// Reconcile the key again after its backoff. After `attempts` of `[plugin.workqueue]` failed calls in a row the key becomes
    /// a dead letter. With 0, the default, the host retries the key without end.
    Retry(String),
    /// Another attempt cannot help. The host logs and counts the failure and keeps the key as a dead letter, until a later call
    /// for the key succeeds or an operator drops it. The key is reconciled again when it is added again.
    Terminal(String),
}

/// The result of a call of `reconcile`.
pub type ReconcileResult = Result<Reconciled, ReconcileError>;

/// A controller without handlers. [`export_reconciler!`](crate::export_reconciler) makes it a component.
///
/// - The host adds the key of every notification of the plugin's subscriptions to the workqueue, also for deletions, and calls
///   `reconcile` with each key.
/// - Two workers never reconcile the same key at the same time. A key that is added during its call is reconciled again
///   afterwards.
/// - The host makes the first call when every cache that the plugin reads is synced.
/// - With several workers there are several instances, and each instance has its own `self`.
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
    /// Makes the reconciler from its configuration, like [`Handler::start`].
    ///
    /// # Errors
    /// Return the reason if this configuration cannot work.
    fn start(config: Config) -> Result<Self, String>;

    /// Brings the world into the state that the object of the key describes.
    ///
    /// Read the object through [`lister`](crate::lister). If the lister returns `None`, the object was deleted.
    ///
    /// # Errors
    /// The [`ReconcileError`] decides whether the key is reconciled again. A panic or a missed deadline has the same effect as
    /// [`ReconcileError::Retry`].
    fn reconcile(&mut self, key: &str) -> ReconcileResult;

    /// The host calls this before it drops a healthy instance, like [`Handler::stop`].
    fn stop(&mut self) {}
}

/// A controller whose handlers decide which keys they add, with [`workqueue::add`](crate::workqueue::add).
/// [`export_controller!`](crate::export_controller) makes it a component.
pub trait Controller: Handler {
    /// Reconciles a key that a handler added, like [`Reconciler::reconcile`].
    ///
    /// # Errors
    /// The [`ReconcileError`] decides whether the key is reconciled again.
    fn reconcile(&mut self, key: &str) -> ReconcileResult;
}

// === impl ReconcileError ===

impl ReconcileError {
    /// Asks for another attempt after the backoff of the key.
    pub fn retry(why: impl Into<String>) -> Self {
        Self::Retry(why.into())
    }

    /// Turns the key into a dead letter.
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
