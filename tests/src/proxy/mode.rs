//! How a proxy treats its connections.

use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// How the proxy treats connections until the mode changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Forwards all bytes.
    Pass,
    /// Accepts connections, keeps all of them open, and forwards nothing in either direction. The kernel's buffers
    /// hold the bytes. A later mode continues where this mode stopped. Bytes that were read just before may still
    /// arrive.
    Stall,
    /// Refuses new connections (`ECONNREFUSED`). Open connections work.
    Refuse,
    /// Forwards, and resets each connection after this many bytes to its client, counted from the moment when the
    /// mode was set. Bytes for which the client had no buffer are lost with the connection.
    CutAfter(u64),
}

/// A mode with a number, so that setting the same mode again counts as a change.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting {
    pub(super) number: u64,
    pub(super) mode: Mode,
}

/// The connections that one [`FaultProxy::cut`](super::FaultProxy::cut) ends.
#[derive(Clone, Debug)]
pub(super) struct Generation {
    pub(super) cut: CancellationToken,
    pub(super) connections: TaskTracker,
}

// === impl Generation ===

impl Generation {
    pub(super) fn new(stop: &CancellationToken) -> Self {
        Self { cut: stop.child_token(), connections: TaskTracker::new() }
    }
}
