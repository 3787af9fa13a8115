//! What a plugin implements.

use crate::bindings::handler::exports::informer::plugin::handler;
use crate::{Config, Event, Result, Update};

/// Why a call is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cause {
    /// Seen on the watch.
    Live,
    /// Part of the first list, not a change: the object was there already.
    Initial,
    /// Found by a later list: the change itself was missed.
    Relist,
    /// Nothing changed; the resync period is over.
    Resync,
    /// Asked for again, or several changes that became one where each was asked for and there were too many.
    Replay,
}

/// A plugin: the state between `start` and `stop`, and what it does with each notification.
///
/// The host makes one call at a time, so `&mut self` is free to change. It throws the instance away after a
/// panic, a missed deadline or too much memory, and when the plugin is reloaded: state in `self` is a cache,
/// never the only copy of anything.
///
/// Calls for one object come in order and never go back in time; nothing is promised across objects. A call
/// that fails is made again, so make handlers idempotent. The contract in full is the comment of `handler` in
/// `wit/handler.wit`.
pub trait Handler: Sized + 'static {
    /// Makes the plugin. Called once in each new instance, before any other call.
    ///
    /// # Errors
    /// The text the operator sees: this configuration cannot work. The new version is refused, and a version that
    /// runs already goes on.
    fn start(config: Config) -> std::result::Result<Self, String>;

    /// An object that was not there before.
    ///
    /// # Errors
    /// A [`Failure`](crate::Failure) says what becomes of the notification.
    fn on_add(&mut self, object: Event, cause: Cause) -> Result {
        let _ = (object, cause);
        Ok(())
    }

    /// An object that changed, or that a resync delivers again (then old and new are the same state).
    ///
    /// # Errors
    /// As [`on_add`](Self::on_add).
    fn on_update(&mut self, update: Update, cause: Cause) -> Result {
        let _ = (update, cause);
        Ok(())
    }

    /// An object that is gone, with its last known state. `final_state_known` is false where the deletion itself
    /// was missed, so that the state may be old.
    ///
    /// # Errors
    /// As [`on_add`](Self::on_add).
    fn on_delete(&mut self, object: Event, final_state_known: bool) -> Result {
        let _ = (object, final_state_known);
        Ok(())
    }

    /// Called before a healthy instance is dropped, with a short deadline. Do not rely on it: an instance that
    /// trapped is dropped without.
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

impl From<handler::Cause> for Cause {
    fn from(cause: handler::Cause) -> Self {
        match cause {
            handler::Cause::Live => Self::Live,
            handler::Cause::Initial => Self::Initial,
            handler::Cause::Relist => Self::Relist,
            handler::Cause::Resync => Self::Resync,
            handler::Cause::Replay => Self::Replay,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_keeps_the_word_of_the_interface() {
        let causes = [
            (handler::Cause::Live, "live"),
            (handler::Cause::Initial, "initial"),
            (handler::Cause::Relist, "relist"),
            (handler::Cause::Resync, "resync"),
            (handler::Cause::Replay, "replay"),
        ];

        for (wire, word) in causes {
            assert_eq!(Cause::from(wire).to_string(), word);
        }
    }
}
