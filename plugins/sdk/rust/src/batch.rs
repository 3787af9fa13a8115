//! Handlers of several notifications at once.

use std::time::Duration;

use crate::bindings::batch_handler::exports::informer::plugin::batch_handler::{self, Verb};
use crate::bindings::informer::plugin::types;
use crate::{Cause, Config, Event, Failure, Update, failure::whole_millis};

/// A plugin that handles several notifications in one call, for bulk requests for example. It is implemented instead of
/// [`Handler`](crate::Handler), and [`export_batch!`](crate::export_batch) makes it a component.
///
/// When a worker of the plugin is free, a call receives the pending notifications: at most `batch` of `[plugin.queue]`, each of
/// another object. All promises of [`Handler`](crate::Handler) about instances and order hold here too. The comment of
/// `batch-handler` in `wit/batch-handler.wit` is the full contract.
///
/// ```
/// use informer_sdk::{BatchHandler, BatchResult, Change, Config, Failure, Handled, Notification, log};
///
/// struct Lines;
///
/// impl BatchHandler for Lines {
///     fn start(_config: Config) -> std::result::Result<Self, String> {
///         Ok(Self)
///     }
///
///     fn on_batch(&mut self, notifications: Vec<Notification>) -> Vec<BatchResult> {
///         log::info!("{} notifications in one call", notifications.len());
///         let handle = |notification: Notification| match notification.change {
///             Change::Added(object) if object.name().is_empty() => Err(Failure::permanent("it has no name")),
///             _ => Ok(Handled::Done),
///         };
///         notifications.into_iter().map(handle).collect()
///     }
/// }
///
/// informer_sdk::export_batch!(Lines);
/// # fn main() {}
/// ```
pub trait BatchHandler: Sized + 'static {
    /// Makes the plugin from its configuration, as [`Handler::start`](crate::Handler::start) does.
    ///
    /// # Errors
    /// Return the reason if this configuration cannot work.
    fn start(config: Config) -> Result<Self, String>;

    /// Handles at least one notification. Returns a result for each of them, in the same order. With another number of results
    /// the call counts as failed, and the host delivers each notification alone.
    fn on_batch(&mut self, notifications: Vec<Notification>) -> Vec<BatchResult>;

    /// The host calls this before it drops a healthy instance, as it calls [`Handler::stop`](crate::Handler::stop).
    fn stop(&mut self) {}
}

/// The result of a notification of a batch. The [`Failure`] decides whether the notification is delivered again.
pub type BatchResult = Result<Handled, Failure>;

/// A notification of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Notification {
    /// What happened.
    pub change: Change,
    /// Why the notification is delivered.
    pub cause: Cause,
    /// The number of the attempt to deliver it. The first is 1.
    pub attempt: u32,
}

/// What happened to an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// As in [`Handler::on_add`](crate::Handler::on_add).
    Added(Event),
    /// As in [`Handler::on_update`](crate::Handler::on_update).
    Updated(Update),
    /// As in [`Handler::on_delete`](crate::Handler::on_delete).
    Deleted {
        /// The last known state.
        object: Event,
        /// False if the watch missed the deletion: the state may be old.
        final_state_known: bool,
    },
}

/// What the host does after a notification that was handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handled {
    /// Nothing.
    Done,
    /// The object is delivered again after this time, as after [`delivery::call_again`](crate::delivery::call_again), which
    /// `on_batch` cannot call.
    Again(Duration),
}

// === impl Notification ===

impl Notification {
    /// The object: the added, the updated, or the deleted one.
    #[must_use]
    pub fn object(&self) -> &Event {
        match &self.change {
            Change::Added(object) | Change::Deleted { object, .. } => object,
            Change::Updated(update) => &update.new,
        }
    }
}

impl From<batch_handler::Notification> for Notification {
    fn from(notification: batch_handler::Notification) -> Self {
        let batch_handler::Notification { verb, gvr, meta, id, old, final_state_known, cause, attempt } =
            notification;
        let object = Event::new(gvr, meta, id);
        let change = match verb {
            Verb::Added => Change::Added(object),
            // The host gives the old state of each update.
            Verb::Updated => Change::Updated(Update::new(old.unwrap_or(id), object)),
            Verb::Deleted => Change::Deleted { object, final_state_known },
        };
        Self { change, cause: cause.into(), attempt }
    }
}

impl From<batch_handler::Cause> for Cause {
    fn from(cause: batch_handler::Cause) -> Self {
        match cause {
            batch_handler::Cause::Live => Self::Live,
            batch_handler::Cause::Initial => Self::Initial,
            batch_handler::Cause::Relist => Self::Relist,
            batch_handler::Cause::Resync => Self::Resync,
            batch_handler::Cause::Replay => Self::Replay,
        }
    }
}

/// The answer to the host.
pub(crate) fn outcome(result: BatchResult) -> batch_handler::Outcome {
    match result {
        Ok(Handled::Done) => batch_handler::Outcome::Handled,
        Ok(Handled::Again(time)) => batch_handler::Outcome::Again(whole_millis(time)),
        Err(failure) => batch_handler::Outcome::Failed(types::Failure::from(failure)),
    }
}
