//! What one listener was told.

use informer_cache::SharedInformer;
use informer_types::{Cause, Change, Notification, NotificationSink, SyncToken};
use parking_lot::Mutex;
use tokio::time::Instant;

/// One notification.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub(crate) change: Change,
    pub(crate) cause: Cause,
    /// The informer had synced.
    pub(crate) synced: bool,
    pub(crate) at: Instant,
}

/// Records what it is offered.
pub(crate) struct Recorder {
    informer: SharedInformer,
    holds: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    told: Vec<Told>,
    held: Vec<SyncToken>,
    /// Its registration was removed.
    gone: bool,
    /// What should not have happened.
    wrong: Vec<String>,
}

// === impl Recorder ===

impl Recorder {
    /// `holds`: it keeps the sync tokens until [`acknowledge`](Self::acknowledge).
    pub(crate) fn new(informer: SharedInformer, holds: bool) -> Self {
        Self { informer, holds, state: Mutex::default() }
    }

    pub(crate) fn told(&self) -> Vec<Told> {
        self.state.lock().told.clone()
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
            state.wrong.push(format!("told of {change:?} after it had left"));
        }
        if initial.is_some() != (cause == Cause::Initial) {
            state.wrong.push(format!("{change:?} is {cause}, and has a token: {}", initial.is_some()));
        }
        if self.holds {
            state.held.extend(initial);
        }
        state.told.push(Told { change, cause, synced, at: Instant::now() });
    }
}
