//! The dead letters of one plugin.

use std::sync::Arc;

use informer_dispatch::{
    DeadLetter, DeadLetterKeeper, ObjectRef, Queue,
    workqueue::{DroppedKey, RateLimitingQueue},
};
use tokio::time::{Instant, timeout_at};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{Instrument, info_span};

use crate::{
    admin::types::Chosen,
    state::{DeadLetters, DroppedKeys, State},
};

/// The dead letters of notifications and of keys. They are in the queues; a task for each kind writes them to disk.
pub(in crate::app) struct Letters {
    plugin: Arc<str>,
    queue: Queue,
    workqueue: RateLimitingQueue,
    kept_events: Arc<DeadLetterKeeper<DeadLetters, DeadLetter>>,
    kept_keys: Arc<DeadLetterKeeper<DroppedKeys, DroppedKey>>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

/// Why a dead letter is not replayed. The letter stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::app) enum NotReplayed {
    /// The configuration changed since.
    #[error("the plugin no longer subscribes to the resource; drop the letter")]
    NotSubscribed,
    /// It is not certain yet that the object is gone.
    #[error("the list of the resource is not complete yet; try again when it is")]
    NotSynced,
    /// The object exists, or may exist, although it is not in the cache (D-2).
    #[error(
        "the object may exist although the cache does not have it, because some objects cannot be decoded; see `informer status`"
    )]
    NotDecoded,
    /// A version without a reconciler replaced the one that gave up the key.
    #[error("the version in service has no reconciler; drop the letter")]
    NotReconciling,
    /// The component is not loaded yet, so nothing shows whether it has a reconciler.
    #[error("no version of the plugin is in service yet; try again when one is")]
    NotLoaded,
    /// The workqueue is full.
    #[error("the plugin's workqueue is full; try again later")]
    Full,
    /// The informer has stopped.
    #[error("the informer of the resource has stopped")]
    Stopping,
}

// === impl Letters ===

impl Letters {
    pub(super) fn keep(queue: Queue, workqueue: RateLimitingQueue, state: State, plugin: &str) -> Self {
        let kept_events =
            DeadLetterKeeper::new(queue.dead_letters(), DeadLetters::new(state.clone(), plugin));
        let kept_keys = DeadLetterKeeper::new(workqueue.dropped(), DroppedKeys::new(state, plugin));
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let span = info_span!("dead letters", plugin);
        let (running, token) = (Arc::clone(&kept_events), stop.clone());
        tasks.spawn(async move { running.run(token).await }.instrument(span.clone()));
        let (running, token) = (Arc::clone(&kept_keys), stop.clone());
        tasks.spawn(async move { running.run(token).await }.instrument(span));
        tasks.close();
        Self { plugin: plugin.into(), queue, workqueue, kept_events, kept_keys, tasks, stop }
    }

    /// Writes the remaining letters, and ends. Call it after the last call of the plugin.
    pub(super) async fn stop(&self, deadline: Instant) {
        self.stop.cancel();
        if timeout_at(deadline, self.tasks.wait()).await.is_err() {
            tracing::error!(plugin = &*self.plugin, "the last dead letters were not written in time");
        }
    }

    /// Returns why dead letters are in memory only, if they are.
    pub(in crate::app) fn problem(&self) -> Option<String> {
        self.kept_events.problem().or_else(|| self.kept_keys.problem())
    }

    /// The chosen letters of notifications, the oldest first.
    pub(in crate::app) fn events(&self, chosen: &Chosen) -> Vec<DeadLetter> {
        let letters = self.queue.dead_letters().list().into_iter();
        letters.filter(|letter| self.has(chosen, &letter.object)).collect()
    }

    /// The chosen letters of keys, the oldest first.
    pub(in crate::app) fn keys(&self, chosen: &Chosen) -> Vec<DroppedKey> {
        let dropped = self.workqueue.dropped().list().into_iter();
        dropped.filter(|dropped| chosen.has_key(&self.plugin, &dropped.key)).collect()
    }

    /// Drops the chosen letters of notifications. Returns their objects.
    pub(in crate::app) fn drop_events(&self, chosen: &Chosen) -> Vec<ObjectRef> {
        self.queue.dead_letters().drop_if(|object| self.has(chosen, object))
    }

    /// Drops the chosen letters of keys. Returns the keys.
    pub(in crate::app) fn drop_keys(&self, chosen: &Chosen) -> Vec<Arc<str>> {
        self.workqueue.dropped().drop_if(|key| chosen.has_key(&self.plugin, key))
    }

    fn has(&self, chosen: &Chosen, object: &ObjectRef) -> bool {
        chosen.has(&self.plugin, &object.source.to_string(), &object.key.to_string())
    }
}

impl Drop for Letters {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
