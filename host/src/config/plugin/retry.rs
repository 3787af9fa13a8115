//! `[plugin.retry]`

use informer_dispatch::{QueueConfig, RetryConfig};

/// What follows a failed notification.
#[derive(Clone, Debug, PartialEq)]
pub struct Retry {
    /// Attempts, and the waits between them.
    pub calls: RetryConfig,
    /// Retries per first attempt, besides a hundred at once and ten per second; `None` means no limit.
    pub budget: Option<f64>,
}

// === impl Retry ===

impl Default for Retry {
    fn default() -> Self {
        Self { calls: RetryConfig::default(), budget: QueueConfig::default().retry_budget }
    }
}
