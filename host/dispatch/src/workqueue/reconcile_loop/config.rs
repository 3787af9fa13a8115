//! The configuration of a reconcile loop.

use std::{
    num::{NonZeroU32, NonZeroUsize},
    sync::Arc,
};

use crate::workers::Target;

/// How the keys of one plugin are reconciled.
#[derive(Clone, Debug, PartialEq)]
pub struct ReconcileConfig {
    /// The name of the plugin, for logs.
    pub plugin: Arc<str>,
    /// Number of calls at a time, each for another key.
    pub workers: NonZeroUsize,
    /// Failed calls in a row after which a key is given up (W-13). `None` means never.
    pub attempts: Option<NonZeroU32>,
}

impl Target for ReconcileConfig {
    fn workers(&mut self) -> &mut NonZeroUsize {
        &mut self.workers
    }
}
