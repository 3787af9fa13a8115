//! Makes informers, one for each resource and scope, and owns their tasks.

mod informers;
mod shared;

use std::{collections::BTreeMap, fmt, sync::Arc};

use futures::future::join_all;
use parking_lot::Mutex;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    FactoryConfig, InformerKey, SharedInformer, Subscription, WatchConfig, threads::Threads,
    transport::Transport,
};

pub(crate) use shared::{Shared, end};

/// Makes shared informers and runs them. A factory talks to one API server with one identity.
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

/// Not every informer has synced (F-4).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not synced: {}", .unsynced.values().map(String::as_str).collect::<Vec<_>>().join("; "))]
pub struct NotSynced {
    /// The informers that have not synced, each with its status.
    pub unsynced: BTreeMap<InformerKey, String>,
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
    /// another pointer is refused with a warning. All other settings are those of the first request. The informer does
    /// nothing before [`start`](Self::start).
    pub fn informer(&self, config: WatchConfig) -> SharedInformer {
        self.shared.hold(config, |held| held.owned = true)
    }

    /// Subscribes to the informer of this resource with these namespaces and selectors (D-12). The first subscription
    /// starts it at once, without [`start`](Self::start); later ones share its watch and its cache. When the last
    /// subscription ends, the watch is closed and the cache is freed, and the next subscription starts with a list
    /// again. Settings and indexes are handled as by [`informer`](Self::informer). Never blocks. Needs a tokio runtime.
    ///
    /// # Errors
    /// [`FactoryStopped`] if the factory has been shut down.
    pub fn subscribe(&self, config: WatchConfig) -> Result<Subscription, FactoryStopped> {
        let key = InformerKey::from(&config);
        let shared = &self.shared;
        let informer = shared.hold(config, |held| {
            held.subscriptions += 1;
            shared.run(&held.informer);
        });
        // The informer was not started, so there is nothing to stop.
        if shared.stop.is_cancelled() {
            return Err(FactoryStopped(Box::new(key)));
        }
        Ok(Subscription::new(informer, Arc::clone(shared)))
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

    /// Returns every [superseded](Self::supersede) informer that still has subscribers, the oldest first.
    pub fn superseded(&self) -> Vec<SharedInformer> {
        self.shared.informers.lock().superseded.iter().map(|held| held.informer.clone()).collect()
    }

    /// Starts every requested informer that has not been started (F-2). Never blocks. May be called again for informers
    /// that were requested since. After [`shutdown`](Self::shutdown) it does nothing. Needs a tokio runtime.
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
        let started = self.wait(cancel).await;
        started.into_iter().map(|informer| (informer.key().clone(), informer.has_synced())).collect()
    }

    /// Waits as [`wait_for_cache_sync`](Self::wait_for_cache_sync) does. The error names the informers that have not
    /// synced and the reason for each (F-4).
    ///
    /// # Errors
    /// [`NotSynced`] if the wait was cancelled or an informer stopped.
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

    /// Returns the started informers once all of them have synced or ended, or the wait is cancelled.
    async fn wait(&self, cancel: &CancellationToken) -> Vec<SharedInformer> {
        let started: Vec<SharedInformer> =
            self.informers().into_iter().filter(SharedInformer::is_started).collect();
        cancel.run_until_cancelled(join_all(started.iter().map(SharedInformer::wait_synced))).await;
        started
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
