//! What a new version of a plugin has to show, and what it is told.

/// One failure is an accident; more than half is the version.
pub const RETURN_AFTER: f64 = 0.5;

/// Enough to tell the two apart.
pub const TRIAL: u32 = 20;

/// When a plugin goes back to the version it had.
#[derive(Clone, Debug, PartialEq)]
pub struct Reload {
    /// When more than this share of the calls on trial fail: 0 to 1; 1: never.
    pub return_after: f64,
    /// The first calls of a new version; 0: it is not on trial.
    pub trial: u32,
}

/// What a new version is told of the objects that are there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnReload {
    /// Nothing: it goes on where the version before was.
    #[default]
    Keep,
    /// Everything its subscriptions select, once more, as additions with cause `replay`.
    Replay,
}

// === impl Reload ===

impl Default for Reload {
    fn default() -> Self {
        Self { return_after: RETURN_AFTER, trial: TRIAL }
    }
}
