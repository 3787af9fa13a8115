//! Makes informers, one for each resource and scope, and owns their tasks.

mod informers;

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, atomic::Ordering},
};

use futures::future::join_all;
use parking_lot::Mutex;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    FactoryConfig, InformerKey, Phase, SharedInformer, Subscription, WatchConfig, list_watch::Transport,
    shared_informer, threads::Threads,
};

use informers::{Held, Informers};

/// Hands out shared informers and runs them. One factory speaks to one API server with one identity.
///
/// There are two ways to an informer. [`subscribe`](Self::subscribe) counts: the first subscription starts the
/// informer, the last one's end stops it (D-12). [`informer`](Self::informer) is client-go's: the informer
/// belongs to the factory, waits for [`start`](Self::start) and runs until it is stopped by name or with the
/// factory. Both ways lead to the same informer; one that belongs to the factory outlives its subscriptions.
///
/// Dropping the factory stops every informer, as [`shutdown`](Self::shutdown) does, but nobody waits for the end.
pub struct InformerFactory {
    shared: Arc<Shared>,
}

/// The factory has been shut down: nobody can subscribe any more (F-2).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the informer factory has been shut down, so {0} cannot be subscribed to")]
pub struct FactoryStopped(Box<InformerKey>);

/// Not every informer has synced (F-4).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not synced: {}", .unsynced.values().map(String::as_str).collect::<Vec<_>>().join("; "))]
pub struct NotSynced {
    /// The informers that have not synced, each with the state that tells why not.
    pub unsynced: BTreeMap<InformerKey, String>,
}

/// What the factory and its subscriptions know together.
pub(crate) struct Shared {
    transport: Transport,
    config: Arc<FactoryConfig>,
    informers: Mutex<Informers>,
    tasks: TaskTracker,
    threads: Threads,
    stop: CancellationToken,
}

// === impl InformerFactory ===

impl InformerFactory {
    /// A factory whose informers use `client`. Configure the client without retries of its own
    /// (`kube::Config::default_retry = false`) and without a read timeout: the reflectors do both, and show it.
    pub fn new(client: kube::Client, config: FactoryConfig) -> Self {
        let shared = Shared {
            transport: Transport::new(client, &config),
            threads: Threads::start(config.threads),
            config: Arc::new(config),
            informers: Mutex::default(),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// The informer of this resource, these namespaces and selectors; the same one for every request (F-1).
    /// Indexes of a later request are added to it (I-8); an index of another pointer under a taken name is
    /// refused with a warning, and its other settings are those of the first request. It does nothing before
    /// [`start`](Self::start).
    pub fn informer(&self, config: WatchConfig) -> SharedInformer {
        self.shared.hold(config, |held| held.owned = true)
    }

    /// Subscribes to the informer of this resource, these namespaces and selectors (D-12). The first
    /// subscription starts it, at once and without [`start`](Self::start); later ones share its watch and its
    /// cache. When the last one has ended the watch is closed and the cache freed, and the next subscription
    /// begins with a list again. Settings and indexes as with [`informer`](Self::informer). Never blocks. Needs
    /// a tokio runtime.
    ///
    /// # Errors
    /// [`FactoryStopped`] once the factory is shut down.
    pub fn subscribe(&self, config: WatchConfig) -> Result<Subscription, FactoryStopped> {
        let key = InformerKey::from(&config);
        let shared = &self.shared;
        let informer = shared.hold(config, |held| {
            held.subscriptions += 1;
            shared.run(&held.informer);
        });
        // Nothing runs, so there is nothing to let go of.
        if shared.stop.is_cancelled() {
            return Err(FactoryStopped(Box::new(key)));
        }
        Ok(Subscription::new(informer, Arc::clone(shared)))
    }

    /// As [`subscribe`](Self::subscribe), but to an informer of its own settings even where there is one of the same
    /// key: that one is superseded, and so are those in `replaced`, whatever their key. They go on for those who hold them
    /// until they are gone or stopped, and are among [`superseded`](Self::superseded) until then, but the factory does not
    /// hand them out any more.
    ///
    /// # Errors
    /// [`FactoryStopped`] once the factory is shut down.
    pub fn supersede(
        &self,
        config: WatchConfig,
        replaced: &[SharedInformer],
    ) -> Result<Subscription, FactoryStopped> {
        self.shared.informers.lock().supersede(&InformerKey::from(&config), replaced);
        self.subscribe(config)
    }

    /// Every informer that is handed out, by key: those that were superseded are left out.
    pub fn informers(&self) -> Vec<SharedInformer> {
        self.shared.informers.lock().current.values().map(|held| held.informer.clone()).collect()
    }

    /// Every informer that was [superseded](Self::supersede) and still serves who holds it, the oldest first.
    pub fn superseded(&self) -> Vec<SharedInformer> {
        self.shared.informers.lock().superseded.iter().map(|held| held.informer.clone()).collect()
    }

    /// Starts every informer asked for and not started yet (F-2). Never blocks; may be called again, for
    /// informers asked for since. After [`shutdown`](Self::shutdown) it does nothing. Needs a tokio runtime.
    pub fn start(&self) {
        for held in self.shared.informers.lock().current.values() {
            self.shared.run(&held.informer);
        }
    }

    /// Waits until every started informer has synced, or `cancel`; says for each whether it has (F-3, F-4).
    /// An informer that stops meanwhile counts as not synced. With nothing started it returns at once. It does
    /// not wait for listeners (C-12).
    ///
    /// # Cancel safety
    /// A dropped future changes nothing.
    pub async fn wait_for_cache_sync(&self, cancel: &CancellationToken) -> BTreeMap<InformerKey, bool> {
        let started = self.wait(cancel).await;
        started.into_iter().map(|informer| (informer.key().clone(), informer.has_synced())).collect()
    }

    /// As [`wait_for_cache_sync`](Self::wait_for_cache_sync), with an error that names the informers that have
    /// not synced and says what keeps each (F-4).
    ///
    /// # Errors
    /// [`NotSynced`] where the wait was cancelled, or an informer stopped.
    ///
    /// # Cancel safety
    /// A dropped future changes nothing.
    pub async fn cache_sync(&self, cancel: &CancellationToken) -> Result<(), NotSynced> {
        let started = self.wait(cancel).await;
        let unsynced: BTreeMap<_, _> = started
            .into_iter()
            .filter(|informer| !informer.has_synced())
            .map(|informer| (informer.key().clone(), informer.status().to_string()))
            .collect();
        if unsynced.is_empty() { Ok(()) } else { Err(NotSynced { unsynced }) }
    }

    /// Stops one informer and waits until its tasks have ended (D-12), whoever is subscribed to it. Its cache
    /// stays readable; it never starts again. The factory forgets it, so the next request makes a new one.
    ///
    /// # Cancel safety
    /// A dropped future has asked the informer to stop; only nobody waits for it.
    pub async fn stop(&self, informer: &SharedInformer) {
        self.shared.informers.lock().remove(informer);
        informer.inner.stop.cancel();
        end(informer).await;
    }

    /// Stops every informer and waits until every task of the factory has ended (F-5). May be called again,
    /// and from several tasks. The caches stay readable.
    ///
    /// # Cancel safety
    /// A dropped future has asked everything to stop; only nobody waits for it.
    pub async fn shutdown(&self) {
        {
            // Nobody is between looking at the token and starting a task.
            let _informers = self.shared.informers.lock();
            self.shared.stop.cancel();
        }
        self.shared.tasks.close();
        join_all(self.informers().iter().map(end)).await;
        self.shared.tasks.wait().await;
    }

    /// The started informers, once all have synced or ended, or the wait is cancelled.
    async fn wait(&self, cancel: &CancellationToken) -> Vec<SharedInformer> {
        let started: Vec<SharedInformer> =
            self.informers().into_iter().filter(SharedInformer::is_started).collect();
        cancel.run_until_cancelled(join_all(started.iter().map(SharedInformer::wait_synced))).await;
        started
    }
}

// === impl Shared ===

impl Shared {
    /// The informer of this configuration, made if there is none, after `claim` has noted who wants it.
    fn hold(&self, mut config: WatchConfig, claim: impl FnOnce(&mut Held)) -> SharedInformer {
        config.resync = config.resync.or(self.config.resync);
        let key = InformerKey::from(&config);
        let indexes = config.indexes.clone();
        let mut informers = self.informers.lock();
        // One that a bug ended is of no use to anybody any more.
        if informers.current.get(&key).is_some_and(|held| held.informer.inner.ended.is_cancelled()) {
            informers.current.remove(&key);
        }
        let held = informers.current.entry(key.clone()).or_insert_with(|| {
            Held::new(SharedInformer::new(key, config, &self.config.tracer, self.stop.child_token()))
        });
        held.informer.add_indexes(&indexes);
        claim(held);
        held.informer.clone()
    }

    /// Starts the informer if nobody has. The lock of the informers is held.
    fn run(&self, informer: &SharedInformer) {
        if !self.stop.is_cancelled() && informer.claim_start() {
            let inner = Arc::clone(&informer.inner);
            let run = shared_informer::run(inner, self.transport.clone(), Arc::clone(&self.config));
            self.threads.spawn(&self.tasks, run);
        }
    }

    /// One subscription has ended; with the last one the informer does, unless the factory owns it. The next
    /// subscription gets a new informer even while this one's tasks are still ending.
    pub(crate) fn release(&self, informer: &SharedInformer) {
        let mut informers = self.informers.lock();
        // It was stopped by name otherwise.
        let Some(held) = informers.find(informer) else { return };
        held.subscriptions = held.subscriptions.saturating_sub(1);
        // What a shut down host still delivers may read the cache.
        if held.subscriptions == 0 && !held.owned && !self.stop.is_cancelled() {
            informers.remove(informer);
            informer.inner.abandoned.store(true, Ordering::Release);
            informer.inner.stop.cancel();
        }
    }
}

/// Waits for the end of an informer; one that was never started ends here.
pub(crate) async fn end(informer: &SharedInformer) {
    if informer.claim_start() {
        informer.inner.processor.close();
        informer.inner.enter(Phase::Stopped);
        informer.inner.ended.cancel();
    }
    informer.inner.ended.cancelled().await;
}

impl Drop for InformerFactory {
    fn drop(&mut self) {
        self.shared.stop.cancel();
    }
}

impl fmt::Debug for InformerFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.informers()).finish()
    }
}
