//! Handlers of notifications.

use crate::{Config, Event, Result, Update};

pub use crate::bindings::handler::exports::informer::plugin::handler::Cause;

/// A plugin that handles notifications. [`export!`](macro@crate::export) makes it a component.
///
/// - The host makes one call at a time into an instance, so `&mut self` needs no lock.
/// - The host drops the instance after a panic, a missed deadline or too much memory, and when the plugin is reloaded. Use
///   `self` as a cache, never as the only copy of anything.
/// - Calls for one object are made in order and never go back in time. There is no order across objects.
/// - A call that fails is made again, so make handlers idempotent.
///
/// The comment of `handler` in `wit/handler.wit` is the full contract.
///
/// ```
/// use informer_sdk::{Cause, Config, Event, Handler, Result, log};
///
/// struct Additions {
///     seen: u64,
/// }
///
/// impl Handler for Additions {
///     fn start(_config: Config) -> std::result::Result<Self, String> {
///         Ok(Self { seen: 0 })
///     }
///
///     fn on_add(&mut self, object: Event, cause: Cause) -> Result {
///         self.seen += 1;
///         log::info!(cause = cause; "{}: addition {}", object.key(), self.seen);
///         Ok(())
///     }
/// }
///
/// informer_sdk::export!(Additions);
/// # fn main() {}
/// ```
pub trait Handler: Sized + 'static {
    /// Makes the plugin from its configuration. The host calls it once in each new instance, before any other call.
    ///
    /// # Errors
    /// Return the reason if this configuration cannot work. The operator sees the text. The host refuses the new version,
    /// and a version that already runs stays.
    fn start(config: Config) -> std::result::Result<Self, String>;

    /// An object was added.
    ///
    /// # Errors
    /// The [`Failure`](crate::Failure) decides what happens to the notification.
    fn on_add(&mut self, object: Event, cause: Cause) -> Result {
        let _ = (object, cause);
        Ok(())
    }

    /// An object changed, or a resync delivers it again. In a resync, old and new are the same state.
    ///
    /// # Errors
    /// The [`Failure`](crate::Failure) decides what happens to the notification.
    fn on_update(&mut self, update: Update, cause: Cause) -> Result {
        let _ = (update, cause);
        Ok(())
    }

    /// An object was deleted. `object` is its last known state. If the watch missed the deletion, `final_state_known` is
    /// false and the state may be old.
    ///
    /// # Errors
    /// The [`Failure`](crate::Failure) decides what happens to the notification.
    fn on_delete(&mut self, object: Event, final_state_known: bool) -> Result {
        let _ = (object, final_state_known);
        Ok(())
    }

    /// The host calls this before it drops a healthy instance, with a short deadline. Do not rely on it: an instance that
    /// trapped is dropped without this call.
    fn stop(&mut self) {}
}

// === impl Cause ===

impl Cause {
    /// The word of the WIT interface: `live`, `initial`, `relist`, `resync` or `replay`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Initial => "initial",
            Self::Relist => "relist",
            Self::Resync => "resync",
            Self::Replay => "replay",
        }
    }
}

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_is_written_as_the_word_of_the_interface() {
        let causes = [
            (Cause::Live, "live"),
            (Cause::Initial, "initial"),
            (Cause::Relist, "relist"),
            (Cause::Resync, "resync"),
            (Cause::Replay, "replay"),
        ];

        for (cause, word) in causes {
            assert_eq!(cause.to_string(), word);
        }
    }
}
