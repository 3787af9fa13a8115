//! The calls of one plugin for signals, which are not about one object.

use std::{collections::BTreeMap, sync::Arc};

use informer_runtime::Plugin;
use informer_types::{Gvr, Reconciled, Reconciler, Request, Selected, Signal, SignalCall, SignalHandler};
use parking_lot::Mutex;

use super::{Calls, timers::Timers, witness::WitnessSlot};

/// The number and the version of the objects that each subscription selected when its cache was complete. Clones share one list.
#[derive(Clone, Default)]
pub(crate) struct Selections(Arc<Mutex<BTreeMap<Gvr, Selected>>>);

/// Takes the keys of the queue of signals, and calls the plugin.
pub(crate) struct SignalCalls {
    pub(crate) plugin: Arc<Plugin>,
    pub(crate) calls: Arc<Calls>,
    pub(crate) timers: Timers,
    pub(crate) selections: Selections,
    pub(crate) witness: WitnessSlot,
}

// === impl Selections ===

impl Selections {
    pub(crate) fn set(&self, gvr: Gvr, selected: Selected) {
        self.0.lock().insert(gvr, selected);
    }

    fn of(&self, gvr: &Gvr) -> Selected {
        self.0.lock().get(gvr).cloned().unwrap_or_default()
    }
}

impl Reconciler for SignalCalls {
    /// If the version in service exports no handler for a signal, the signal is done.
    async fn reconcile(&self, request: Request) -> Option<Reconciled> {
        // The host made the key of a signal.
        let Ok(signal) = request.key.parse::<Signal>() else { return Some(Reconciled::Done) };
        let selected = match &signal {
            // The plugin has not received every object. The next start of the plugin raises the signal again.
            Signal::Synced(_) if self.calls.has_discarded() => return Some(Reconciled::Done),
            Signal::Synced(gvr) => self.selections.of(gvr),
            Signal::Timer(name) if self.timers.begin(name, request.attempt) => Selected::default(),
            // The timer is not due, and its key is skipped.
            Signal::Timer(_) => return None,
            Signal::Config => Selected::default(),
        };
        let timer = match &signal {
            Signal::Timer(name) => Some(name.clone()),
            Signal::Synced(_) | Signal::Config => None,
        };
        let call = SignalCall { signal, selected, attempt: request.attempt, queued: request.queued };
        let seen = self.witness.is_set().then(|| call.clone());
        let answer = self.plugin.signal(call).await;
        if let (Some(seen), Some(answer)) = (&seen, &answer) {
            self.witness.notify(|witness| witness.signalled(self.plugin.name(), seen, answer));
        }
        if matches!(answer, None | Some(Reconciled::Retry { .. })) {
            self.calls.note_swaps();
        }
        if let Some(name) = timer.filter(|_| !matches!(answer, Some(Reconciled::Retry { .. }))) {
            self.timers.end(&name);
        }
        Some(answer.unwrap_or(Reconciled::Done))
    }
}
