//! One plugin with its subscriptions, queues, workers and versions.

mod change;
mod gate;
mod keys;
mod letters;
mod subscriptions;
mod versions;

use std::{path::PathBuf, sync::Arc, time::Duration};

use informer_cache::{InformerFactory, ResourceVersion, SharedInformer, Subscription};
use informer_dispatch::{
    Backlog, DeadLetter, Dispatcher, DispatcherHandle, FilterStats, Queue, QueueConfig,
    workqueue::{DroppedKey, RateLimitingQueue},
};
use informer_runtime::{
    Engine, LoadError, LogSink, Plugin, Sources, VersionInfo,
    capabilities::{ApiClient, ClientSource, HttpClient, KeyValueSource},
};
use informer_types::{Gvr, ObjectKey, Tracer, Workqueue};
use parking_lot::Mutex;
use tokio::{
    runtime::Handle,
    time::{Instant, timeout_at},
};
use tokio_util::sync::CancellationToken;

use super::{blocking::off_the_workers, directories::Directories, settings};
use crate::{
    config::{self, OnReload},
    config_files::ConfigFiles,
    logging::{LeveledLog, PluginLevel},
    state::State,
    wiring::Calls,
};

use gate::Gate;
use keys::Keys;
pub(super) use letters::{Letters, NotReplayed};
pub use subscriptions::SubscribeError;
pub(super) use subscriptions::{Interest, Watches};
use subscriptions::{Subscriptions, Target};
pub(super) use versions::Look;
use versions::Versions;

/// Time for a slow disk when a plugin is removed.
const LETTERS_WRITTEN_WITHIN: Duration = Duration::from_secs(5);

/// Time to end calls, on top of their deadline.
const CALLS_ENDED_WITHIN: Duration = Duration::from_secs(5);

/// Time for a slow disk when the host stops, on top of the time for the calls.
const LETTERS_WRITTEN_AFTER: Duration = Duration::from_secs(1);

/// What all plugins of a host share.
pub(super) struct Parts {
    pub(super) engine: Engine,
    /// The threads on which guests are called.
    pub(super) guests: Handle,
    pub(super) factory: Arc<InformerFactory>,
    /// The client for the plugins' requests to the API server.
    pub(super) api: Arc<dyn ApiClient>,
    pub(super) log: Arc<dyn LogSink>,
    pub(super) keyvalue: Arc<dyn KeyValueSource>,
    pub(super) http: HttpClient,
    pub(super) directories: Directories,
    /// Ends the background tasks.
    pub(super) stop: CancellationToken,
    /// Ends the workers at once, at the deadline of the stop.
    pub(super) abort: CancellationToken,
    pub(super) state: State,
    /// The trace of what each stage decides about each object.
    pub(super) tracer: Tracer,
}

/// One plugin of the running host. Its queue receives notifications from the start; calls begin once its informers have
/// synced (W-1) and a version is in service.
pub(super) struct RunningPlugin {
    parts: Arc<Parts>,
    name: Arc<str>,
    /// The configuration in force, or the one that is in force once a version has taken it.
    config: Mutex<Arc<config::Plugin>>,
    subscriptions: Subscriptions,
    queue: Queue,
    /// `None` once the plugin is stopped.
    dispatcher: Mutex<Option<DispatcherHandle>>,
    keys: Keys,
    letters: Letters,
    /// Closed while a cache that the plugin reads is incomplete.
    gate: Gate,
    versions: Versions,
    config_files: ConfigFiles,
    log_level: PluginLevel,
    /// Ends the background tasks of this plugin.
    stop: CancellationToken,
}

// === impl RunningPlugin ===

impl RunningPlugin {
    /// A plugin whose queue receives notifications from now on; [`run`](Self::run) loads its component. The configuration
    /// is valid: every resource that the plugin subscribes to or reads has a watch.
    pub(super) fn new(
        config: config::Plugin,
        watches: &Watches,
        parts: &Arc<Parts>,
    ) -> Result<Self, SubscribeError> {
        let name: Arc<str> = config.name.as_str().into();
        let config_files = ConfigFiles::new(config.config_files.clone());
        let log_level = PluginLevel::new(config.log_level);
        let tracer = parts.tracer.of_plugin(&*name);
        let queue = Queue::traced(&settings::queue(&config), tracer.clone());
        let limiter = settings::limiter(&config.workqueue);
        let workqueue = RateLimitingQueue::traced(config.workqueue.capacity, limiter, tracer.clone());
        let gate = Gate::new(queue.clone(), workqueue.clone());
        let target = Target { queue: &queue, tracer: &tracer };
        let subscriptions = Subscriptions::new(&config, watches, &parts.factory, target)?;
        let sources = Sources {
            lister: Arc::clone(subscriptions.lister()) as _,
            client: ClientSource::new(Arc::clone(&parts.api), event_instance()),
            http: parts.http.clone(),
            log: Arc::new(LeveledLog::new(log_level.clone(), Arc::clone(&parts.log))),
            keyvalue: Arc::clone(&parts.keyvalue),
            config: Arc::new(config_files.clone()),
            workqueue: Arc::new(workqueue.clone()),
        };
        let plugin = Arc::new(Plugin::new(parts.engine.clone(), settings::plugin(&config), sources));
        let queues = (queue.clone(), workqueue.clone());
        let calls = Arc::new(Calls::new(Arc::clone(&plugin), queues, &config.subscriptions));
        let letters = Letters::keep(queue.clone(), workqueue.clone(), parts.state.clone(), &name);
        let (dispatcher, keys) = {
            let _guests = parts.guests.enter();
            let dispatch = settings::dispatch(&config);
            let keys = Keys::spawn(&config, workqueue, Arc::clone(&calls), &parts.abort);
            (Dispatcher::spawn(dispatch, queue.clone(), Arc::clone(&calls), &parts.abort), keys)
        };
        let source = config.source.clone();
        Ok(Self {
            versions: Versions::new(Arc::clone(&name), parts.engine.clone(), plugin, calls, source),
            parts: Arc::clone(parts),
            name,
            config: Mutex::new(Arc::new(config)),
            subscriptions,
            queue,
            dispatcher: Mutex::new(Some(dispatcher)),
            keys,
            letters,
            gate,
            config_files,
            log_level,
            stop: parts.stop.child_token(),
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    fn config(&self) -> Arc<config::Plugin> {
        Arc::clone(&self.config.lock())
    }

    /// The file of the component.
    pub(super) fn source(&self) -> PathBuf {
        self.versions.source()
    }

    pub(super) fn plugin(&self) -> &Plugin {
        self.versions.plugin()
    }

    /// Returns why the component that the plugin should have is not in service, if it is not.
    pub(super) fn refused(&self) -> Option<String> {
        self.versions.refused()
    }

    /// The lowest log level whose lines are kept. A change lasts until the next start, or until the file changes it.
    pub(super) fn log_level(&self) -> &PluginLevel {
        &self.log_level
    }

    pub(super) fn queue(&self) -> &Queue {
        &self.queue
    }

    pub(super) fn queue_config(&self) -> QueueConfig {
        settings::queue(&self.config())
    }

    pub(super) fn workqueue(&self) -> &RateLimitingQueue {
        self.keys.queue()
    }

    pub(super) fn letters(&self) -> &Letters {
        &self.letters
    }

    /// The statistics of each filter, by resource.
    pub(super) fn filters(&self) -> Vec<(Gvr, FilterStats)> {
        self.subscriptions.filters()
    }

    /// What an object is to the plugin.
    pub(super) fn interest(&self, gvr: &Gvr, key: &ObjectKey) -> Interest {
        self.subscriptions.interest(gvr, key)
    }

    /// Returns true if the plugin subscribes to this resource or may read it.
    pub(super) fn uses(&self, gvr: &Gvr) -> bool {
        self.subscriptions.contains(gvr)
    }

    /// Returns the informer that the plugin uses for the resource of this one, if it is another one.
    pub(super) fn other_than(&self, informer: &SharedInformer) -> Option<SharedInformer> {
        self.subscriptions.other_than(informer)
    }

    /// Replaces the informer of a watch; the informer before has ended.
    ///
    /// # Errors
    /// [`SubscribeError`], only while the host stops.
    ///
    /// # Blocking
    /// It blocks as [`SharedInformer::add_listener`] does.
    pub(super) fn succeed(&self, subscription: Subscription) -> Result<(), SubscribeError> {
        self.subscriptions.succeed(subscription)?;
        // Calls wait for the new informer.
        self.gate.close();
        Ok(())
    }

    /// The version that a new informer must reach before [`caught_up`](Self::caught_up) may be called.
    pub(super) fn awaits(&self, informer: &SharedInformer) -> Option<ResourceVersion> {
        self.subscriptions.awaits(informer)
    }

    /// A new informer has seen everything that the one before had seen.
    ///
    /// # Blocking
    /// It blocks as [`SharedInformer::retarget_listener`] does.
    pub(super) fn caught_up(&self, informer: &SharedInformer) {
        self.subscriptions.caught_up(informer);
    }

    /// Delivers the object of a dead letter again; see [`Subscriptions::replay`]. The letter is deleted once the plugin
    /// acknowledges the notification.
    pub(super) fn replay(&self, letter: &DeadLetter) -> Result<&'static str, NotReplayed> {
        self.subscriptions.replay(letter)
    }

    /// Adds a key again that was given up. The letter is deleted once the key is reconciled.
    pub(super) fn replay_key(&self, dropped: &DroppedKey) -> Result<(), NotReplayed> {
        if !self.plugin().reconciles() {
            return Err(NotReplayed::NotReconciling);
        }
        self.workqueue().add(&dropped.key).map_err(|_| NotReplayed::Full)
    }

    /// Puts the present content of the component's file into service, unless it is in service already. If that fails, the
    /// version in service stays.
    ///
    /// # Errors
    /// The reason why it fails.
    pub(super) async fn load(&self, look: Look) -> Result<Option<VersionInfo>, LoadError> {
        self.versions.load(look).await
    }

    /// Loads the component, again whenever its file changes, and runs the background tasks, until the plugin or the host is
    /// stopped.
    pub(super) async fn run(self: Arc<Self>) {
        let all = async {
            let expire = self.plugin().expire_idle(self.stop.clone());
            let follow = self.versions.follow(&self.parts.directories);
            let swaps = async { tokio::join!(self.versions.try_after_swaps(), self.replay_after_swaps()) };
            tokio::join!(self.open(), Box::pin(follow), swaps, Box::pin(expire));
        };
        self.stop.run_until_cancelled(all).await;
    }

    /// Waits until calls are made.
    pub(super) async fn serving(&self) {
        self.gate.opened().await;
    }

    /// Waits until every initial notification is settled.
    pub(super) async fn synced(&self) {
        self.subscriptions.synced().await;
    }

    /// Delivers the pending notifications, then reconciles the keys that wait, until the deadline, and ends. The informers
    /// must have stopped before.
    pub(super) async fn stop(&self, deadline: Instant) -> (String, Backlog) {
        self.stop.cancel();
        let dispatcher = self.dispatcher.lock().take();
        let backlog = match dispatcher {
            Some(dispatcher) => dispatcher.drain(deadline.saturating_duration_since(Instant::now())).await,
            None => Backlog::default(),
        };
        let keys = self.keys.stop(deadline).await;
        // After the last call. The keys may have used all the time until the deadline; their letters are written all the
        // same.
        self.letters.stop(deadline.max(Instant::now() + LETTERS_WRITTEN_AFTER)).await;
        if keys > 0 {
            tracing::warn!(plugin = self.name(), keys, "stopped before every key was reconciled");
        }
        self.unload(deadline).await;
        (self.name().to_owned(), backlog)
    }

    /// Removes the plugin from the running host (D-10): it receives nothing any more, its calls in flight finish, and
    /// pending notifications are discarded and returned. A call that takes far longer than its deadline, because the plugin
    /// has used its share of CPU, is not waited for.
    pub(super) async fn remove(&self) -> Backlog {
        self.stop.cancel();
        self.subscriptions.release();
        let deadline = Instant::now() + self.config().limits.calls.deadline + CALLS_ENDED_WITHIN;
        let dispatcher = self.dispatcher.lock().take();
        // First: no worker may take a pending notification to the workqueue, which is closed next.
        let backlog = self.queue.close();
        // This also ends deliveries that wait for room in the workqueue.
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
        self.subscriptions.close_lister();
        backlog
    }

    /// Stops the instances until the deadline; the others are dropped.
    async fn unload(&self, deadline: Instant) {
        if timeout_at(deadline, self.plugin().unload()).await.is_err() {
            tracing::warn!(
                plugin = self.name(),
                "not every instance was stopped in time; the others were dropped"
            );
        }
    }

    /// Opens the gate whenever a version is in service and the caches that the plugin reads are complete. Never returns.
    async fn open(&self) {
        loop {
            let round = self.gate.round();
            if !self.subscriptions.complete().await {
                self.gate.closed_since(round).await;
                continue;
            }
            self.versions.loaded().await;
            self.gate.open(round);
            self.gate.closed_since(round).await;
        }
    }

    /// Delivers every object again whenever a version replaces another one, if the configuration says so. Never returns.
    async fn replay_after_swaps(self: &Arc<Self>) {
        let mut swaps = self.plugin().swaps();
        // The first version receives every object anyway.
        while swaps.changed().await.is_ok() {
            if *swaps.borrow_and_update() > 1 && self.config().on_reload == OnReload::Replay {
                let plugin = Arc::clone(self);
                off_the_workers(move || plugin.subscriptions.replay_all()).await;
            }
        }
    }
}

/// The name of this host in the Events that it records: in a cluster, the name of the pod.
fn event_instance() -> String {
    std::env::var("HOSTNAME").ok().filter(|name| !name.is_empty()).unwrap_or_else(|| "informer".to_owned())
}
