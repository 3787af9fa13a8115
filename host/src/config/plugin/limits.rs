//! `[plugin.limits]`

use std::num::NonZeroUsize;

/// What a plugin may use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// The limits that the runtime enforces.
    pub calls: informer_runtime::Limits,
    /// Instances at the same time; `None` means one per worker.
    pub instances: Option<NonZeroUsize>,
}
