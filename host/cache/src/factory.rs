//! Makes informers, one for each resource and scope, and owns their tasks.

use std::{collections::BTreeMap, fmt, sync::Arc};

use futures::future::join_all;
use parking_lot::Mutex;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    FactoryConfig, InformerKey, Phase, SharedInformer, WatchConfig, list_watch::Transport, shared_informer,
};

/// Hands out shared informers and runs them. One factory speaks to one API server with one identity.
pub struct InformerFactory {
    transport: Transport,
    config: Arc<FactoryConfig>,
    informers: Mutex<BTreeMap<InformerKey, SharedInformer>>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

// === impl InformerFactory ===

impl InformerFactory {
    /// A factory whose informers use `client`. Configure the client without retries of its own
    /// (`kube::Config::default_retry = false`) and without a read timeout: the reflectors do both, and show it.
    pub fn new(client: kube::Client, config: FactoryConfig) -> Self {
        Self {
            transport: Transport::new(client, &config),
            config: Arc::new(config),
            informers: Mutex::default(),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
        }
    }

    /// The informer of this resource, these namespaces and selectors; the same one for every request (F-1).
    /// Indexes of a later request are added to it (I-8); an index of another pointer under a taken name is
    /// refused with a warning, and its other settings are those of the first request. It does nothing before
    /// [`start`](Self::start).
    pub fn informer(&self, config: WatchConfig) -> SharedInformer {
        let key = InformerKey::from(&config);
        let indexes = config.indexes.clone();
        let mut informers = self.informers.lock();
        let informer = informers
            .entry(key.clone())
            .or_insert_with(|| SharedInformer::new(key, config, self.stop.child_token()));
        informer.add_indexes(&indexes);
        informer.clone()
    }

    /// Every informer handed out and not stopped, by key.
    pub fn informers(&self) -> Vec<SharedInformer> {
        self.informers.lock().values().cloned().collect()
    }

    /// Starts every informer asked for and not started yet (F-2). Never blocks; may be called again, for
    /// informers asked for since. After [`shutdown`](Self::shutdown) it does nothing. Needs a tokio runtime.
    pub fn start(&self) {
        if self.stop.is_cancelled() {
            return;
        }
        for informer in self.informers.lock().values() {
            if informer.claim_start() {
                let inner = Arc::clone(&informer.inner);
                self.tasks.spawn(shared_informer::run(
                    inner,
                    self.transport.clone(),
                    Arc::clone(&self.config),
                ));
            }
        }
    }

    /// Waits until every started informer has synced, or `cancel`; says for each whether it has (F-3, F-4).
    /// An informer that stops meanwhile counts as not synced. With nothing started it returns at once.
    ///
    /// # Cancel safety
    /// A dropped future changes nothing.
    pub async fn wait_for_cache_sync(&self, cancel: &CancellationToken) -> BTreeMap<InformerKey, bool> {
        let started: Vec<SharedInformer> =
            self.informers().into_iter().filter(SharedInformer::is_started).collect();
        let waits = started.iter().map(SharedInformer::wait_synced);
        cancel.run_until_cancelled(join_all(waits)).await;
        started.into_iter().map(|informer| (informer.key().clone(), informer.has_synced())).collect()
    }

    /// Stops one informer and waits until its tasks have ended (D-12). Its cache stays readable; it never
    /// starts again. The factory forgets it, so the next request makes a new one.
    ///
    /// # Cancel safety
    /// A dropped future has asked the informer to stop; only nobody waits for it.
    pub async fn stop(&self, informer: &SharedInformer) {
        {
            let mut informers = self.informers.lock();
            if informers.get(informer.key()).is_some_and(|held| Arc::ptr_eq(&held.inner, &informer.inner)) {
                informers.remove(informer.key());
            }
        }
        informer.inner.stop.cancel();
        end(informer).await;
    }

    /// Stops every informer and waits until every task of the factory has ended (F-5). May be called again,
    /// and from several tasks.
    ///
    /// # Cancel safety
    /// A dropped future has asked everything to stop; only nobody waits for it.
    pub async fn shutdown(&self) {
        self.stop.cancel();
        self.tasks.close();
        join_all(self.informers().iter().map(end)).await;
        self.tasks.wait().await;
    }
}

/// Waits for the end of an informer; one that was never started ends here.
async fn end(informer: &SharedInformer) {
    if informer.claim_start() {
        informer.inner.processor.close();
        informer.inner.enter(Phase::Stopped);
        informer.inner.ended.cancel();
    }
    informer.inner.ended.cancelled().await;
}

impl fmt::Debug for InformerFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.informers()).finish()
    }
}
