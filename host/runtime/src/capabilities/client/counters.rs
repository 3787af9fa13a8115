//! Counters of the client of one plugin.

use crate::counter::Counter;

/// A snapshot of the counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientStats {
    /// Requests sent.
    pub requests: u64,
    /// Requests sent that were answered with an error, or not at all.
    pub failed: u64,
    /// Requests not sent because no grant allows them.
    pub refused: u64,
    /// Requests not sent because the plugin's request limit was reached.
    pub limited: u64,
    /// Events left out because there were too many about one object.
    pub events_suppressed: u64,
}

#[derive(Debug, Default)]
pub(crate) struct ClientCounters {
    pub(super) requests: Counter,
    pub(super) failed: Counter,
    pub(super) refused: Counter,
    pub(super) limited: Counter,
    pub(super) events_suppressed: Counter,
}

// === impl ClientCounters ===

impl ClientCounters {
    pub(crate) fn snapshot(&self) -> ClientStats {
        ClientStats {
            requests: self.requests.get(),
            failed: self.failed.get(),
            refused: self.refused.get(),
            limited: self.limited.get(),
            events_suppressed: self.events_suppressed.get(),
        }
    }
}
