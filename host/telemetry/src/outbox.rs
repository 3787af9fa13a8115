//! The bounded queue between the stages and the exporter, and what became of its spans.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use opentelemetry_sdk::trace::SpanData;
use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc};

/// Takes finished spans.
#[derive(Debug)]
pub(crate) struct Outbox {
    spans: mpsc::Sender<SpanData>,
    /// Notified when the queue is half full.
    pub(crate) filling: Notify,
    pub(crate) exported: AtomicU64,
    pub(crate) dropped: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) failure: Mutex<Option<String>>,
}

/// Counters of spans since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Spans that the collector has accepted.
    pub exported: u64,
    /// Spans that found no room in the queue, or exceeded the number of spans of one event.
    pub dropped: u64,
    /// Spans that could not be sent.
    pub failed: u64,
}

/// The counters of spans, and the last failure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// The counters.
    pub stats: Stats,
    /// Why the last batch could not be sent. `None` if it was sent, or if there was none.
    pub failure: Option<String>,
}

// === impl Outbox ===

impl Outbox {
    /// A queue for at most this many spans.
    pub(crate) fn new(capacity: usize) -> (Self, mpsc::Receiver<SpanData>) {
        let (spans, received) = mpsc::channel(capacity);
        let outbox = Self {
            spans,
            filling: Notify::new(),
            exported: AtomicU64::default(),
            dropped: AtomicU64::default(),
            failed: AtomicU64::default(),
            failure: Mutex::default(),
        };
        (outbox, received)
    }

    /// Queues a span. Without room, drops and counts it.
    pub(crate) fn put(&self, span: SpanData) {
        if self.spans.try_send(span).is_err() {
            self.dropped.fetch_add(1, Relaxed);
        } else if self.spans.capacity() == self.spans.max_capacity() / 2 {
            self.filling.notify_one();
        }
    }

    pub(crate) fn drop_one(&self) {
        self.dropped.fetch_add(1, Relaxed);
    }

    pub(crate) fn standing(&self) -> Standing {
        let stats = Stats {
            exported: self.exported.load(Relaxed),
            dropped: self.dropped.load(Relaxed),
            failed: self.failed.load(Relaxed),
        };
        Standing { stats, failure: self.failure.lock().clone() }
    }
}
