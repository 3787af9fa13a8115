//! The state of the server.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use informer_cache::SharedInformer;
use tokio::{sync::mpsc, time::Instant};

use super::{Reply, watch::Watch};
use crate::{
    body::Piece,
    collection::Collection,
    ledger::{Ledger, Scope},
    script::{Failure, Fault, Setup, Streaming},
};

pub(crate) struct State {
    pub(crate) collection: Collection,
    /// Watches and pages from before this version are answered with 410.
    pub(super) compacted: u64,
    /// The version at which the watch cache stands, if it lags.
    pub(super) lag: Option<u64>,
    /// True if the resource is served.
    pub(crate) served: bool,
    /// The number of requests for the resource since it was removed.
    pub(super) misses: usize,
    pub(super) streaming: Streaming,
    pub(super) late_marks: bool,
    pub(super) gone_by_event: bool,
    pub(super) watches: Vec<Watch>,
    /// Half-open connections, to which nothing more is written.
    pub(super) stalled: Vec<mpsc::UnboundedSender<Piece>>,
    pub(crate) faults: Faults,
    pub(super) ledgers: BTreeMap<Scope, Ledger>,
    /// Violations by the client.
    pub(crate) violations: Vec<String>,
    pub(super) requests: usize,
    pub(super) second: Instant,
    /// The number of requests before the current second.
    pub(super) second_starts_at: usize,
    /// True if the client lists in pages.
    pub(super) paged: bool,
    /// The informer that sends the requests, while it runs.
    pub(crate) informer: Option<SharedInformer>,
    pub(super) latencies: InTurn<u8>,
    chunks: InTurn<u16>,
}

/// The answers to the next requests.
#[derive(Default)]
pub(crate) struct Faults {
    pub(crate) list: VecDeque<Fault>,
    pub(crate) page: VecDeque<Fault>,
    pub(crate) watch: VecDeque<Fault>,
}

/// Values that are used in turn, repeatedly.
pub(crate) struct InTurn<T> {
    values: Vec<T>,
    next: usize,
}

// === impl InTurn ===

impl<T: Copy> InTurn<T> {
    pub(super) fn next(&mut self) -> Option<T> {
        let value = self.values.get(self.next % self.values.len().max(1)).copied();
        self.next += 1;
        value
    }
}

// === impl State ===

impl State {
    pub(super) fn new(setup: &Setup) -> Self {
        Self {
            collection: Collection::new(),
            compacted: 0,
            lag: None,
            served: true,
            misses: 0,
            streaming: setup.streaming,
            late_marks: setup.late_marks,
            gone_by_event: setup.gone_by_event,
            watches: Vec::new(),
            stalled: Vec::new(),
            faults: Faults::default(),
            ledgers: BTreeMap::new(),
            violations: Vec::new(),
            requests: 0,
            second: Instant::now(),
            second_starts_at: 0,
            paged: setup.page_size.is_some(),
            informer: None,
            latencies: InTurn { values: setup.latencies.clone(), next: 0 },
            chunks: InTurn { values: setup.chunks.clone(), next: 0 },
        }
    }

    /// How often the informer has found the resource missing.
    pub(super) fn vanished(&self) -> u64 {
        self.informer.as_ref().map_or(0, |informer| informer.status().counters.vanished)
    }

    /// The version up to which watches and lists at an old version see.
    pub(super) fn horizon(&self) -> u64 {
        self.lag.unwrap_or(self.collection.version())
    }

    pub(crate) fn compact(&mut self) {
        self.compacted = self.collection.version();
    }

    pub(crate) fn fall_behind(&mut self) {
        self.lag.get_or_insert(self.collection.version());
    }

    pub(crate) fn catch_up(&mut self) {
        self.lag = None;
        self.flush();
    }

    /// Removes all faults and makes every gap visible.
    pub(crate) fn recover(&mut self) {
        self.faults = Faults::default();
        self.late_marks = false;
        self.served = true;
        self.catch_up();
        self.show_gaps();
    }

    /// The text in chunks of the script's sizes.
    pub(super) fn chunks(&mut self, text: &str) -> Vec<Piece> {
        let mut rest = text.as_bytes();
        let mut chunks = Vec::new();
        while !rest.is_empty() {
            let size = self.chunks.next().map_or(rest.len(), usize::from).clamp(1, rest.len());
            let (chunk, tail) = rest.split_at(size);
            chunks.push(Piece::Bytes(Bytes::copy_from_slice(chunk)));
            rest = tail;
        }
        chunks
    }

    pub(super) fn refusal(&mut self, failure: Failure) -> Reply {
        let mut reply = self.text(failure.code(), &failure.text());
        if let Reply::Http { retry_after, .. } = &mut reply
            && failure == Failure::Throttled
        {
            *retry_after = Some(3);
        }
        reply
    }
}
