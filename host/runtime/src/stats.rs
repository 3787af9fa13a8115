//! What a plugin counts.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use informer_types::{Failure, FailureKind};
use parking_lot::Mutex;

use crate::capabilities::{
    ClientStats, HttpStats, KeyValueError, MetricsStats, client::ClientCounters, http::Traffic,
    metrics::Registry,
};
use crate::output::LineBudget;
use crate::timing::{Timer, Timing};

/// A snapshot of a plugin's counters, since it was made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PluginStats {
    /// Calls of `handler` and `reconciler` that ended, one way or the other.
    pub calls: u64,
    /// Calls that returned ok.
    pub acknowledged: u64,
    /// Calls that failed, by class.
    pub failures: BTreeMap<FailureKind, u64>,
    /// The last failure, in the guest's own words where it has any.
    pub last_failure: Option<Failure>,
    /// Instances made.
    pub instances_created: u64,
    /// Instances thrown away because of what a call did: a trap, a missed deadline, a refused allocation, or a
    /// call whose future was dropped.
    pub instances_retired: u64,
    /// Warm instances that wait for a call.
    pub instances_idle: usize,
    /// Times a guest was refused memory.
    pub memory_refusals: u64,
    /// Bytes of log beyond the limit.
    pub log_bytes_dropped: u64,
    /// Lines of log left out, because the plugin wrote more a second than it may.
    pub log_lines_left_out: u64,
    /// Versions that were put into service, those that were returned to included.
    pub swaps: u64,
    /// Versions that took over, failed, and were taken out of service for the one before.
    pub went_back: u64,
    /// What its client did.
    pub client: ClientStats,
    /// How long attempts took, from the start to the end, waiting for an instance included.
    pub durations: Timing,
    /// How long the notifications had been in the queue when their attempt began.
    pub queued: Timing,
    /// Its own metrics.
    pub metrics: MetricsStats,
    /// HTTP requests.
    pub http: HttpStats,
    /// Calls of the guest to the host, those of WASI included.
    pub host_calls: u64,
    /// How long its guests ran: on a thread, not waiting.
    pub running: Duration,
    /// In so many slices: from one wait, in the host or for a turn, to the next.
    pub slices: u64,
    /// Times a guest had to wait because the plugin had used up its share of the processors.
    pub throttled: u64,
    /// For how long, all instances together.
    pub throttled_time: Duration,
    /// Times a guest had to wait for its turn because others ran.
    pub turns_waited: u64,
    /// The most turns that the other plugins together were given while one of its guests waited for its own. A turn is
    /// one call at most: with one guest at a time it is never more than the number of the other plugins, unless some of them
    /// ran less and catch up.
    pub turns_let_pass: u64,
    /// Calls that had to wait for an instance.
    pub instances_waited: u64,
    /// What it did with its key-values.
    pub keyvalue: KeyValueStats,
}

/// Calls of `wasi:keyvalue`, by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyValueStats {
    /// That read.
    pub reads: u64,
    /// That wrote.
    pub writes: u64,
    /// Refused because of the quota, a limit, or a value that is no number.
    pub refused: u64,
    /// That failed because the host's state does not work.
    pub failed: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) http: Arc<Traffic>,
    pub(crate) metrics: Registry,
    /// Of the log.
    pub(crate) lines: Arc<LineBudget>,
    pub(crate) durations: Timer,
    pub(crate) queued: Timer,
    calls: AtomicU64,
    acknowledged: AtomicU64,
    created: AtomicU64,
    retired: AtomicU64,
    memory_refusals: AtomicU64,
    log_bytes_dropped: AtomicU64,
    keyvalue: Mutex<KeyValueStats>,
    pub(crate) client: ClientCounters,
    went_back: AtomicU64,
    host_calls: AtomicU64,
    running_nanos: AtomicU64,
    slices: AtomicU64,
    throttled: AtomicU64,
    throttled_nanos: AtomicU64,
    turns_waited: AtomicU64,
    instances_waited: AtomicU64,
    /// Touched by failures only.
    failures: Mutex<(BTreeMap<FailureKind, u64>, Option<Failure>)>,
}

// === impl Counters ===

impl Counters {
    /// A call of `handler` or `reconciler` ended.
    pub(crate) fn called(&self, failure: Option<&Failure>) {
        self.calls.fetch_add(1, Relaxed);
        match failure {
            None => {
                self.acknowledged.fetch_add(1, Relaxed);
            }
            Some(failure) => {
                let mut failures = self.failures.lock();
                *failures.0.entry(failure.kind).or_default() += 1;
                failures.1 = Some(failure.clone());
            }
        }
    }

    pub(crate) fn refused_memory(&self) {
        self.memory_refusals.fetch_add(1, Relaxed);
    }

    pub(crate) fn dropped_log(&self, bytes: u64) {
        self.log_bytes_dropped.fetch_add(bytes, Relaxed);
    }

    pub(crate) fn went_back(&self) {
        self.went_back.fetch_add(1, Relaxed);
    }

    pub(crate) fn keyvalue(&self, write: bool, error: Option<&KeyValueError>) {
        let mut stats = self.keyvalue.lock();
        let counter = match error {
            Some(KeyValueError::Unavailable(_)) => &mut stats.failed,
            Some(_) => &mut stats.refused,
            None if write => &mut stats.writes,
            None => &mut stats.reads,
        };
        *counter += 1;
    }

    pub(crate) fn called_host(&self, times: u32) {
        self.host_calls.fetch_add(times.into(), Relaxed);
    }

    pub(crate) fn ran(&self, time: Duration) {
        self.running_nanos.fetch_add(nanos(time), Relaxed);
        self.slices.fetch_add(1, Relaxed);
    }

    pub(crate) fn throttled(&self, time: Duration) {
        self.throttled.fetch_add(1, Relaxed);
        self.throttled_nanos.fetch_add(nanos(time), Relaxed);
    }

    pub(crate) fn waited_for_turn(&self) {
        self.turns_waited.fetch_add(1, Relaxed);
    }

    pub(crate) fn waited_for_instance(&self) {
        self.instances_waited.fetch_add(1, Relaxed);
    }

    pub(crate) fn created(&self) {
        self.created.fetch_add(1, Relaxed);
    }

    pub(crate) fn retired(&self) {
        self.retired.fetch_add(1, Relaxed);
    }

    /// What is counted elsewhere is zero.
    pub(crate) fn snapshot(&self, idle: usize) -> PluginStats {
        let (failures, last_failure) = self.failures.lock().clone();
        PluginStats {
            calls: self.calls.load(Relaxed),
            acknowledged: self.acknowledged.load(Relaxed),
            failures,
            last_failure,
            instances_created: self.created.load(Relaxed),
            instances_retired: self.retired.load(Relaxed),
            instances_idle: idle,
            memory_refusals: self.memory_refusals.load(Relaxed),
            log_bytes_dropped: self.log_bytes_dropped.load(Relaxed),
            log_lines_left_out: self.lines.left_out(),
            keyvalue: *self.keyvalue.lock(),
            client: self.client.snapshot(),
            http: self.http.snapshot(),
            went_back: self.went_back.load(Relaxed),
            durations: self.durations.snapshot(),
            queued: self.queued.snapshot(),
            metrics: self.metrics.stats(),
            host_calls: self.host_calls.load(Relaxed),
            running: Duration::from_nanos(self.running_nanos.load(Relaxed)),
            slices: self.slices.load(Relaxed),
            throttled: self.throttled.load(Relaxed),
            throttled_time: Duration::from_nanos(self.throttled_nanos.load(Relaxed)),
            turns_waited: self.turns_waited.load(Relaxed),
            instances_waited: self.instances_waited.load(Relaxed),
            ..PluginStats::default()
        }
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
