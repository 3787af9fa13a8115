//! One subscriber of an informer.
//!
//! There is no pending ring here, unlike in client-go (P-1): a sink takes notifications without blocking, and
//! the bounded, merging queue behind it belongs to `dispatch`, where it is known what was delivered.

use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use informer_types::{Cause, Change, Notification, NotificationSink, Source, Step, SyncToken, Tracer};
use tokio::{sync::watch, time::Instant};

use crate::processor::Processor;

/// Resync more often than this would be polling (P-9).
const LEAST_RESYNC: Duration = Duration::from_secs(1);

/// Notifications handed on together: the sink's lock is taken once for so many.
const MAX_OUTBOX: usize = 256;

/// What a listener asks for.
#[derive(Clone, Debug)]
pub struct ListenerConfig {
    /// For logs and status.
    pub name: String,
    /// None: the informer's own period. Zero: never. Anything below a second counts as a second (P-9).
    pub resync: Option<Duration>,
    /// True: a relist tells this listener about unchanged objects too (D-5).
    pub relist_all: bool,
}

/// A listener's place at an informer. Dropping it changes nothing; [`remove`](Self::remove) ends it.
#[derive(Clone)]
pub struct Registration {
    pub(crate) id: u64,
    name: Arc<str>,
    pub(crate) processor: Arc<Processor>,
    sync: watch::Receiver<SyncState>,
}

/// How far a listener has come (P-16).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SyncState {
    Pending,
    Synced,
    /// Removed, or the informer stopped, before it had synced.
    Ended,
}

/// The processor's side of a subscriber.
pub(crate) struct Listener {
    pub(crate) id: u64,
    pub(crate) name: Arc<str>,
    sink: Arc<dyn NotificationSink>,
    source: Source,
    tracer: Tracer,
    pub(crate) relist_all: bool,
    resync: Option<Duration>,
    next_resync: Option<Instant>,
    sync: watch::Sender<SyncState>,
    /// Empty whenever the informer's lock is free.
    outbox: VecDeque<Notification>,
    sink_panics: u64,
    /// Held until every initial notification was offered; each carries a clone.
    initial: Option<SyncToken>,
}

// === impl Listener ===

impl Listener {
    pub(crate) fn new(
        id: u64,
        config: ListenerConfig,
        sink: Arc<dyn NotificationSink>,
        source: Source,
        default_resync: Option<Duration>,
        tracer: &Tracer,
    ) -> Self {
        let (sync, _) = watch::channel(SyncState::Pending);
        let done = sync.clone();
        let resync = period(config.resync, default_resync);
        let name: Arc<str> = Arc::from(config.name);
        Self {
            id,
            tracer: tracer.of_plugin(Arc::clone(&name)),
            name,
            sink,
            source,
            relist_all: config.relist_all,
            resync,
            next_resync: resync.map(|period| Instant::now() + period),
            sync,
            outbox: VecDeque::new(),
            sink_panics: 0,
            initial: Some(SyncToken::new(move || settle(&done, SyncState::Synced))),
        }
    }

    /// What it asks for from now on, and where it hears it. The period begins anew where it is another one.
    pub(crate) fn retarget(
        &mut self,
        config: ListenerConfig,
        sink: Arc<dyn NotificationSink>,
        default_resync: Option<Duration>,
    ) {
        let resync = period(config.resync, default_resync);
        if resync != self.resync {
            self.next_resync = resync.map(|period| Instant::now() + period);
        }
        self.resync = resync;
        self.name = Arc::from(config.name);
        self.tracer = self.tracer.of_plugin(Arc::clone(&self.name));
        self.relist_all = config.relist_all;
        self.sink = sink;
    }

    pub(crate) fn registration(&self, processor: &Arc<Processor>) -> Registration {
        Registration {
            id: self.id,
            name: Arc::clone(&self.name),
            processor: Arc::clone(processor),
            sync: self.sync.subscribe(),
        }
    }

    pub(crate) fn has_synced(&self) -> bool {
        *self.sync.borrow() == SyncState::Synced
    }

    /// Hands a notification on, some time before the informer's lock is given back.
    pub(crate) fn offer(&mut self, change: Change, cause: Cause, observed: std::time::Instant) {
        let initial = if cause == Cause::Initial { self.initial.clone() } else { None };
        let notification = Notification { source: self.source.clone(), change, cause, initial, observed };
        self.outbox.push_back(notification);
        if self.outbox.len() >= MAX_OUTBOX {
            self.flush();
        }
    }

    /// As [`offer`](Self::offer), where the others are not told.
    pub(crate) fn tell(&mut self, change: Change, cause: Cause, observed: std::time::Instant) {
        self.tracer.note(&self.source, || (change.object().key(), Step::Told { verb: change.verb(), cause }));
        self.offer(change, cause, observed);
    }

    /// As [`tell`](Self::tell), for several that are true now.
    pub(crate) fn offer_all(&mut self, changes: impl IntoIterator<Item = (Change, Cause)>) {
        let observed = Instant::now().into_std();
        for (change, cause) in changes {
            self.tell(change, cause, observed);
        }
    }

    /// Hands on what waits. A notification over which the sink panics is lost to it.
    pub(crate) fn flush(&mut self) {
        while !self.outbox.is_empty() {
            let offered = catch_unwind(AssertUnwindSafe(|| self.sink.offer_all(&mut self.outbox)));
            if offered.is_err() {
                self.sink_panics += 1;
                tracing::error!(listener = %self.name, resource = %self.source, "sink panicked, notification lost");
            }
        }
    }

    /// Notifications over which the sink panicked, since the last time this was asked.
    pub(crate) fn take_sink_panics(&mut self) -> u64 {
        std::mem::take(&mut self.sink_panics)
    }

    /// Everything initial was offered: synced as soon as all of it is settled (P-16, D-8).
    pub(crate) fn initial_done(&mut self) {
        self.initial = None;
    }

    /// It hears nothing any more.
    pub(crate) fn end(&self) {
        settle(&self.sync, SyncState::Ended);
    }

    pub(crate) fn next_resync(&self) -> Option<Instant> {
        self.next_resync
    }

    /// True where the period is over; starts the next one (P-10).
    pub(crate) fn take_due(&mut self, now: Instant) -> bool {
        let due = self.next_resync.is_some_and(|next| next <= now);
        if due {
            self.next_resync = self.resync.map(|period| now + period);
        }
        due
    }
}

/// A listener's own period or the informer's; none: never (P-9).
fn period(own: Option<Duration>, default: Option<Duration>) -> Option<Duration> {
    let period = own.or(default).filter(|period| !period.is_zero());
    period.map(|period| period.max(LEAST_RESYNC))
}

/// Leaves `Pending` once and for all.
fn settle(sync: &watch::Sender<SyncState>, to: SyncState) {
    sync.send_if_modified(|sync| {
        let pending = *sync == SyncState::Pending;
        if pending {
            *sync = to;
        }
        pending
    });
}

// === impl Registration ===

impl Registration {
    /// As configured.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// True once the informer has synced and every initial notification offered to this listener was
    /// settled: acknowledged, merged away or given up (P-16, D-8). Never goes back to false.
    pub fn has_synced(&self) -> bool {
        *self.sync.borrow() == SyncState::Synced
    }

    /// Waits for [`has_synced`](Self::has_synced); false where the listener was removed or the informer
    /// stopped before.
    ///
    /// # Cancel safety
    /// A dropped future changes nothing.
    pub async fn wait_synced(&self) -> bool {
        let mut sync = self.sync.clone();
        match sync.wait_for(|sync| *sync != SyncState::Pending).await {
            Ok(sync) => *sync == SyncState::Synced,
            Err(_) => false,
        }
    }

    /// Ends the subscription: when it returns, the sink will not be called again. What the sink holds already
    /// is its owner's business (D-10). It waits for the call in hand, so a sink must not do it itself (P-15). Doing
    /// it twice, or after the informer stopped, changes nothing (P-14).
    pub fn remove(&self) {
        self.processor.leave(self.id);
    }
}

impl std::fmt::Debug for Registration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Registration({} synced={})", self.name, self.has_synced())
    }
}
