//! The dead letters of one plugin: kept, told again, dropped.

use std::sync::Arc;

use informer_dispatch::{
    DeadLetter, DeadLetterKeeper, ObjectRef, Queue,
    workqueue::{DroppedKey, RateLimitingQueue},
};
use informer_types::{Change, Workqueue};
use tokio::time::{Instant, timeout_at};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{Instrument, info_span};

use super::RunningPlugin;
use crate::{
    commands::dead_letters::{Chosen, Refused},
    state::{DeadLetters, DroppedKeys, State},
};

/// Keeps them on disk for as long as it runs.
pub(super) struct Letters {
    events: Arc<DeadLetterKeeper<DeadLetters>>,
    keys: Arc<DeadLetterKeeper<DroppedKeys, RateLimitingQueue>>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

// === impl Letters ===

impl Letters {
    pub(super) fn keep(queue: Queue, workqueue: RateLimitingQueue, state: State, plugin: &str) -> Self {
        let events = DeadLetterKeeper::new(queue, DeadLetters::new(state.clone(), plugin));
        let keys = DeadLetterKeeper::new(workqueue, DroppedKeys::new(state, plugin));
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let span = info_span!("dead letters", plugin);
        let (running, token) = (Arc::clone(&events), stop.clone());
        tasks.spawn(async move { running.run(token).await }.instrument(span.clone()));
        let (running, token) = (Arc::clone(&keys), stop.clone());
        tasks.spawn(async move { running.run(token).await }.instrument(span));
        tasks.close();
        Self { events, keys, tasks, stop }
    }

    /// After the last call: writes what is not written yet.
    pub(super) async fn stop(&self, deadline: Instant) {
        self.stop.cancel();
        if timeout_at(deadline, self.tasks.wait()).await.is_err() {
            tracing::error!("the last dead letters were not written in time");
        }
    }
}

impl Drop for Letters {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

// === impl RunningPlugin ===

impl RunningPlugin {
    /// Why dead letters are in memory only, if they are.
    pub(in crate::app) fn letters_problem(&self) -> Option<String> {
        self.letters.events.problem().or_else(|| self.letters.keys.problem())
    }

    /// The chosen ones, the oldest first.
    pub(in crate::app) fn dead_letters(&self, chosen: &Chosen) -> Vec<DeadLetter> {
        let letters = self.queue.dead_letters().into_iter();
        letters.filter(|letter| chosen.has(self.name(), &letter.object)).collect()
    }

    /// Forgets the chosen ones.
    pub(in crate::app) fn drop_dead_letters(&self, chosen: &Chosen) -> Vec<ObjectRef> {
        self.queue.drop_dead_letters(|object| chosen.has(self.name(), object))
    }

    /// The chosen keys that were given up, the oldest first.
    pub(in crate::app) fn dropped_keys(&self, chosen: &Chosen) -> Vec<DroppedKey> {
        let dropped = self.workqueue().dropped().into_iter();
        dropped.filter(|dropped| chosen.has_key(self.name(), &dropped.key)).collect()
    }

    /// Forgets the chosen keys.
    pub(in crate::app) fn forget_dropped_keys(&self, chosen: &Chosen) -> Vec<Arc<str>> {
        self.workqueue().forget_dropped(|key| chosen.has_key(self.name(), key))
    }

    /// Adds a key again that was given up. The letter goes once it is reconciled.
    pub(in crate::app) fn replay_key(&self, dropped: &DroppedKey) -> Result<(), Refused> {
        if !self.plugin.reconciles() {
            return Err(Refused::NotReconciling);
        }
        self.workqueue().add(&dropped.key).map_err(|_| Refused::Full)
    }

    /// Tells the plugin again what it gave up: the object as it is in the cache, as an addition or an update as the letter
    /// has it, with the cause `replay`; or, where it is gone, its deletion, with what the letter has of it. The letter
    /// goes once that is acknowledged. Gives the verb.
    pub(in crate::app) fn replay(&self, letter: &DeadLetter) -> Result<&'static str, Refused> {
        let ObjectRef { source, key } = &letter.object;
        let gvr = source.gvr();
        let (heard, behind) = {
            let claims = self.claims.lock();
            (claims.heard(gvr), claims.is_behind(gvr, key))
        };
        let Some((informer, registration)) = heard else { return Err(Refused::NotSubscribed) };
        // What is not in its cache is not gone for that.
        if behind || !informer.has_synced() {
            return Err(Refused::NotSynced);
        }
        let mut verb = None;
        let told = informer.replay_object(&registration, key, |cached| {
            let change = again(letter, cached)?;
            verb = Some(change.verb());
            Some(change)
        });
        verb.filter(|_| told).ok_or(Refused::Stopping)
    }
}

fn again(letter: &DeadLetter, cached: Option<Arc<informer_types::Object>>) -> Option<Change> {
    Some(match cached {
        Some(object) if letter.verb == "update" => Change::Updated { old: Arc::clone(&object), new: object },
        Some(object) => Change::Added { object },
        None => Change::Deleted { object: letter.last_known()?, final_state_known: false },
    })
}
