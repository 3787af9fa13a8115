//! One plugin with its subscriptions, queues, workers and versions.

mod gate;
mod letters;
mod plugins;
mod pulls;
mod receipts;
mod signals;
mod subscriptions;
mod versions;

use std::{sync::Arc, time::Duration};

use informer_cache::{InformerFactory, Subscription};
use informer_dispatch::{
    Backlog, Dispatcher, Queue, QueueConfig,
    workqueue::{DroppedKey, RateLimitingQueue, ReconcileLoop},
};
use informer_runtime::{
    Engine, Grants, LogSink, Plugin, PluginConfig, Sources,
    capabilities::{ClientSource, HttpClient, KeyValueSource},
};
use informer_types::{ServiceAccount, SyncToken, Tracer, Workqueue};
use parking_lot::Mutex;
use tokio::{
    runtime::Handle,
    time::{Instant, timeout, timeout_at},
};
use tokio_util::sync::CancellationToken;

use super::{
    advice, blocking::off_the_workers, directories::Directories, origin::Origin, settings, staging::Stage,
};
use crate::{
    admin::types::{Report, Verdict},
    config::{self, OnReload},
    config_files::ConfigFiles,
    connect::KubeClient,
    logging::{LeveledLog, PluginLevel},
    state::State,
    wiring::{Calls, Enqueues, Repeats},
};

use gate::Gate;
pub(super) use letters::{Letters, NotReplayed};
pub(super) use plugins::RunningPlugins;
use receipts::ReceiptKeeper;
use signals::Signals;
pub use subscriptions::SubscribeError;
pub(super) use subscriptions::{Interest, Subscriptions, Watches};
pub(super) use versions::{Look, Supply, Versions};

/// Time for a slow disk when a plugin is removed.
const LETTERS_WRITTEN_WITHIN: Duration = Duration::from_secs(5);

/// Time to end calls, on top of their deadline.
const CALLS_ENDED_WITHIN: Duration = Duration::from_secs(5);

/// Time for a slow disk when the host stops, on top of the time for the calls.
const LETTERS_WRITTEN_AFTER: Duration = Duration::from_secs(1);

/// The parts that all plugins of a host share.
pub(super) struct Parts {
    pub(super) engine: Engine,
    /// The threads on which guests are called.
    pub(super) guests: Handle,
    pub(super) factory: Arc<InformerFactory>,
    /// The client for the plugins' requests to the API server.
    pub(super) api: KubeClient,
    pub(super) log: Arc<dyn LogSink>,
    pub(super) keyvalue: Arc<dyn KeyValueSource>,
    pub(super) http: HttpClient,
    pub(super) directories: Directories,
    pub(super) supply: Supply,
    /// Ends the background tasks.
    pub(super) stop: CancellationToken,
    /// Ends the workers at once, at the deadline of the stop.
    pub(super) abort: CancellationToken,
    pub(super) state: State,
    /// The trace of what each stage decides about each object.
    pub(super) tracer: Tracer,
    /// The stand-ins of a test for the outside world.
    pub(super) stage: Stage,
}

/// One plugin of the running host. Its queue receives notifications from the start; calls begin once its informers have
/// synced (W-1) and a version is in service.
pub(super) struct RunningPlugin {
    parts: Arc<Parts>,
    name: Arc<str>,
    /// The newest configuration. Keys that an instance could notice are in force once a version runs with them.
    config: Mutex<Arc<config::Plugin>>,
    subscriptions: Arc<Subscriptions>,
    enqueues: Enqueues,
    queue: Queue,
    /// `None` once the plugin is stopped.
    dispatcher: Mutex<Option<Dispatcher>>,
    workqueue: RateLimitingQueue,
    /// The workers that call the reconciler; `None` once the plugin is stopped.
    reconcilers: Mutex<Option<ReconcileLoop>>,
    signals: Signals,
    letters: Letters,
    /// The client for its requests to the API server.
    api: KubeClient,
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
        let enqueues = Enqueues::of(&config.subscriptions);
        let (records, queue, workqueue) = queues(&config, &enqueues, parts);
        let signals = Signals::new(&config, &parts.stage);
        let repeats = Repeats::new(parts.stage.stops_clocks());
        let queues = (queue.clone(), workqueue.clone(), signals.queue().clone());
        let gate = Gate::new(queues.clone(), parts.stage.stops_clocks());
        let subscriptions = Subscriptions::new(&config, watches, &parts.factory, &queue, records)?;
        let api = parts.api.of_plugin(config.account.clone());
        let sources = Sources {
            lister: Arc::clone(subscriptions.lister()) as _,
            client: ClientSource::new(Arc::new(parts.stage.witnessed(&api)), event_instance()),
            http: parts.http.clone(),
            log: Arc::new(LeveledLog::new(log_level.clone(), Arc::clone(&parts.log))),
            keyvalue: Arc::clone(&parts.keyvalue),
            config: Arc::new(config_files.clone()),
            workqueue: Arc::new(workqueue.clone()),
            timers: Arc::new(signals.timers().clone()),
            wall_clock: parts.stage.wall_clock.clone(),
        };
        let plugin = Arc::new(Plugin::new(parts.engine.clone(), settings::plugin(&config), sources));
        let witness = parts.stage.witness.clone();
        let calls = Calls::new(Arc::clone(&plugin), queues, repeats, witness);
        let letters = Letters::keep(queue.clone(), workqueue.clone(), parts.state.clone(), &name);
        let (dispatcher, reconcilers) = {
            let _guests = parts.guests.enter();
            signals.start(&config, (Arc::clone(&plugin), Arc::clone(&calls)), &parts.stage, &parts.abort);
            let (dispatch, reconcile) = (settings::dispatch(&config), settings::reconcile(&config));
            (
                Dispatcher::spawn(dispatch, queue.clone(), Arc::clone(&calls), &parts.abort),
                ReconcileLoop::spawn(reconcile, workqueue.clone(), Arc::clone(&calls), &parts.abort),
            )
        };
        Ok(Self {
            versions: Versions::new(&config, parts.engine.clone(), &parts.supply, plugin, calls),
            parts: Arc::clone(parts),
            name,
            config: Mutex::new(Arc::new(config)),
            subscriptions: Arc::new(subscriptions),
            enqueues,
            queue,
            dispatcher: Mutex::new(Some(dispatcher)),
            workqueue,
            reconcilers: Mutex::new(Some(reconcilers)),
            signals,
            letters,
            api,
            gate,
            config_files,
            log_level,
            stop: parts.stop.child_token(),
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn config(&self) -> Arc<config::Plugin> {
        Arc::clone(&self.config.lock())
    }

    pub(super) fn plugin(&self) -> &Plugin {
        self.versions.plugin()
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

    /// The ServiceAccount in whose name its own requests are sent; `None` means the identity of the host.
    pub(super) fn account(&self) -> Option<ServiceAccount> {
        self.config().account.clone()
    }

    /// The grants of the configuration.
    pub(super) fn grants(&self) -> Grants {
        self.config().grants.clone()
    }

    pub(super) fn workqueue(&self) -> &RateLimitingQueue {
        &self.workqueue
    }

    pub(super) fn signals(&self) -> &Signals {
        &self.signals
    }

    /// Notifies the plugin if its `config-files` changed. The host does it every two seconds, too.
    pub(super) async fn look_at_config_files(&self) {
        self.signals.look_for(self.plugin(), &self.config_files).await;
    }

    /// The objects for which the handler requested another call.
    pub(super) fn repeats(&self) -> &RateLimitingQueue {
        self.versions.calls().repeats().queue()
    }

    /// Sets whether calls are held back, for tests of plugins. Calls in flight go on.
    pub(super) fn hold_calls(&self, is_held: bool) {
        self.gate.set_held(is_held);
    }

    /// Returns true if the queues have everything that follows from the caches, and from the versions put into service.
    pub(super) fn is_settled(&self) -> bool {
        let swap = *self.plugin().swaps().borrow();
        self.subscriptions.is_settled(swap)
    }

    pub(super) fn letters(&self) -> &Letters {
        &self.letters
    }

    pub(super) fn subscriptions(&self) -> &Subscriptions {
        &self.subscriptions
    }

    pub(super) fn versions(&self) -> &Versions {
        &self.versions
    }

    /// Cancelled once the plugin or the host stops.
    pub(super) fn stopping(&self) -> &CancellationToken {
        &self.stop
    }

    /// Replaces the informer of a watch; the previous informer has ended.
    ///
    /// # Errors
    /// [`SubscribeError`], only while the host stops.
    ///
    /// # Blocking
    /// It blocks as `SharedInformer::add_listener` does.
    pub(super) fn replace_informer(&self, subscription: Subscription) -> Result<(), SubscribeError> {
        self.subscriptions.replace_informer(subscription)?;
        // Calls wait for the new informer.
        self.gate.close();
        Ok(())
    }

    /// Adds a key again that was given up. The letter is deleted once the key is reconciled.
    pub(super) fn replay_key(&self, dropped: &DroppedKey) -> Result<(), NotReplayed> {
        match self.plugin().version() {
            None => return Err(NotReplayed::NotLoaded),
            Some(version) if !version.reconciles => return Err(NotReplayed::NotReconciling),
            Some(_) => {}
        }
        self.workqueue().add(&dropped.key).map_err(|_| NotReplayed::Full)
    }

    /// Applies another configuration, field by field, and notes the change in the report. Calls in flight finish as they
    /// began, pending notifications stay, and nothing is delivered again. If an instance could notice the difference, a new
    /// version of the component is started; if that fails, the version in service stays as it was. Informers that are to be
    /// replaced must be superseded before.
    ///
    /// # Errors
    /// [`SubscribeError`], only while the host stops.
    pub(super) async fn change(
        self: &Arc<Self>,
        new: config::Plugin,
        watches: &Watches,
        report: &mut Report,
    ) -> Result<(), SubscribeError> {
        let old = self.config();
        let detail = differing(&old, &new).join(", ");
        self.enqueues.set(&new.subscriptions);
        let (plugin, before, after) = (Arc::clone(self), Arc::clone(&old), new.clone());
        let watches = watches.clone();
        let kept_receipts = self.subscriptions.receipts().receipts().keeps_any();
        let changing = move || plugin.subscriptions.change(&before, &after, &watches);
        if off_the_workers(changing).await? {
            self.gate.close();
        } else {
            self.gate.renew();
        }
        if !kept_receipts && let Some(version) = self.plugin().version() {
            self.subscriptions.receipts().record(&version.digest);
        }
        let dispatch = settings::dispatch(&new);
        if dispatch != settings::dispatch(&old)
            && let Some(dispatcher) = &*self.dispatcher.lock()
        {
            dispatcher.configure(dispatch);
        }
        self.configure_workqueue(&old, &new);
        self.signals.configure(&old, &new);
        self.config_files.set(new.config_files.clone());
        if old.log_level != new.log_level {
            self.log_level.set(new.log_level);
        }
        self.queue.configure(&settings::queue(&new));
        self.api.act_as(new.account.clone());
        let sandbox = settings::plugin(&new);
        let other_file = self.versions.set_origin(Origin::of(&new));
        self.versions.advise(advice::resource(&new));
        *self.config.lock() = Arc::new(new);
        report.note("plugin", self.name(), Verdict::Changed, detail);
        if sandbox != settings::plugin(&old) {
            self.configure(sandbox).await;
        }
        if other_file || self.plugin().version().is_none() {
            self.versions.load_again();
        }
        Ok(())
    }

    /// The keys stay, with their failures. If the rate or the backoff changes, `burst` is available again at once.
    fn configure_workqueue(&self, old: &config::Plugin, new: &config::Plugin) {
        let (before, now) = (&old.workqueue, &new.workqueue);
        self.workqueue.set_capacity(now.capacity);
        self.workqueue.set_quarantine(new.quarantine.clone());
        let delays = |queue: &config::Workqueue| (queue.min, queue.max, queue.qps, queue.burst);
        if delays(before) != delays(now) {
            self.workqueue.set_limiter(settings::limiter(now));
        }
        if let Some(workers) = &*self.reconcilers.lock() {
            workers.configure(settings::reconcile(new));
        }
    }

    /// Applies the part of the configuration that an instance could notice. If the plugin takes longer to start than a call
    /// may take, because it has used its share of CPU or waits for a load, it continues in the background: the other plugins
    /// do not wait for it.
    async fn configure(self: &Arc<Self>, sandbox: PluginConfig) {
        let within = sandbox.limits.deadline + CALLS_ENDED_WITHIN;
        let plugin = Arc::clone(self);
        let configuring = async move { plugin.versions.configure(sandbox).await };
        let configuring = self.stop.clone().run_until_cancelled_owned(configuring);
        // The new version calls the guest, which must happen on the threads of the guests.
        match timeout(within, self.parts.guests.spawn(configuring)).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => {
                tracing::error!(plugin = self.name(), %error, "the plugin keeps its configuration");
            }
            Err(_) => {
                tracing::warn!(
                    plugin = self.name(),
                    ?within,
                    "the plugin has not started with its new configuration yet; it continues to start"
                );
            }
        }
    }

    /// Loads the component, again whenever its file changes, and runs the background tasks, until the plugin or the host is
    /// stopped.
    pub(super) async fn run(self: Arc<Self>) {
        let all = async {
            let expire = self.plugin().expire_idle(self.stop.clone());
            let follow = self.versions.follow(&self.parts.directories);
            let swaps = async { tokio::join!(self.versions.follow_swaps(), self.replay_after_swaps()) };
            let find_gone = self.subscriptions.find_gone();
            let announce = async {
                // The first version may receive every object again before the gate opens.
                self.serving().await;
                self.signals.announce(&self.subscriptions).await;
            };
            let follow_config = self.signals.follow_config(&self.config_files, self.plugin());
            let repeat = self.subscriptions.repeat(self.versions.calls().repeats());
            let namespaces = Arc::clone(&self.subscriptions).follow_namespaces();
            let own = async {
                tokio::join!(
                    Box::pin(find_gone),
                    Box::pin(announce),
                    Box::pin(follow_config),
                    Box::pin(repeat),
                    Box::pin(namespaces)
                )
            };
            tokio::join!(self.open(), Box::pin(follow), swaps, Box::pin(expire), own);
        };
        self.stop.run_until_cancelled(all).await;
    }

    /// Waits until the gate was open once: a version is in service, and the caches that the plugin reads are complete.
    pub(super) async fn serving(&self) {
        self.gate.opened().await;
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
        let reconcilers = self.reconcilers.lock().take();
        let keys = match reconcilers {
            Some(workers) => workers.drain(deadline.saturating_duration_since(Instant::now())).await,
            None => 0,
        };
        self.signals.stop(deadline).await;
        // After the last call. The keys may have used all the time until the deadline; their letters are written all the
        // same.
        let written = deadline.max(Instant::now() + LETTERS_WRITTEN_AFTER);
        tokio::join!(self.letters.stop(written), self.subscriptions.receipts().stop(written));
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
        let keys = self.workqueue.close();
        if keys > 0 {
            tracing::info!(plugin = self.name(), keys, "removed before every key was reconciled");
        }
        if let Some(dispatcher) = dispatcher {
            timeout_at(deadline, dispatcher.remove()).await.ok();
        }
        let reconcilers = self.reconcilers.lock().take();
        if let Some(workers) = reconcilers {
            timeout_at(deadline, workers.remove()).await.ok();
        }
        timeout_at(deadline, self.signals.remove()).await.ok();
        let written = Instant::now() + LETTERS_WRITTEN_WITHIN;
        tokio::join!(self.letters.stop(written), self.subscriptions.receipts().stop(written));
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
    async fn open(self: &Arc<Self>) {
        let mut is_first = true;
        loop {
            let round = self.gate.round();
            if !self.gate.completed(round, self.subscriptions.complete()).await {
                continue;
            }
            self.versions.loaded().await;
            if std::mem::take(&mut is_first) {
                // Before the first call, so that each receipt belongs to a version that is recorded.
                self.begin(true).await;
                if self.parts.supply.leadership().lease().is_some() {
                    // The leader before made the calls for the times that passed while this host stood by.
                    self.signals.timers().restart();
                }
            }
            self.gate.open(round);
            self.gate.ended(round).await;
        }
    }

    /// Delivers every object again whenever a version replaces another one, if the configuration says so. Never returns.
    async fn replay_after_swaps(self: &Arc<Self>) {
        let mut swaps = self.plugin().swaps();
        self.subscriptions.note_swap(*swaps.borrow_and_update());
        while swaps.changed().await.is_ok() {
            let swap = *swaps.borrow_and_update();
            // The gate waits for the first version.
            if swap > 1 {
                self.begin(false).await;
                if self.config().on_reload == OnReload::Replay {
                    self.signals.replay_all(&self.subscriptions).await;
                }
            }
            self.subscriptions.note_swap(swap);
        }
    }

    async fn begin(self: &Arc<Self>, is_first: bool) {
        let plugin = Arc::clone(self);
        off_the_workers(move || plugin.begin_version(is_first)).await;
    }

    /// Expires the receipts of an earlier process if this version must receive every object. The first version then also receives
    /// every object again, because the receipts have held some back. Records the version for its own receipts.
    fn begin_version(&self, is_first: bool) {
        let receipts = self.subscriptions.receipts();
        let Some(version) = self.plugin().version() else { return };
        let replays = self.config().on_reload == OnReload::Replay;
        let is_another = || replays && receipts.is_another(&version.digest);
        // Keys do not outlive the process that had them.
        let starts_anew = || receipts.holds_back() && (!version.handles || is_another());
        let again = if is_first { starts_anew() } else { replays };
        if again {
            self.subscriptions.expire();
            if is_first {
                // No subscription is announced yet, so each is announced after its part of the replay.
                self.subscriptions.replay_all(|_| SyncToken::new(|| {}));
            }
        }
        receipts.record(&version.digest);
    }
}

/// The queues of a plugin, without anything in them, with the receipts and the trace of what they deliver.
fn queues(
    config: &config::Plugin,
    enqueues: &Enqueues,
    parts: &Parts,
) -> ((ReceiptKeeper, Tracer), Queue, RateLimitingQueue) {
    let tracer = parts.tracer.of_plugin(config.name.as_str());
    let receipts = ReceiptKeeper::start(config, parts.state.clone());
    let keys = &config.workqueue;
    let workqueue = RateLimitingQueue::traced(keys.capacity, settings::limiter(keys), tracer.clone());
    workqueue.set_quarantine(config.quarantine.clone());
    let keys_of = enqueues.clone();
    let queue = Queue::builder(&settings::queue(config))
        .traced(tracer.clone())
        .with_receipts(receipts.receipts().clone())
        .with_keys(workqueue.clone(), move |source, change| keys_of.keys(source, change))
        .build();
    if parts.stage.stops_clocks() {
        queue.stop_clock();
        workqueue.stop_clock();
    }
    ((receipts, tracer), queue, workqueue)
}

/// The name of this host in the Events that it records: in a cluster, the name of the pod.
pub(super) fn event_instance() -> String {
    std::env::var("HOSTNAME").ok().filter(|name| !name.is_empty()).unwrap_or_else(|| "informer".to_owned())
}

/// The keys of `[[plugin]]` that differ, as the file writes them.
fn differing(old: &config::Plugin, new: &config::Plugin) -> Vec<&'static str> {
    let same = [
        ("source", old.source == new.source),
        ("digest", old.digest == new.digest),
        ("poll", old.poll == new.poll),
        ("build", old.build == new.build),
        ("as", old.account == new.account),
        ("instance", old.instance == new.instance),
        ("on", old.subscriptions == new.subscriptions),
        ("timer", old.timers == new.timers),
        ("queue", old.queue == new.queue),
        ("workqueue", old.workqueue == new.workqueue),
        ("retry", old.retry == new.retry),
        ("quarantine", old.quarantine == new.quarantine),
        ("limits", old.limits == new.limits),
        ("grant", old.grants == new.grants),
        ("reload", old.reload == new.reload),
        ("on-reload", old.on_reload == new.on_reload),
        ("config", old.config_json == new.config_json),
        ("config-files", old.config_files == new.config_files),
        ("log-level", old.log_level == new.log_level),
    ];
    same.into_iter().filter_map(|(key, same)| (!same).then_some(key)).collect()
}
