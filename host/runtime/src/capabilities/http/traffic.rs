//! What a plugin's requests are counted by, and how many run at a time.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
};

use parking_lot::Mutex;

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HttpOutcome {
    /// The server answered, with whatever status.
    Answered,
    /// It was not made: not granted, or an address that no plugin may reach.
    Denied,
    /// It was not made: too many of the plugin's requests were under way.
    Limited,
    /// A body was larger than the limit.
    TooLarge,
    /// The name, the connection, TLS or the protocol failed.
    Failed,
    /// Time ran out.
    TimedOut,
    /// The guest let go of it, or its call ended, before there was an answer.
    Abandoned,
}

/// A snapshot of a plugin's requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HttpStats {
    /// Requests that ended, by how. A body that breaks off after the answer began is not told here.
    pub requests: BTreeMap<HttpOutcome, u64>,
    /// Requests under way now.
    pub in_flight: usize,
    /// Bytes of bodies sent.
    pub sent_bytes: u64,
    /// Bytes of bodies received.
    pub received_bytes: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Traffic {
    requests: Mutex<BTreeMap<HttpOutcome, u64>>,
    in_flight: AtomicUsize,
    sent_bytes: AtomicU64,
    received_bytes: AtomicU64,
}

/// One request under way, until it is dropped.
#[derive(Debug)]
pub(super) struct InFlight(Arc<Traffic>);

// === impl HttpOutcome ===

impl HttpOutcome {
    /// As labels and JSON have it.
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
        *self.requests.lock().entry(outcome).or_default() += 1;
    }

    pub(super) fn sent(&self, bytes: usize) {
        self.sent_bytes.fetch_add(bytes as u64, Relaxed);
    }

    pub(super) fn received(&self, bytes: usize) {
        self.received_bytes.fetch_add(bytes as u64, Relaxed);
    }

    /// Begins a request; none where as many are under way already.
    pub(super) fn begin(self: &Arc<Self>, most: usize) -> Option<InFlight> {
        let more = |running: usize| (running < most).then(|| running + 1);
        self.in_flight.fetch_update(Relaxed, Relaxed, more).ok()?;
        Some(InFlight(Arc::clone(self)))
    }

    pub(crate) fn snapshot(&self) -> HttpStats {
        HttpStats {
            requests: self.requests.lock().clone(),
            in_flight: self.in_flight.load(Relaxed),
            sent_bytes: self.sent_bytes.load(Relaxed),
            received_bytes: self.received_bytes.load(Relaxed),
        }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Relaxed);
    }
}
