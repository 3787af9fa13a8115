//! When a plugin that does not work is left alone.

use std::{num::NonZeroU32, time::Duration};

/// One bad object has its attempts; five calls in a row without an answer are the plugin's fault.
pub const QUARANTINE_AFTER: NonZeroU32 = NonZeroU32::new(5).unwrap();

/// A hiccup is over soon.
pub const QUARANTINE_MIN: Duration = Duration::from_secs(1);

/// A downstream that came back is noticed within five minutes; a mended file is at once.
pub const QUARANTINE_MAX: Duration = Duration::from_secs(5 * 60);

/// When a plugin that does not work is left alone, and for how long.
#[derive(Clone, Debug, PartialEq)]
pub struct Quarantine {
    /// Calls in a row that trap, take too long or too much memory, or find no instance; none: they never lead to it.
    pub after: Option<NonZeroU32>,
    /// Before the first probe. Never zero.
    pub min: Duration,
    /// Between later ones: each wait is twice the one before, up to this.
    pub max: Duration,
}

// === impl Quarantine ===

impl Default for Quarantine {
    fn default() -> Self {
        Self { after: Some(QUARANTINE_AFTER), min: QUARANTINE_MIN, max: QUARANTINE_MAX }
    }
}
