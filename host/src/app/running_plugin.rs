//! One plugin with everything that belongs to it: listeners, queue, workers, versions.

mod change;
mod explain;
mod gate;
mod keys;
mod letters;
mod subscriptions;
mod versions;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::Arc,
};

use futures::future::join_all;
use informer_cache::{FactoryStopped, InformerFactory, InformerStopped, Registration, WatchConfig};
use informer_dispatch::{
    Backlog, Dispatcher, DispatcherHandle, FilterStats, Queue, QueueConfig, workqueue::RateLimitingQueue,
};
use informer_runtime::{
    Engine, LogSink, Plugin, Sources,
    capabilities::{ApiClient, ClientSource, HttpClient, KeyValueSource},
};
use informer_types::{Gvr, Tracer};
use parking_lot::Mutex;
use tokio::{
    runtime::Handle,
    sync::{Notify, watch},
    time::{Instant, timeout_at},
};
use tokio_util::sync::CancellationToken;

use super::{directories::Directories, settings};
use crate::{
    config,
    config_files::ConfigFiles,
    logging::{LeveledLog, PluginLevel},
    state::State,
    wiring::{CacheLister, Calls},
};

use gate::Gate;
use keys::OwnKeys;
use letters::Letters;
use subscriptions::{Claims, Target};
pub(super) use versions::Look;

/// What all plugins of a host are made from.
pub(super) struct Parts {
    pub(super) engine: Engine,
    /// Where plugins are called: their workers and loads.
    pub(super) guests: Handle,
    pub(super) factory: Arc<InformerFactory>,
    /// Where the plugins' requests go.
    pub(super) api: Arc<dyn ApiClient>,
    pub(super) log: Arc<dyn LogSink>,
    pub(super) keyvalue: Arc<dyn KeyValueSource>,
    pub(super) http: HttpClient,
    pub(super) directories: Directories,
    /// Ends what goes on beside the calls.
    pub(super) stop: CancellationToken,
    /// Ends the workers at once, at the deadline of the stop.
    pub(super) abort: CancellationToken,
    pub(super) state: State,
    /// Where it is written what was decided about each object.
    pub(super) tracer: Tracer,
}

/// How long the removal of a plugin waits for a slow disk.
const LETTERS_WRITTEN_WITHIN: std::time::Duration = std::time::Duration::from_secs(5);

/// What it takes beside the calls themselves to end them.
const CALLS_ENDED_WITHIN: std::time::Duration = std::time::Duration::from_secs(5);

/// How long the end of the host waits for it, once the time for the calls is over.
const LETTERS_WRITTEN_AFTER: std::time::Duration = std::time::Duration::from_secs(1);

/// Every `[[watch]]`, as the cache takes it.
pub(super) type Watches = BTreeMap<Gvr, WatchConfig>;

/// Why a plugin cannot hear of its watches.
#[derive(Debug, thiserror::Error)]
pub enum SubscribeError {
    /// The host is stopping.
    #[error(transparent)]
    Factory(#[from] FactoryStopped),
    /// A bug of the host ended the informer.
    #[error(transparent)]
    Informer(#[from] InformerStopped),
}

/// One plugin of the running host. Its queue takes notifications in from the start; calls are made once its
/// informers have synced (W-1) and a version is in service.
pub(super) struct RunningPlugin {
    parts: Arc<Parts>,
    name: Arc<str>,
    /// What is in force, or to be as soon as a version takes it.
    config: Mutex<Arc<config::Plugin>>,
    plugin: Arc<Plugin>,
    queue: Queue,
    /// About this plugin.
    tracer: Tracer,
    letters: Letters,
    /// Taken at the stop.
    dispatcher: Mutex<Option<DispatcherHandle>>,
    /// The plugin's own keys.
    keys: OwnKeys,
    calls: Arc<Calls>,
    lister: Arc<CacheLister>,
    config_files: ConfigFiles,
    log_level: PluginLevel,
    /// What it hears of and what it may read: the informers run while some plugin has a claim (D-12).
    claims: Mutex<Claims>,
    /// Closed while the caches it reads are not complete.
    gate: Gate,
    /// Resources that it may read only since their watch gives way to a wider one: until that has taken over, the cache
    /// lacks what nobody was allowed to read.
    narrow: Mutex<BTreeSet<Gvr>>,
    /// True once a version is in service; it stays so.
    loaded: watch::Sender<bool>,
    /// Why the last load failed; none once one succeeded.
    refused: Mutex<Option<String>>,
    /// Its component is to be looked at, whatever the file looks like: it is another one, or may be loaded now.
    source_changed: Notify,
    /// One load at a time, so that the last one asked for is the one in service.
    loading: tokio::sync::Mutex<()>,
    /// Ends what goes on beside the calls of this plugin.
    stop: CancellationToken,
}

// === impl RunningPlugin ===

impl RunningPlugin {
    /// A plugin whose queue fills from now on; [`run`](Self::run) brings it to life. The configuration was checked:
    /// all it hears of or reads is watched.
    pub(super) fn new(
        config: config::Plugin,
        watches: &Watches,
        parts: &Arc<Parts>,
    ) -> Result<Self, SubscribeError> {
        let lister = Arc::new(CacheLister::default());
        let config_files = ConfigFiles::new(config.config_files.clone());
        let log_level = PluginLevel::new(config.log_level);
        let tracer = parts.tracer.of_plugin(config.name.as_str());
        let limiter = settings::limiter(&config.workqueue);
        let workqueue = RateLimitingQueue::traced(config.workqueue.capacity, limiter, tracer.clone());
        let sources = Sources {
            lister: Arc::clone(&lister) as _,
            client: ClientSource::new(Arc::clone(&parts.api), event_instance()),
            http: parts.http.clone(),
            log: Arc::new(LeveledLog::new(log_level.clone(), Arc::clone(&parts.log))),
            keyvalue: Arc::clone(&parts.keyvalue),
            config: Arc::new(config_files.clone()),
            workqueue: Arc::new(workqueue.clone()),
        };
        let plugin = Arc::new(Plugin::new(parts.engine.clone(), settings::plugin(&config), sources));
        let queue = Queue::traced(&settings::queue(&config), tracer.clone());
        let queues = (queue.clone(), workqueue.clone());
        let calls = Arc::new(Calls::new(Arc::clone(&plugin), queues, &config.subscriptions));
        let gate = Gate::new(queue.clone(), workqueue.clone());
        let letters = Letters::keep(queue.clone(), workqueue.clone(), parts.state.clone(), &config.name);
        let dispatch = settings::dispatch(&config);
        let (dispatcher, keys) = {
            let _guests = parts.guests.enter();
            let keys = OwnKeys::spawn(&config, workqueue, Arc::clone(&calls), &parts.abort);
            (Dispatcher::spawn(dispatch, queue.clone(), Arc::clone(&calls), &parts.abort), keys)
        };
        let mut claims = Claims::default();
        claims.set(&config, watches, &parts.factory, Target { queue: &queue, tracer: &tracer })?;
        lister.set(claims.informers());
        Ok(Self {
            parts: Arc::clone(parts),
            name: config.name.as_str().into(),
            config: Mutex::new(Arc::new(config)),
            plugin,
            queue,
            tracer,
            letters,
            dispatcher: Mutex::new(Some(dispatcher)),
            keys,
            calls,
            lister,
            config_files,
            log_level,
            claims: Mutex::new(claims),
            gate,
            narrow: Mutex::default(),
            loaded: watch::Sender::new(false),
            refused: Mutex::new(None),
            source_changed: Notify::new(),
            loading: tokio::sync::Mutex::default(),
            stop: parts.stop.child_token(),
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn config(&self) -> Arc<config::Plugin> {
        Arc::clone(&self.config.lock())
    }

    pub(super) fn source(&self) -> PathBuf {
        self.config.lock().source.clone()
    }

    pub(super) fn plugin(&self) -> &Plugin {
        &self.plugin
    }

    /// From which level on its lines are kept; it may be set until the next start, or another one in the file.
    pub(super) fn log_level(&self) -> &PluginLevel {
        &self.log_level
    }

    pub(super) fn queue(&self) -> &Queue {
        &self.queue
    }

    /// What each of its subscriptions let through.
    pub(super) fn filters(&self) -> Vec<(Gvr, FilterStats)> {
        self.claims.lock().filters()
    }

    /// What its queue was told to do.
    pub(super) fn queue_config(&self) -> QueueConfig {
        settings::queue(&self.config())
    }

    pub(super) fn workqueue(&self) -> &RateLimitingQueue {
        self.keys.queue()
    }

    /// Loads the component, again whenever its file changes, and does what goes on beside the calls; until the plugin
    /// or the host is stopped.
    pub(super) async fn run(self: Arc<Self>) {
        let all = async {
            let expire = self.plugin.expire_idle(self.stop.clone());
            let swaps = async { tokio::join!(self.try_after_swaps(), self.replay_after_swaps()) };
            tokio::join!(self.open(), Box::pin(self.follow()), swaps, Box::pin(expire));
        };
        self.stop.run_until_cancelled(all).await;
    }

    /// Waits until calls are made.
    pub(super) async fn serving(&self) {
        self.gate.opened().await;
    }

    /// Waits until every initial notification is settled.
    pub(super) async fn synced(&self) {
        let registrations = self.claims.lock().registrations();
        join_all(registrations.iter().map(Registration::wait_synced)).await;
    }

    /// Delivers what is left, reconciles the keys that wait then, until the deadline, and ends. Nothing is offered any more
    /// by then.
    pub(super) async fn stop(&self, deadline: Instant) -> (String, Backlog) {
        self.stop.cancel();
        let dispatcher = self.dispatcher.lock().take();
        let backlog = match dispatcher {
            Some(dispatcher) => dispatcher.drain(deadline.saturating_duration_since(Instant::now())).await,
            None => Backlog::default(),
        };
        let keys = self.keys.stop(deadline).await;
        // After the last call: keys may have taken until the deadline, and what they left is written all the same.
        self.letters.stop(deadline.max(Instant::now() + LETTERS_WRITTEN_AFTER)).await;
        if keys > 0 {
            tracing::warn!(plugin = self.name(), keys, "stopped before every key was reconciled");
        }
        self.unload(deadline).await;
        (self.name().to_owned(), backlog)
    }

    /// Takes the plugin out of the running host (D-10): it hears nothing any more, its calls in hand are finished, and
    /// what else was to be delivered is discarded and returned. A call that takes far longer than the plugin is allowed,
    /// because it has used up its share of the processors, is not waited for.
    pub(super) async fn remove(&self) -> Backlog {
        self.stop.cancel();
        *self.claims.lock() = Claims::default();
        let deadline = Instant::now() + self.config().limits.calls.deadline + CALLS_ENDED_WITHIN;
        let dispatcher = self.dispatcher.lock().take();
        // First: what waits is discarded, and no worker takes it to the workqueue that is closed next.
        let backlog = self.queue.close();
        // A delivery that waits for room in the workqueue ends by that.
        let keys = self.keys.close();
        if keys > 0 {
            tracing::info!(plugin = self.name(), keys, "removed before every key was reconciled");
        }
        if let Some(dispatcher) = dispatcher {
            timeout_at(deadline, dispatcher.remove()).await.ok();
        }
        timeout_at(deadline, self.keys.remove()).await.ok();
        self.letters.stop(Instant::now() + LETTERS_WRITTEN_WITHIN).await;
        self.unload(Instant::now() + CALLS_ENDED_WITHIN).await;
        self.lister.set([]);
        backlog
    }

    /// Stops its instances, as far as there is time: the host ends, or the plugin is gone, without them too.
    async fn unload(&self, deadline: Instant) {
        if timeout_at(deadline, self.plugin.unload()).await.is_err() {
            tracing::warn!(
                plugin = self.name(),
                "not every instance was stopped in time; the others were dropped"
            );
        }
    }

    /// Lets calls be made whenever there is something to call and the caches of what it hears of and of what it may
    /// read are complete. A resource that the server does not serve has nothing to wait for.
    async fn open(&self) {
        let mut loaded = self.loaded.subscribe();
        loop {
            let round = self.gate.round();
            if !self.complete().await {
                self.gate.closed_since(round).await;
                continue;
            }
            // The sender lives as long as `self`.
            loaded.wait_for(|loaded| *loaded).await.ok();
            self.gate.open(round);
            self.gate.closed_since(round).await;
        }
    }

    /// Waits until what it reads is complete. False where something that it waits for is to be followed by something else.
    async fn complete(&self) -> bool {
        if !self.narrow.lock().is_empty() {
            return false;
        }
        let informers = self.claims.lock().informers();
        let synced = informers.iter().map(|(_, informer)| informer.wait_synced_or_unserved());
        join_all(synced).await;
        informers.iter().all(|(_, informer)| informer.has_synced() || !informer.has_ended())
    }
}

/// Does what takes its time with every cached object under an informer's lock, where nobody else waits for the thread.
pub(super) async fn off_the_workers<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(panicked) => std::panic::resume_unwind(panicked.into_panic()),
    }
}

/// Which of several hosts recorded an Event: in a cluster, the name of the pod.
fn event_instance() -> String {
    std::env::var("HOSTNAME").ok().filter(|name| !name.is_empty()).unwrap_or_else(|| "informer".to_owned())
}
