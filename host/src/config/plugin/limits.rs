//! What one call of a plugin may use.

use std::{
    num::{NonZeroU32, NonZeroUsize},
    time::Duration,
};

/// A Python or JavaScript guest starts with 20 to 30 MiB; one that leaks is stopped before it matters.
pub const MEMORY_BYTES: usize = 64 << 20;

/// A handler that waits longer than this for anything should be retried instead: its worker is taken meanwhile.
pub const DEADLINE: Duration = Duration::from_secs(5);

/// A few hundred lines a call: enough for a backtrace, too little to flood a collector.
pub const LOG_BYTES: usize = 64 << 10;

/// About eight hundred objects of 5 KiB; the lister hands out longer answers by page.
pub const RESPONSE_BYTES: usize = 4 << 20;

/// Four times what client-go allows a program: a controller of one resource stays far below, and one that answers its
/// own events for ever does not matter to the API server.
pub const REQUESTS: NonZeroU32 = NonZeroU32::new(20).unwrap();

/// As many instances as a busy plugin has; a service that stalls holds up no more than these.
pub const HTTP_REQUESTS: usize = 8;

/// As much as an answer of the lister.
pub const HTTP_BODY_BYTES: usize = 4 << 20;

/// What a well-kept exporter has, and little to a Prometheus.
pub const METRIC_SERIES: usize = 1000;

/// A walk over the largest cache makes a hundred thousand; a guest in an endless loop, a million a second.
pub const HOST_CALLS: u32 = 1_000_000;

/// A line for each object of a large list as fast as it comes; a guest in an endless loop writes ten times as many.
pub const LOG_LINES: u32 = 10_000;

/// What one call may use, and what all calls of the plugin together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Linear memory of one instance, in bytes: 64 KiB to 4 GiB, what 32-bit addresses reach.
    pub memory_bytes: usize,
    /// From the start of a call to its end, host calls included, without what the host makes it wait for its turn or for
    /// its `cpu` share. Never zero.
    pub deadline: Duration,
    /// Processor time a second, over all instances: 10 ms at least. None: no limit.
    pub cpu: Option<Duration>,
    /// Calls of one call to the host. None: no limit.
    pub host_calls: Option<NonZeroU32>,
    /// Instances at a time, and so calls; what is more waits. None: as many as the queue has workers.
    pub instances: Option<NonZeroUsize>,
    /// Log text a call may write, in bytes; the rest is cut and counted. Zero: none of it is kept.
    pub log_bytes: usize,
    /// Lines of log a second, all instances together; the rest is left out and counted. None: no limit.
    pub log_lines: Option<NonZeroU32>,
    /// What one call of the guest to the host may return, in bytes. At least 1 KiB.
    pub response_bytes: usize,
    /// To the API server, a second and in all its calls together.
    pub requests: NonZeroU32,
    /// Series of its own metrics: at most 100,000; 0: none.
    pub metric_series: usize,
    /// HTTP requests under way at a time, of all calls of the plugin: 1 to 1,024.
    pub http_requests: usize,
    /// The body of an HTTP request, and that of an answer, in bytes: 1 KiB to 1 GiB.
    pub http_body_bytes: usize,
}

// === impl Limits ===

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory_bytes: MEMORY_BYTES,
            deadline: DEADLINE,
            cpu: None,
            host_calls: NonZeroU32::new(HOST_CALLS),
            instances: None,
            log_bytes: LOG_BYTES,
            log_lines: NonZeroU32::new(LOG_LINES),
            response_bytes: RESPONSE_BYTES,
            requests: REQUESTS,
            metric_series: METRIC_SERIES,
            http_requests: HTTP_REQUESTS,
            http_body_bytes: HTTP_BODY_BYTES,
        }
    }
}
