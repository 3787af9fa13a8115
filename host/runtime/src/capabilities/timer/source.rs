//! The timers of a plugin, as `timer` sets them.

use std::time::Duration;

/// The timers of one plugin that fire once.
pub trait TimerSource: Send + Sync + 'static {
    /// Sets a timer. The newest setting of a name wins.
    ///
    /// # Errors
    /// [`TimerError`]: nothing was changed.
    fn set(&self, name: &str, delay: Duration) -> Result<(), TimerError>;

    /// Removes a timer. Does nothing if there is none.
    fn cancel(&self, name: &str);
}

/// The timers of a host without any: none can be set.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoTimers;

/// Why a timer is not set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimerError {
    /// The plugin has as many timers as it may.
    #[error("the plugin has {most} timers, and no more are kept: cancel one, or set one of them again")]
    TooMany {
        /// The number of timers that a plugin may have.
        most: usize,
    },
    /// A timer cannot have this name.
    #[error("{0}")]
    Name(String),
}

impl TimerSource for NoTimers {
    fn set(&self, _name: &str, _delay: Duration) -> Result<(), TimerError> {
        Err(TimerError::TooMany { most: 0 })
    }

    fn cancel(&self, _name: &str) {}
}
