//! One listener of an informer.
//!
//! Unlike in client-go (P-1) a listener has no ring of pending notifications. The sink accepts notifications without
//! blocking; the bounded, merging queue behind it belongs to `dispatch`, which tracks what was delivered.

use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use informer_types::{
    Cause, Change, Notification, NotificationSink, Observed, Source, Step, SyncToken, Tracer,
};
use tokio::{sync::watch, time::Instant};

/// The shortest resync period; a shorter one would be polling (P-9).
const LEAST_RESYNC: Duration = Duration::from_secs(1);

/// The number of notifications passed to the sink in one call: the sink takes its lock once for all of them.
const MAX_OUTBOX: usize = 256;

/// The settings of a listener.
#[derive(Clone, Debug)]
pub struct ListenerConfig {
    /// The listener's name in logs and in the status.
    pub name: String,
    /// The resync period. `None` means the informer's period, zero means never. A period below a second becomes a
    /// second (P-9).
    pub resync: Option<Duration>,
    /// If true, this listener is also notified of unchanged objects that a relist or an event of the watch brings (D-5).
    pub relist_all: bool,
}

/// The synced state of a listener (P-16).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SyncState {
    Pending,
    Synced,
    /// The listener was removed or the informer stopped before the listener had synced.
    Ended,
}

/// The processor's side of a registration.
pub(crate) struct Listener {
    pub(crate) id: u64,
    pub(crate) name: Arc<str>,
    sink: Arc<dyn NotificationSink>,
    source: Source,
    tracer: Tracer,
    pub(crate) relist_all: bool,
    resync: Option<Duration>,
    pub(crate) next_resync: Option<Instant>,
    pub(crate) sync: watch::Sender<SyncState>,
    /// Notifications for the next call of the sink. Empty whenever the informer's lock is free.
    outbox: VecDeque<Notification>,
    sink_panics: u64,
    /// Held until every initial notification was offered; each of them carries a clone.
    initial: Option<SyncToken>,
    /// Carried by each notification of the replay that is being offered.
    replay: Option<SyncToken>,
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
            replay: None,
        }
    }

    /// Changes the settings and the sink. A changed resync period starts now.
    pub(crate) fn retarget(
        &mut self,
        config: ListenerConfig,
        sink: Arc<dyn NotificationSink>,
        default_resync: Option<Duration>,
    ) {
        let resync = period(config.resync, default_resync);
        if resync != self.resync {
            self.resync = resync;
            self.begin_period(Instant::now());
        }
        self.name = Arc::from(config.name);
        self.tracer = self.tracer.of_plugin(Arc::clone(&self.name));
        self.relist_all = config.relist_all;
        self.sink = sink;
    }

    /// Queues a notification for the sink. It is passed on before the informer's lock is released.
    pub(crate) fn offer(&mut self, change: Change, cause: Cause, observed: Observed) {
        let initial = match cause {
            Cause::Initial => self.initial.clone(),
            Cause::Replay => self.replay.clone(),
            Cause::Live | Cause::Relist | Cause::Resync => None,
        };
        let notification = Notification { source: self.source.clone(), change, cause, initial, observed };
        self.outbox.push_back(notification);
        if self.outbox.len() >= MAX_OUTBOX {
            self.flush();
        }
    }

    /// Queues a notification that only this listener receives.
    pub(crate) fn notify(&mut self, change: Change, cause: Cause, observed: Observed) {
        let step = || (change.object().key(), Step::Notified { verb: change.verb(), cause });
        self.tracer.note_of(&self.source, &observed.trace, None, step);
        self.offer(change, cause, observed);
    }

    /// Queues several notifications that only this listener receives, as observed now.
    pub(crate) fn notify_all(&mut self, changes: impl IntoIterator<Item = Change>, cause: Cause) {
        let observed = Instant::now().into_std();
        for change in changes {
            self.notify(change, cause, observed.into());
        }
    }

    /// Queues additions with cause *replay*, each with a clone of the token.
    pub(crate) fn replay(&mut self, changes: impl IntoIterator<Item = Change>, settled: SyncToken) {
        self.replay = Some(settled);
        self.notify_all(changes, Cause::Replay);
        self.replay = None;
    }

    /// Passes the queued notifications to the sink. If the sink panics on a notification, it loses that one.
    pub(crate) fn flush(&mut self) {
        while !self.outbox.is_empty() {
            let before = self.outbox.len();
            let offered = catch_unwind(AssertUnwindSafe(|| self.sink.offer_all(&mut self.outbox)));
            if offered.is_err() {
                if self.outbox.len() == before {
                    // The sink left the notification in the queue and would panic on it again.
                    self.outbox.pop_front();
                }
                self.sink_panics += 1;
                tracing::error!(listener = %self.name, resource = %self.source, "sink panicked, notification lost");
            }
        }
    }

    /// Returns the number of notifications that the sink lost by a panic since the last call.
    pub(crate) fn take_sink_panics(&mut self) -> u64 {
        std::mem::take(&mut self.sink_panics)
    }

    /// Records that every initial notification was offered. The listener has synced once all of them are settled (P-16,
    /// D-8) and the returned token is dropped. Returns `None` at a second call.
    pub(crate) fn initial_done(&mut self) -> Option<SyncToken> {
        let initial = self.initial.take()?;
        self.sink.listed(initial.clone());
        Some(initial)
    }

    /// Records that the listener receives nothing any more.
    pub(crate) fn end(&self) {
        settle(&self.sync, SyncState::Ended);
    }

    /// Returns true if the resync period has elapsed, and starts the next one (P-10).
    pub(crate) fn take_due(&mut self, now: Instant) -> bool {
        let due = self.next_resync.is_some_and(|next| next <= now);
        if due {
            self.begin_period(now);
        }
        due
    }

    /// Starts a resync period.
    pub(crate) fn begin_period(&mut self, now: Instant) {
        self.next_resync = self.resync.map(|period| now + period);
    }
}

/// The listener's own period, or else the informer's. `None` means never (P-9).
fn period(own: Option<Duration>, default: Option<Duration>) -> Option<Duration> {
    let period = own.or(default).filter(|period| !period.is_zero());
    period.map(|period| period.max(LEAST_RESYNC))
}

/// Leaves the state `Pending`. Later calls change nothing.
fn settle(sync: &watch::Sender<SyncState>, to: SyncState) {
    sync.send_if_modified(|sync| {
        let pending = *sync == SyncState::Pending;
        if pending {
            *sync = to;
        }
        pending
    });
}
