//! The configuration of a dispatcher.

use std::{num::NonZeroUsize, sync::Arc};

use crate::{RetryConfig, workers::Target};

/// How the notifications of one plugin are delivered.
#[derive(Clone, Debug, PartialEq)]
pub struct DispatchConfig {
    /// The name of the plugin, for logs.
    pub plugin: Arc<str>,
    /// Number of calls at a time, each for another object.
    pub workers: NonZeroUsize,
    /// What happens after a failure.
    pub retry: RetryConfig,
}

impl Target for DispatchConfig {
    fn workers(&mut self) -> &mut NonZeroUsize {
        &mut self.workers
    }
}
