//! How long an instance lives.

use std::{num::NonZeroU32, time::Duration};

/// Long enough for a plugin that hears of something every minute to stay warm; an instance holds its memory
/// all that time.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(5 * 60);

/// How long an instance lives. One that trapped, or was refused memory or time, always ends at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Instance {
    /// It serves one call after another.
    Warm {
        /// It ends after this many; none: no limit.
        max_calls: Option<NonZeroU32>,
        /// It ends after so long without a call; none: never.
        idle_timeout: Option<Duration>,
    },
    /// Each call has its own.
    Fresh,
}

// === impl Instance ===

impl Default for Instance {
    fn default() -> Self {
        Self::Warm { max_calls: None, idle_timeout: Some(IDLE_TIMEOUT) }
    }
}
