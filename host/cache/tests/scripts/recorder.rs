//! The notifications that one listener received.

use informer_cache::SharedInformer;
use informer_types::{Cause, Change, Notification, NotificationSink, SyncToken};
use parking_lot::Mutex;
use tokio::time::Instant;

/// One received notification.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) change: Change,
    pub(crate) cause: Cause,
    /// True if the informer had synced.
    pub(crate) synced: bool,
    pub(crate) at: Instant,
}

/// Records the notifications that it is offered.
pub(crate) struct Recorder {
    informer: SharedInformer,
    holds: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    received: Vec<Received>,
    held: Vec<SyncToken>,
    /// True if its registration was removed.
    gone: bool,
    /// Violations.
    wrong: Vec<String>,
}

// === impl Recorder ===

impl Recorder {
    /// If `holds` is true, it keeps the sync tokens until [`acknowledge`](Self::acknowledge).
    pub(crate) fn new(informer: SharedInformer, holds: bool) -> Self {
        Self { informer, holds, state: Mutex::default() }
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.state.lock().received.clone()
    }

    pub(crate) fn wrong(&self) -> Vec<String> {
        self.state.lock().wrong.clone()
    }

    pub(crate) fn acknowledge(&self) {
        self.state.lock().held.clear();
    }

    pub(crate) fn holds_tokens(&self) -> bool {
        !self.state.lock().held.is_empty()
    }

    pub(crate) fn leave(&self) {
        self.state.lock().gone = true;
    }
}

impl NotificationSink for Recorder {
    fn offer(&self, notification: Notification) {
        let synced = self.informer.has_synced();
        let Notification { change, cause, initial, .. } = notification;
        let mut state = self.state.lock();
        if state.gone {
            state.wrong.push(format!("received {change:?} after its removal"));
        }
        if initial.is_some() != (cause == Cause::Initial) {
            state.wrong.push(format!("{change:?} is {cause}, and has a token: {}", initial.is_some()));
        }
        if self.holds {
            state.held.extend(initial);
        }
        state.received.push(Received { change, cause, synced, at: Instant::now() });
    }
}
