//! Counters of a plugin's HTTP requests, and the limit on requests in flight.

use std::{collections::BTreeMap, fmt, sync::Arc};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HttpOutcome {
    /// The server answered, with any status.
    Answered,
    /// Not sent: it was not granted, or led to an address that no plugin may reach.
    Denied,
    /// Not sent: too many requests of the plugin were in flight.
    Limited,
    /// A body was larger than the limit.
    TooLarge,
    /// The name, the connection, TLS or the protocol failed.
    Failed,
    /// Time ran out.
    TimedOut,
    /// The guest dropped it, or its call ended, before the answer arrived.
    Abandoned,
}

/// A snapshot of a plugin's requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct HttpStats {
    /// Requests that ended, by outcome. A request counts as answered even if the answer's body breaks off.
    pub requests: BTreeMap<HttpOutcome, u64>,
    /// Requests in flight now.
    pub in_flight: usize,
    /// Bytes of bodies sent.
    pub sent_bytes: u64,
    /// Bytes of bodies received.
    pub received_bytes: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Traffic(Mutex<HttpStats>);

/// A request in flight. Dropping it ends the request.
#[derive(Debug)]
pub(super) struct InFlight(Arc<Traffic>);

// === impl HttpOutcome ===

impl HttpOutcome {
    /// The name of the outcome in labels and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Denied => "denied",
            Self::Limited => "limited",
            Self::TooLarge => "too-large",
            Self::Failed => "failed",
            Self::TimedOut => "timed-out",
            Self::Abandoned => "abandoned",
        }
    }
}

impl fmt::Display for HttpOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

// === impl Traffic ===

impl Traffic {
    pub(super) fn ended(&self, outcome: HttpOutcome) {
        *self.0.lock().requests.entry(outcome).or_default() += 1;
    }

    pub(super) fn sent(&self, bytes: usize) {
        self.0.lock().sent_bytes += bytes as u64;
    }

    pub(super) fn received(&self, bytes: usize) {
        self.0.lock().received_bytes += bytes as u64;
    }

    /// Begins a request. Returns `None` if `most` requests are in flight already.
    pub(super) fn begin(self: &Arc<Self>, most: usize) -> Option<InFlight> {
        let mut stats = self.0.lock();
        if stats.in_flight >= most {
            return None;
        }
        stats.in_flight += 1;
        Some(InFlight(Arc::clone(self)))
    }

    pub(crate) fn snapshot(&self) -> HttpStats {
        self.0.lock().clone()
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.0.lock().in_flight -= 1;
    }
}
