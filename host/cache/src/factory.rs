//! Makes informers, one for each resource and scope, and owns their tasks.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, atomic::Ordering},
};

use futures::future::join_all;
use informer_types::NotificationSink;
use parking_lot::Mutex;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    CacheMemory, FactoryConfig, InformerKey, InformerStopped, ListenerConfig, Phase, Registration,
    SharedInformer, WatchConfig, shared_informer, threads::Threads, transport::Transport,
};

/// Makes shared informers and runs them. A factory sends all requests to one API server, with one identity.
///
/// There are two ways to get an informer. [`subscribe`](Self::subscribe) counts subscriptions: the first one starts the
/// informer, and the end of the last one stops it (D-12). [`informer`](Self::informer) works as in client-go: the
/// informer belongs to the factory, does nothing before [`start`](Self::start), and runs until it or the factory is
/// stopped. Both ways lead to the same informer. An informer that belongs to the factory outlives its subscriptions.
///
/// Dropping the factory stops every informer, as [`shutdown`](Self::shutdown) does, but without waiting for them to
/// end.
pub struct InformerFactory {
    shared: Arc<Shared>,
}

/// The factory has been shut down and accepts no subscription any more (F-2).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the informer factory has been shut down, so it has no informer of {0} any more")]
pub struct FactoryStopped(Box<InformerKey>);

/// A claim on a shared informer. The informer runs while it has a subscription (D-12).
///
/// After the end of a subscription its listeners receive nothing more. If it was the last one, the cache is emptied, so
/// listers that still exist find nothing and have not synced. No deletions are delivered, because the objects still
/// exist. A later subscription starts with an initial list: all objects that exist then are added with cause `initial`,
/// and objects that were deleted in between are not reported. A subscriber that keeps state of its own about objects
/// must therefore drop or compare that state when it ends its subscription.
///
/// Dropping a subscription is the same as [`release`](Self::release) without waiting.
pub struct Subscription {
    informer: SharedInformer,
    registrations: Mutex<Vec<Registration>>,
    factory: Arc<Shared>,
}

/// The state that the factory shares with its subscriptions.
struct Shared {
    transport: Transport,
    config: Arc<FactoryConfig>,
    informers: Mutex<Informers>,
    tasks: TaskTracker,
    threads: Threads,
    stop: CancellationToken,
}

/// An informer and the claims on it.
struct Held {
    informer: SharedInformer,
    /// True if it was requested by [`InformerFactory::informer`].
    owned: bool,
    subscriptions: usize,
}

/// All informers that are not stopped. One lock covers both groups, so the end of an informer's last subscription
/// always finds the informer in one of them. The lock of an informer is never taken while this lock is held, because a
/// relist may hold the lock of its informer for a while.
#[derive(Default)]
struct Informers {
    /// The informers that the factory returns.
    current: BTreeMap<InformerKey, Held>,
    /// The informers that were replaced and still have a claim on them, the oldest first.
    superseded: Vec<Held>,
}

// === impl InformerFactory ===

impl InformerFactory {
    /// A factory whose informers use `client`. Configure the client without retries (`kube::Config::default_retry =
    /// false`) and without a read timeout: the reflectors retry and time out themselves, and report both.
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

    /// Returns the informer of this resource with these namespaces and selectors. All requests with the same ones get
    /// the same informer (F-1). Indexes of a later request are added to it (I-8); an index whose name is taken by
    /// other paths is refused with a warning. All other settings come from the first request. The informer does
    /// nothing before [`start`](Self::start).
    pub fn informer(&self, config: WatchConfig) -> SharedInformer {
        self.shared.hold(config, |held| held.owned = true)
    }

    /// Subscribes to the informer of this resource with these namespaces and selectors (D-12). The first subscription
    /// starts it at once, without [`start`](Self::start); later ones share its watch and its cache. When the last
    /// subscription ends, the watch is closed and the cache is freed, and the next subscription starts with a list
    /// again. Settings and indexes are handled as by [`informer`](Self::informer). Needs a tokio runtime.
    ///
    /// # Errors
    /// [`FactoryStopped`] if the factory has been shut down.
    ///
    /// # Blocking
    /// Sends no request. If the informer exists already, waits for its lock, which its controller holds while it applies a
    /// list or a batch of events.
    pub fn subscribe(&self, config: WatchConfig) -> Result<Subscription, FactoryStopped> {
        let key = InformerKey::from(&config);
        let shared = &self.shared;
        let informer = shared.hold(config, |held| {
            held.subscriptions += 1;
            shared.run(&held.informer);
        });
        // If the informer was started just before the shutdown, the shutdown stops it.
        if shared.stop.is_cancelled() {
            return Err(FactoryStopped(Box::new(key)));
        }
        Ok(Subscription { informer, registrations: Mutex::default(), factory: Arc::clone(shared) })
    }

    /// Subscribes as [`subscribe`](Self::subscribe) does, but always to a new informer with its own settings. A current
    /// informer of the same key is superseded, and so are the informers in `replaced`. A superseded informer serves its
    /// subscribers until they leave or it is stopped, and is listed by [`superseded`](Self::superseded) until then, but
    /// the factory no longer returns it.
    ///
    /// # Errors
    /// [`FactoryStopped`] if the factory has been shut down.
    pub fn supersede(
        &self,
        config: WatchConfig,
        replaced: &[SharedInformer],
    ) -> Result<Subscription, FactoryStopped> {
        self.shared.informers.lock().supersede(&InformerKey::from(&config), replaced);
        self.subscribe(config)
    }

    /// Returns the current informers, by key. Superseded informers are left out.
    pub fn informers(&self) -> Vec<SharedInformer> {
        self.shared.informers.lock().current.values().map(|held| held.informer.clone()).collect()
    }

    /// Returns every [superseded](Self::supersede) informer that still has subscribers or belongs to the factory, the oldest
    /// first.
    pub fn superseded(&self) -> Vec<SharedInformer> {
        self.shared.informers.lock().superseded.iter().map(|held| held.informer.clone()).collect()
    }

    /// Returns the memory of all objects of the process, and its ceiling ([`FactoryConfig::cache_bytes`]).
    pub fn memory(&self) -> CacheMemory {
        self.shared.transport.ceiling.snapshot()
    }

    /// Starts every requested informer that has not been started (F-2). Never blocks. May be called again for informers that
    /// were requested since. After [`shutdown`](Self::shutdown) it does nothing. Needs a tokio runtime.
    pub fn start(&self) {
        for held in self.shared.informers.lock().current.values() {
            self.shared.run(&held.informer);
        }
    }

    /// Waits until every started informer has synced, or until `cancel`, and returns for each whether it has synced
    /// (F-3, F-4). An informer that stops meanwhile counts as not synced. If no informer was started, it returns at
    /// once. It does not wait for listeners (C-12).
    ///
    /// # Cancel safety
    /// A dropped future changes nothing.
    pub async fn wait_for_cache_sync(&self, cancel: &CancellationToken) -> BTreeMap<InformerKey, bool> {
        let started: Vec<SharedInformer> =
            self.informers().into_iter().filter(SharedInformer::is_started).collect();
        cancel.run_until_cancelled(join_all(started.iter().map(SharedInformer::wait_synced))).await;
        started.into_iter().map(|informer| (informer.key().clone(), informer.has_synced())).collect()
    }

    /// Stops one informer, even if it has subscribers, and waits until its tasks have ended (D-12). Its cache stays
    /// readable. It never starts again; the next request makes a new informer.
    ///
    /// # Cancel safety
    /// If the future is dropped, the informer stops nevertheless, without a wait for its end.
    pub async fn stop(&self, informer: &SharedInformer) {
        self.shared.informers.lock().remove(informer);
        informer.inner.stop.cancel();
        end(informer).await;
    }

    /// Stops every informer and waits until every task of the factory has ended (F-5). May be called again, and from
    /// several tasks. The caches stay readable.
    ///
    /// # Cancel safety
    /// If the future is dropped, all informers stop nevertheless, without a wait for their end.
    pub async fn shutdown(&self) {
        {
            // With the lock, no task is being started after a check of the token.
            let _informers = self.shared.informers.lock();
            self.shared.stop.cancel();
        }
        self.shared.tasks.close();
        join_all(self.informers().iter().map(end)).await;
        self.shared.tasks.wait().await;
    }
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

// === impl Subscription ===

impl Subscription {
    /// The informer of this subscription. A clone of it is not counted and does not keep it running.
    pub fn informer(&self) -> &SharedInformer {
        &self.informer
    }

    /// Adds a listener as [`SharedInformer::add_listener`] does. It is removed with the subscription.
    ///
    /// # Errors
    /// [`InformerStopped`] if the informer or the factory was stopped explicitly.
    pub fn add_listener(
        &self,
        config: ListenerConfig,
        sink: Arc<dyn NotificationSink>,
    ) -> Result<Registration, InformerStopped> {
        let registration = self.informer.add_listener(config, sink)?;
        self.registrations.lock().push(registration.clone());
        Ok(registration)
    }

    /// Ends the subscription. When this returns, none of its sinks is called any more. If it was the last subscription and the
    /// informer does not belong to the factory, every task of the informer has ended, the watch is closed and the cache is
    /// freed (P-15, P-18). A sink must not await this.
    ///
    /// # Cancel safety
    /// If the future is dropped, the subscription ends nevertheless, without the wait.
    pub async fn release(self) {
        let informer = self.informer.clone();
        drop(self);
        if informer.inner.stop.is_cancelled() {
            end(&informer).await;
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.registrations.get_mut().drain(..).for_each(|registration| registration.remove());
        self.factory.release(&self.informer);
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Subscription({})", self.informer.key())
    }
}

// === impl Shared ===

impl Shared {
    /// Returns the informer of this configuration, and makes it if there is none. `claim` registers the caller's claim on it, and
    /// is called with the lock of the informers held.
    fn hold(&self, mut config: WatchConfig, claim: impl FnOnce(&mut Held)) -> SharedInformer {
        config.resync = config.resync.or(self.config.resync);
        let key = InformerKey::from(&config);
        let indexes = config.indexes.clone();
        let mut informers = self.informers.lock();
        // An informer that has ended never starts again.
        if informers.current.get(&key).is_some_and(|held| held.informer.inner.ended.is_cancelled()) {
            informers.current.remove(&key);
        }
        let held = informers.current.entry(key.clone()).or_insert_with(|| {
            let informer = SharedInformer::new(key, config, &self.config.tracer, self.stop.child_token());
            Held { informer, owned: false, subscriptions: 0 }
        });
        claim(held);
        let informer = held.informer.clone();
        drop(informers);
        informer.add_indexes(&indexes);
        informer
    }

    /// Starts the informer if it has not been started. The caller holds the lock of the informers.
    fn run(&self, informer: &SharedInformer) {
        if !self.stop.is_cancelled() && informer.claim_start() {
            let inner = Arc::clone(&informer.inner);
            let run = shared_informer::run(inner, self.transport.clone(), Arc::clone(&self.config));
            self.threads.spawn(&self.tasks, run);
        }
    }

    /// Ends one subscription. With the last one the informer stops, unless it belongs to the factory. The next
    /// subscription gets a new informer even if the tasks of this one have not ended yet.
    fn release(&self, informer: &SharedInformer) {
        let mut informers = self.informers.lock();
        // Otherwise the informer was stopped explicitly.
        let Some(held) = informers.find(informer) else { return };
        held.subscriptions = held.subscriptions.saturating_sub(1);
        // After a shutdown the cache stays readable for the deliveries that are still in flight.
        if held.subscriptions == 0 && !held.owned && !self.stop.is_cancelled() {
            informers.remove(informer);
            informer.inner.abandoned.store(true, Ordering::Release);
            informer.inner.stop.cancel();
        }
    }
}

// === impl Informers ===

impl Informers {
    /// Moves the informer of this key and those in `replaced` to the superseded ones.
    fn supersede(&mut self, key: &InformerKey, replaced: &[SharedInformer]) {
        let is_superseded = |own: &InformerKey, held: &mut Held| {
            own == key || replaced.iter().any(|replaced| replaced.is(&held.informer))
        };
        self.superseded.extend(self.current.extract_if(.., is_superseded).map(|(_, held)| held));
    }

    /// Finds this very informer, not another one of the same key.
    fn find(&mut self, informer: &SharedInformer) -> Option<&mut Held> {
        let current = self.current.get_mut(informer.key());
        current.into_iter().chain(&mut self.superseded).find(|held| held.informer.is(informer))
    }

    /// Removes this very informer, not another one of the same key.
    fn remove(&mut self, informer: &SharedInformer) {
        self.superseded.retain(|held| !held.informer.is(informer));
        if self.current.get(informer.key()).is_some_and(|held| held.informer.is(informer)) {
            self.current.remove(informer.key());
        }
    }
}

/// Waits for the end of an informer. An informer that was never started ends here.
async fn end(informer: &SharedInformer) {
    if informer.claim_start() {
        informer.inner.processor.close();
        informer.inner.enter(Phase::Stopped);
        informer.inner.ended.cancel();
    }
    informer.inner.ended.cancelled().await;
}
