//! The signals of one plugin: its caches are complete, its timers fire, and its configuration files changed. They wait in a queue of
//! their own, which retries, delays and quarantines as the queue of keys does.

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use informer_dispatch::workqueue::{
    DroppedKey, RateLimiter, RateLimitingQueue, ReconcileConfig, ReconcileLoop, WorkqueueStats,
};
use informer_runtime::Plugin;
use informer_types::{Gvr, Signal, SyncToken};
use parking_lot::Mutex;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::{letters::NotReplayed, subscriptions::Subscriptions};
use crate::{
    admin::types::Chosen,
    app::{blocking::off_the_workers, staging::Stage},
    config,
    config_files::ConfigFiles,
    wiring::{Calls, Selections, SignalCalls, Timers},
};

/// The most timers that a plugin may set itself.
const TIMERS: NonZeroUsize = NonZeroUsize::new(1000).unwrap();

/// Time between two looks at the files of a configuration.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// The signals of one plugin.
pub(in crate::app) struct Signals {
    plugin: Arc<str>,
    queue: RateLimitingQueue,
    timers: Timers,
    selections: Selections,
    /// The workers that call the plugin; `None` before the start and once the plugin is stopped.
    workers: Mutex<Option<ReconcileLoop>>,
    /// The result of the last look at the files of the configuration. One look at a time.
    seen: tokio::sync::Mutex<LastLook>,
}

/// The result of the last look at the files of a configuration.
#[derive(Clone, Copy)]
enum LastLook {
    Never,
    Saw(u64),
    /// The files could not be read. `before` is the state at the last successful look.
    Failed {
        before: Option<u64>,
    },
}

// === impl LastLook ===

impl LastLook {
    /// The state of the files at the last successful look.
    fn state(self) -> Option<u64> {
        match self {
            Self::Never => None,
            Self::Saw(state) => Some(state),
            Self::Failed { before } => before,
        }
    }

    /// Returns true if the files have changed since the last successful look. If no look was successful, the files may have changed since
    /// the start of the version in service, so this returns true too.
    fn is_other_than(self, now: u64) -> bool {
        self.state() != Some(now)
    }
}

// === impl Signals ===

impl Signals {
    /// The plugin is not called before [`start`](Self::start).
    pub(super) fn new(config: &config::Plugin, stage: &Stage) -> Self {
        let queue = RateLimitingQueue::new(TIMERS, RateLimiter::backoff(config.retry.calls.backoff));
        if stage.stops_clocks() {
            queue.stop_clock();
        }
        queue.set_quarantine(config.quarantine.clone());
        Self {
            plugin: config.name.as_str().into(),
            timers: Timers::new(queue.clone(), stage.wall_clock.clone()),
            queue,
            selections: Selections::default(),
            workers: Mutex::new(None),
            seen: tokio::sync::Mutex::new(LastLook::Never),
        }
    }

    pub(in crate::app) fn queue(&self) -> &RateLimitingQueue {
        &self.queue
    }

    pub(super) fn timers(&self) -> &Timers {
        &self.timers
    }

    /// Starts the timers of the configuration, and the workers. Must be called within the runtime of the guests.
    pub(super) fn start(
        &self,
        config: &config::Plugin,
        (plugin, calls): (Arc<Plugin>, Arc<Calls>),
        stage: &Stage,
        abort: &CancellationToken,
    ) {
        self.timers.set_configured(&config.timers);
        let calls = SignalCalls {
            plugin,
            calls,
            timers: self.timers.clone(),
            selections: self.selections.clone(),
            witness: stage.witness.clone(),
        };
        let workers = ReconcileLoop::spawn(workers(config), self.queue.clone(), Arc::new(calls), abort);
        *self.workers.lock() = Some(workers);
    }

    /// Applies another configuration. What is pending stays.
    pub(super) fn configure(&self, old: &config::Plugin, new: &config::Plugin) {
        self.timers.set_configured(&new.timers);
        self.queue.set_quarantine(new.quarantine.clone());
        if old.retry.calls.backoff != new.retry.calls.backoff {
            self.queue.set_limiter(RateLimiter::backoff(new.retry.calls.backoff));
        }
        if let Some(running) = &*self.workers.lock() {
            running.configure(workers(new));
        }
    }

    /// Notifies the plugin of each subscription once, when its initial notifications are settled. Never returns.
    pub(super) async fn announce(&self, subscriptions: &Arc<Subscriptions>) {
        loop {
            let gvr = subscriptions.next_synced().await;
            self.select(subscriptions, gvr.clone()).await;
            subscriptions.announce(&gvr, || self.synced(&gvr));
        }
    }

    /// Notifies the plugin whenever a file of its configuration changed, while the version in service exports `config-handler`.
    /// Never returns.
    pub(super) async fn follow_config(&self, files: &ConfigFiles, plugin: &Plugin) {
        let mut swaps = plugin.swaps();
        // Early, so that a change right after the start of a version is noticed too.
        let present = files.state().await.map_or(LastLook::Never, LastLook::Saw);
        *self.seen.lock().await = present;
        loop {
            if plugin.version().is_some_and(|version| version.follows_config) {
                self.look(files).await;
                sleep(LOOK_EVERY).await;
            } else if swaps.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }

    /// Looks at the files of the configuration now, if the version in service exports `config-handler`.
    pub(super) async fn look_for(&self, plugin: &Plugin, files: &ConfigFiles) {
        if plugin.version().is_some_and(|version| version.follows_config) {
            self.look(files).await;
        }
    }

    /// Looks at the files of the configuration, and notifies the plugin if they changed since the last look.
    async fn look(&self, files: &ConfigFiles) {
        let mut seen = self.seen.lock().await;
        let before = *seen;
        *seen = match files.state().await {
            Ok(now) => {
                if before.is_other_than(now)
                    && let Err(error) = self.queue.raise(&Signal::Config.to_string())
                {
                    tracing::warn!(plugin = &*self.plugin, %error, "the plugin is not notified that its configuration changed");
                }
                LastLook::Saw(now)
            }
            Err(error) => {
                if !matches!(before, LastLook::Failed { .. }) {
                    tracing::warn!(plugin = &*self.plugin, %error, "changes of the configuration files are not noticed until they can be read");
                }
                LastLook::Failed { before: before.state() }
            }
        };
    }

    /// Delivers every object again, and then notifies the plugin of each subscription once more.
    pub(super) async fn replay_all(&self, subscriptions: &Arc<Subscriptions>) {
        for gvr in subscriptions.announced() {
            self.select(subscriptions, gvr).await;
        }
        let (replayed, queue) = (Arc::clone(subscriptions), self.queue.clone());
        let settled = move |gvr: &Gvr| {
            let (queue, key) = (queue.clone(), Signal::Synced(gvr.clone()).to_string());
            // The name of a resource is short.
            SyncToken::new(move || drop(queue.raise(&key)))
        };
        off_the_workers(move || replayed.replay_all(settled)).await;
    }

    async fn select(&self, subscriptions: &Arc<Subscriptions>, gvr: Gvr) {
        let (of, wanted) = (Arc::clone(subscriptions), gvr.clone());
        let selected = off_the_workers(move || of.selected(&wanted)).await;
        self.selections.set(gvr, selected);
    }

    fn synced(&self, gvr: &Gvr) {
        if let Err(error) = self.queue.raise(&Signal::Synced(gvr.clone()).to_string()) {
            tracing::warn!(plugin = &*self.plugin, resource = %gvr, %error, "the plugin is not notified that a cache is complete");
        }
    }

    /// Makes the calls that are pending, until the deadline. Timers do not fire any more.
    pub(super) async fn stop(&self, deadline: Instant) {
        let workers = self.workers.lock().take();
        if let Some(workers) = workers {
            workers.drain(deadline.saturating_duration_since(Instant::now())).await;
        }
    }

    /// Waits for the call in flight. What is pending is discarded.
    pub(super) async fn remove(&self) {
        self.queue.close();
        let workers = self.workers.lock().take();
        if let Some(workers) = workers {
            workers.remove().await;
        }
    }

    /// The statistics; `None` if there was no signal and no timer is set.
    pub(in crate::app) fn stats(&self) -> Option<WorkqueueStats> {
        let stats = self.queue.stats();
        (stats.keys > 0 || stats.adds > 0).then_some(stats)
    }

    /// The chosen signals that were given up, the oldest first.
    pub(in crate::app) fn letters(&self, chosen: &Chosen) -> Vec<DroppedKey> {
        let dropped = self.queue.dropped().list().into_iter();
        dropped.filter(|dropped| chosen.has_key(&self.plugin, &dropped.key)).collect()
    }

    /// Drops the chosen letters. Returns their keys.
    pub(in crate::app) fn drop_letters(&self, chosen: &Chosen) -> Vec<Arc<str>> {
        self.queue.dropped().drop_if(|key| chosen.has_key(&self.plugin, key))
    }

    /// Makes the call again. The letter is deleted once the call succeeds.
    pub(in crate::app) fn replay(&self, dropped: &DroppedKey) -> Result<(), NotReplayed> {
        let raised = match dropped.key.parse() {
            Ok(Signal::Timer(name)) => self.timers.repeat(&name),
            _ => self.queue.raise(&dropped.key),
        };
        raised.map_err(|_| NotReplayed::Full)
    }
}

/// Signals need one call at a time. A failed call is repeated like the failed call of a notification.
fn workers(config: &config::Plugin) -> ReconcileConfig {
    ReconcileConfig {
        plugin: config.name.as_str().into(),
        workers: NonZeroUsize::MIN,
        attempts: config.retry.calls.attempts,
    }
}

#[cfg(test)]
mod tests {
    use informer_types::{Failure, FailureKind};

    use super::*;
    use crate::config::{Schedule, Timer};

    /// The timer is due once a year.
    #[test]
    fn a_dead_letter_of_a_timer_is_replayed_although_the_timer_is_not_due() {
        let schedule = Schedule::Cron("0 3 1 1 *".parse().unwrap());
        let timers = vec![Timer { name: "yearly".to_owned(), schedule }];
        let config = config::Plugin { timers, ..config::Plugin::default() };
        let signals = Signals::new(&config, &Stage::default());
        signals.timers.set_configured(&config.timers);
        signals.queue.raise("timer yearly").unwrap();
        signals.queue.take().unwrap().fail(&Failure::new(FailureKind::Handler, "no"), true);
        let letters = signals.letters(&Chosen::default());

        signals.replay(&letters[0]).unwrap();

        let work = signals.queue.take().unwrap();
        assert!(signals.timers.begin("yearly", work.attempt()), "the call is made");
    }

    /// A version may have started between two failed looks, with a state of the files that no look has seen.
    #[test]
    fn files_that_become_readable_count_as_changed_unless_an_earlier_look_saw_the_same_state() {
        for (last, changed) in [
            (LastLook::Never, true),
            (LastLook::Failed { before: None }, true),
            (LastLook::Failed { before: Some(1) }, true),
            (LastLook::Failed { before: Some(2) }, false),
            (LastLook::Saw(1), true),
            (LastLook::Saw(2), false),
        ] {
            assert_eq!(last.is_other_than(2), changed, "{:?}", last.state());
        }
    }
}
