//! The running host: the module that connects the crates.

mod advice;
mod applier;
mod at_rest;
mod blocking;
mod code_cache;
mod declarations;
mod descriptors;
mod directories;
mod egress;
mod followed;
mod in_force;
mod keeping;
mod kinds;
mod narrowing;
mod objects;
mod origin;
mod plan;
mod probe;
mod recorder;
mod rehearsal;
mod reload;
mod running_plugin;
mod settings;
mod staging;
mod successor;
mod telemetry;
mod tenants;
mod trace;
mod unused;

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use futures::future::join_all;
use informer_cache::{FactoryConfig, InformerFactory, Lister, SharedInformer};
use informer_dispatch::Backlog;
use informer_runtime::{Engine, EngineConfig, EngineError, GuestThreads, LogSink, capabilities::HttpClient};
use informer_system::HttpAddress;
use informer_telemetry::{CollectorError, Exporter, Pending};
use informer_types::{Gvr, Tracer};
use tokio::{
    signal::unix::Signal,
    time::{Instant, timeout, timeout_at},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use crate::{
    admin::types::{Change, Report, Verdict},
    wiring::Witness,
};
use crate::{
    admin::{BindError, Endpoint, IfTaken, Probe, Reviewer, serve_admin, serve_health},
    config::{self, Config, Host, MetricsAuth, StateDir},
    connect::{ConnectError, Connection, KubeClient, Reviews, connect},
    election::{Elector, Leadership, Timing},
    logging::{PluginLog, RecentLines},
    state::{KeyValues, State},
};
pub use code_cache::{code_cache, existing_code_cache};
pub use egress::EgressError;
pub use rehearsal::{
    Patterns, check_component, check_watches, kept_parts, narrowed_watches, watched_namespaces,
};
pub use reload::{Adjust, ReloadRefused};
pub use running_plugin::SubscribeError;
pub use settings::{author_engine, engine as engine_config};
pub use staging::Staging;

use applier::Applier;
use blocking::on_a_thread;
use directories::Directories;
use egress::http_client;
use followed::Followed;
pub(crate) use origin::{Origin, puller};
use plan::Started;
use probe::HostProbe;
use reload::Reload;
use running_plugin::Supply;
use staging::Stage;
use telemetry::Observers;
use tenants::Tenants;
use trace::Trace;

/// The names of the endpoints of the host. The refusal of a request that a plugin sends to one of them contains its name.
const ADMIN: &str = "the host's admin endpoint";
const HEALTH: &str = "the host's health endpoint";

/// Time for the last requests to the endpoints, on top of the time to stop.
const ANSWERED_WITHIN: Duration = Duration::from_secs(1);

/// Time for the release of the lease, on top of the time to stop.
const RELEASED_WITHIN: Duration = Duration::from_secs(1);

/// Options for commands and tests.
pub struct Options {
    /// The connection to the API server; `None` means that the configuration names it.
    pub connection: Option<Connection>,
    /// Receives the log lines of the plugins.
    pub log: Arc<dyn LogSink>,
    /// The configuration file, which is read again when it changes and at each reload. `None` means that the configuration
    /// stays, and that a reload reads the components only.
    pub file: Option<PathBuf>,
    /// Adjusts every configuration that is read.
    pub adjust: Adjust,
    /// What the admin endpoint does if another program has its address.
    pub if_taken: IfTaken,
    /// Makes the settings of the engine from the file, before it is adjusted.
    pub engine: fn(&Host) -> EngineConfig,
    /// The stand-ins for the outside world in a test of plugins; `None` in production.
    pub staging: Option<Staging>,
}

/// The reason why the host does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// There is no client for the API server.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The engine for components cannot be made.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The HTTP client of the plugins cannot be made.
    #[error(transparent)]
    Egress(#[from] EgressError),
    /// The threads for guests cannot be started.
    #[error("no threads can be started for the plugins: {0}")]
    Threads(#[source] std::io::Error),
    /// The collector for traces cannot be used.
    #[error(transparent)]
    Telemetry(#[from] CollectorError),
    /// An endpoint cannot listen.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// A plugin cannot subscribe to a watch.
    #[error(transparent)]
    Subscribe(#[from] SubscribeError),
}

/// A running host.
pub struct App {
    factory: Arc<InformerFactory>,
    applier: Arc<Applier>,
    reload: Reload,
    /// The configuration file, absolute.
    file: Option<PathBuf>,
    lines: Arc<RecentLines>,
    state: State,
    /// The steps of objects; `None` if none are kept.
    trace: Option<Arc<Trace>>,
    /// The exporter of traces, if there is one.
    exporter: Option<Exporter>,
    engine: Engine,
    /// The threads of all calls of guests.
    guests: GuestThreads,
    admin: Option<Endpoint>,
    health: Option<Endpoint>,
    tasks: TaskTracker,
    /// Ends the background tasks; cancelled first.
    stop: CancellationToken,
    /// Ends the workers at once, at the deadline.
    abort: CancellationToken,
    /// Ends the endpoints; cancelled last.
    endpoint_stop: CancellationToken,
}

/// The work that is left when the host has stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StopReport {
    /// Notifications that were not delivered, by plugin. The objects are delivered again at the next start.
    pub undelivered: Vec<(String, Backlog)>,
}

// === impl Options ===

impl Default for Options {
    fn default() -> Self {
        Self {
            connection: None,
            log: Arc::new(PluginLog),
            file: None,
            adjust: Arc::new(|_| {}),
            if_taken: IfTaken::default(),
            engine: |host| engine_config(host, code_cache(host)),
            staging: None,
        }
    }
}

// === impl App ===

impl App {
    /// Starts everything and returns at once: informers list, and components are compiled, in the background. A plugin that
    /// cannot be loaded does not affect the others; the status shows it, and it is loaded once its file is corrected. A
    /// resource that the server does not serve affects nothing else; the status shows it, and it is watched once its CRD
    /// exists. A watch runs if some plugin subscribes to it or may read it.
    ///
    /// # Errors
    /// [`StartError`] if nothing can run at all.
    pub async fn start(mut config: Config, options: Options) -> Result<Self, StartError> {
        // This comes first, so that every change of the file from now on is noticed.
        let file = options.file.map(|file| std::path::absolute(&file).unwrap_or(file));
        let followed = file.as_deref().map(Followed::read_now);
        let engine = Engine::new(&(options.engine)(&config.host))?;
        (options.adjust)(&mut config);
        let connection = connected(options.connection, &config).await?;
        let state = open_state(&config.host.state_dir).await;
        let (elector, leadership, api) = election(&config.host, &connection.client);
        let (host, started) = (config.host.clone(), started(&config).await);
        let (stage, url, fence) = (Stage::new(options.staging), &connection.server, leadership.clone());
        let http = http_client(&config.host, url, Arc::new(api.clone()), stage.wire.clone(), fence).await?;
        let observers = Observers::new(config.host.trace, config.telemetry.as_ref())?;
        let factory = factory(&config, &connection, observers.tracer.clone());
        let (stop, abort, tasks) = (CancellationToken::new(), CancellationToken::new(), TaskTracker::new());
        let lines = Arc::new(RecentLines::new(options.log, config.host.admin.is_some()));
        let guests = GuestThreads::start().map_err(StartError::Threads)?;
        let parts = running_plugin::Parts {
            engine: engine.clone(),
            guests: guests.handle().clone(),
            factory: Arc::clone(&factory),
            api,
            log: Arc::clone(&lines) as _,
            keyvalue: Arc::new(KeyValues::new(state.clone()).fenced(leadership.clone())),
            http: http.clone(),
            directories: Directories::new(),
            supply: Supply::new(puller(&config), file.as_deref(), leadership),
            stop: stop.clone(),
            abort: abort.clone(),
            state: state.clone(),
            tracer: observers.tracer,
            stage,
        };
        let applier = Applier::new(Arc::new(parts), tasks.clone(), file.clone(), started, &connection);
        let (reload, reloader) = Reload::new(Arc::clone(&applier), followed, options.adjust);
        applier.apply(config).await?;
        let mut app = Self {
            factory,
            applier,
            reload,
            file,
            lines,
            state,
            trace: observers.trace,
            exporter: None,
            engine,
            guests,
            admin: None,
            health: None,
            tasks,
            stop,
            abort,
            endpoint_stop: CancellationToken::new(),
        };
        app.run_background(reloader, connection.client.clone(), observers.exporter);
        app.listen(&host, options.if_taken, connection.client, &http).await?;
        // This comes after everything that may fail, so that a host that does not start never leads.
        app.compete(elector);
        Ok(app)
    }

    /// The address of the admin endpoint, if there is one.
    pub fn admin_address(&self) -> Option<&HttpAddress> {
        self.admin.as_ref().map(Endpoint::address)
    }

    /// The address of the health endpoint, if there is one.
    pub fn health_address(&self) -> Option<SocketAddr> {
        self.health.as_ref().and_then(|health| health.address().tcp())
    }

    /// Reads the cache of one watched resource, in process (L-1). Returns `None` if the resource is not watched. While a changed watch
    /// has not synced, this is the cache of the previous watch.
    pub fn lister(&self, gvr: &Gvr) -> Option<Lister> {
        let mut informers = self.factory.superseded().into_iter().chain(self.factory.informers());
        informers.find(|informer| informer.key().gvr == *gvr).map(|informer| informer.lister())
    }

    /// Waits until each plugin of the file has a version in service, and each informer that such a plugin uses has synced. If that
    /// cannot happen, it waits for ever; the status shows why.
    ///
    /// # Cancel safety
    /// A dropped future changes nothing.
    pub async fn ready(&self) {
        self.applier.kinds().known().await;
        let plugins = self.applier.plugins().of_file();
        join_all(plugins.iter().map(|plugin| plugin.serving())).await;
        let mut informers = self.factory.informers();
        informers.retain(|one| plugins.iter().any(|plugin| plugin.subscriptions().contains(&one.key().gvr)));
        join_all(informers.iter().map(SharedInformer::wait_synced)).await;
    }

    /// Waits as [`App::ready`] does, and until each plugin of the file has settled every initial notification (P-16).
    ///
    /// # Cancel safety
    /// A dropped future changes nothing.
    pub async fn synced(&self) {
        self.ready().await;
        let plugins = self.applier.plugins().of_file();
        join_all(plugins.iter().map(|plugin| plugin.subscriptions().synced())).await;
    }

    /// Returns once this host has lost its lease, so that another host may lead. The process must end at once then, also while
    /// it stops: calls in flight may still act. It never returns if that does not happen.
    ///
    /// # Cancel safety
    /// A dropped future changes nothing.
    pub fn lost(&self) -> impl Future<Output = ()> + use<> {
        let leadership = self.applier.leadership().clone();
        async move { leadership.ends().await }
    }

    /// The host as the admin endpoint sees it.
    pub fn probe(&self) -> impl Probe + use<> {
        HostProbe {
            factory: Arc::clone(&self.factory),
            plugins: self.applier.plugins().clone(),
            state: self.state.clone(),
            leadership: self.applier.leadership().clone(),
            reload: self.reload.clone(),
            in_force: self.applier.in_force().clone(),
            objects: self.applier.objects().clone(),
            kinds: self.applier.kinds().clone(),
            lines: Arc::clone(&self.lines),
            trace: self.trace.clone(),
            exporter: self.exporter.clone(),
            engine: self.engine.clone(),
            file: self.file.clone(),
            witness: self.applier.witness().clone(),
            stop: self.stop.clone(),
        }
    }

    /// Reads the configuration file and every component again, or the component of one plugin, and applies what changed. A
    /// version that was tried and failed is tried again.
    ///
    /// # Errors
    /// [`ReloadRefused`] if the host is stopping or too many requests wait. What is wrong with the files is in the report.
    ///
    /// # Cancel safety
    /// The reload happens even if the future is dropped.
    pub async fn reload(&self, plugin: Option<String>) -> Result<Report, ReloadRefused> {
        self.reload.request(plugin).await
    }

    /// Reloads at each of these signals. Never returns.
    ///
    /// # Cancel safety
    /// A dropped future changes nothing.
    pub async fn reload_on_signals(&self, mut hangup: Signal) {
        while hangup.recv().await.is_some() {
            // The log has the result.
            self.reload(None).await.ok();
        }
        std::future::pending::<()>().await;
    }

    /// Applies a configuration: starts, stops and changes what differs from the one in force, and nothing else.
    ///
    /// # Errors
    /// [`SubscribeError`] if the host is stopping.
    ///
    /// # Cancel safety
    /// Once the previous configuration is applied, this one is applied to its end, even if the future is dropped.
    pub async fn apply(&self, config: Config) -> Result<Report, SubscribeError> {
        self.applier.apply(config).await
    }

    /// Stops in the order of the event flow, within about the configured time: the reflectors, the queues after they are drained,
    /// the instances, and the endpoints last.
    pub async fn stop(self) -> StopReport {
        let deadline = Instant::now() + self.applier.shutdown_timeout();
        self.stop.cancel();
        // A configuration that is being applied ends first; no other is applied.
        let _held = timeout_at(deadline, self.applier.hold()).await;
        let plugins = self.applier.plugins().all();
        if timeout_at(deadline, self.factory.shutdown()).await.is_err() {
            tracing::error!("informers did not stop in time");
        }
        // `stop` calls guests, which must happen on their threads.
        let stopping = async move { join_all(plugins.iter().map(|plugin| plugin.stop(deadline))).await };
        let left = self.guests.handle().spawn(stopping).await.unwrap_or_default();
        self.abort.cancel();
        self.tasks.close();
        if timeout_at(deadline, self.tasks.wait()).await.is_err() {
            tracing::error!("background tasks did not stop in time");
        }
        // The calls may have used all the time until the deadline; the lease is released all the same.
        if timeout(RELEASED_WITHIN, self.applier.leadership().over()).await.is_err() {
            tracing::warn!("the election has not ended in time; a lease that this host holds ends by itself");
        }
        self.endpoint_stop.cancel();
        // A slow request does not hold up the stop.
        let answered = deadline.max(Instant::now() + ANSWERED_WITHIN);
        let endpoints = self.admin.into_iter().chain(self.health);
        join_all(endpoints.map(|endpoint| endpoint.stopped(answered))).await;
        // A host that follows in this process finds the file unlocked.
        self.state.end().await;
        let undelivered: Vec<_> = left.into_iter().filter(|(_, backlog)| backlog.notifications > 0).collect();
        for (plugin, backlog) in &undelivered {
            tracing::warn!(plugin, notifications = backlog.notifications, objects = ?backlog.objects, "stopped before every notification was delivered");
        }
        tracing::info!("stopped");
        StopReport { undelivered }
    }

    /// Opens the endpoints. No plugin reaches them: a configured port is closed to plugins before the endpoint opens it, and a port that
    /// the system chooses is closed to plugins as soon as it is known.
    async fn listen(
        &mut self,
        host: &Host,
        if_taken: IfTaken,
        client: kube::Client,
        http: &HttpClient,
    ) -> Result<(), BindError> {
        let close = |what, address: Option<SocketAddr>| {
            address.into_iter().for_each(|address| http.close_port(what, address.port()));
        };
        if let Some(address) = host.admin.clone() {
            close(ADMIN, address.tcp());
            let probe = Arc::new(self.probe());
            let serving = serve_admin(address, if_taken, probe, self.endpoint_stop.clone());
            let admin = self.admin.insert(serving.await?);
            close(ADMIN, admin.address().tcp());
            tracing::info!(address = %admin.address(), "the admin endpoint listens");
        }
        if let Some(address) = host.health {
            close(HEALTH, Some(address));
            let reviewer = reviewer(host.metrics_auth, client);
            let serving = serve_health(address, Arc::new(self.probe()), reviewer, self.endpoint_stop.clone());
            let health = self.health.insert(serving.await?);
            close(HEALTH, health.address().tcp());
            tracing::info!(address = %health.address(), "the health endpoint listens");
        }
        Ok(())
    }

    fn run_background(
        &mut self,
        reloader: reload::Reloader,
        client: kube::Client,
        exporter: Option<(Exporter, Pending)>,
    ) {
        let (state, stop) = (self.state.clone(), self.stop.clone());
        self.tasks.spawn(async move { state.keep_open(stop).await });
        let stop = self.stop.clone();
        self.tasks.spawn(async move { stop.run_until_cancelled(reloader.run()).await });
        let (applier, stop) = (Arc::clone(&self.applier), self.stop.clone());
        self.tasks.spawn(async move { stop.run_until_cancelled(applier.directories().poll()).await });
        let (applier, stop) = (Arc::clone(&self.applier), self.stop.clone());
        self.tasks.spawn(async move { stop.run_until_cancelled(applier.follow_kinds()).await });
        let (applier, stop) = (Arc::clone(&self.applier), self.stop.clone());
        self.tasks.spawn(async move { stop.run_until_cancelled(applier.follow_declarations()).await });
        let tenants =
            Tenants::new(Arc::clone(&self.applier), Arc::clone(&self.factory), client, self.state.clone());
        let (leadership, stop) = (self.applier.leadership().clone(), self.stop.clone());
        let tenants = async move {
            // Only the leader writes the status of Plugin objects.
            leadership.begins().await;
            tenants.run().await;
        };
        self.tasks.spawn(async move { stop.run_until_cancelled(tenants).await });
        if let Some((exporter, pending)) = exporter {
            self.exporter = Some(exporter.clone());
            // The exporter runs until the last calls have ended.
            self.tasks.spawn(exporter.run(pending, self.abort.clone()));
        }
    }

    /// Competes for the lease until the host stops, and holds it until the last calls have ended.
    fn compete(&self, elector: Option<Elector>) {
        if let Some(elector) = elector {
            self.tasks.spawn(elector.run(self.stop.clone(), self.abort.clone()));
        }
    }
}

/// The reviewer of the tokens for `/metrics`. Returns `None` if the metrics need no token.
fn reviewer(auth: MetricsAuth, client: kube::Client) -> Option<Arc<dyn Reviewer>> {
    match auth {
        MetricsAuth::None => None,
        MetricsAuth::Kubernetes => Some(Arc::new(Reviews::new(client))),
    }
}

/// The elector, if the host competes for a lease, the role of the host, and the client that the role fences.
fn election(host: &Host, client: &kube::Client) -> (Option<Elector>, Leadership, KubeClient) {
    // Pods with one name may follow one another: the number distinguishes them.
    let identity = || format!("{}_{:016x}", running_plugin::event_instance(), fastrand::u64(..));
    let (elector, leadership) = match host.lease.clone() {
        Some(lease) => {
            let timing = Timing::of(host.lease_duration);
            let (elector, leadership) = Elector::new(client.clone(), lease, timing, identity());
            (Some(elector), leadership)
        }
        None => (None, Leadership::unconditional()),
    };
    let api = KubeClient::new(client.clone(), leadership.clone());
    (elector, leadership, api)
}

fn factory(config: &Config, connection: &Connection, tracer: Tracer) -> Arc<InformerFactory> {
    let settings = settings::factory(&config.cluster, &config.host, connection);
    let settings = FactoryConfig { tracer, ..settings };
    Arc::new(InformerFactory::new(connection.client.clone(), settings))
}

/// Returns the sections that the host starts with. This function must read the file of `http-ca` before the client for HTTP does:
/// then no change of the file is missed.
async fn started(config: &Config) -> Started {
    let config = config.clone();
    on_a_thread(move || Started::of(&config)).await
}

/// The given connection, or the one that the configuration names. Logs what starts with it.
async fn connected(given: Option<Connection>, config: &Config) -> Result<Connection, ConnectError> {
    let connection = match given {
        Some(connection) => connection,
        None => connect(&config.cluster.access).await?,
    };
    log_start(&connection, config);
    Ok(connection)
}

/// Opens the state. If that fails, the host runs without and reports it.
async fn open_state(directory: &StateDir) -> State {
    if *directory == StateDir::Nowhere {
        tracing::warn!(
            "neither [host] state-dir nor $XDG_STATE_HOME or $HOME names a directory for the state: key-values and dead \
             letters end with this process; set state-dir, or set it to \"off\" if that is intended"
        );
    }
    let directory = directory.path().map(Path::to_owned);
    let opening = tokio::task::spawn_blocking(move || State::open(directory.as_deref()));
    // Opening does not panic.
    opening.await.unwrap_or_else(|_| State::open(None))
}

impl std::fmt::Debug for App {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("App").field("factory", &self.factory).finish_non_exhaustive()
    }
}

/// Logs what starts, and the full name of each resource that is not written in full.
fn log_start(connection: &Connection, config: &Config) {
    let (watches, plugins) = (config.watches.len(), config.plugins.len());
    tracing::info!(server = %connection.server, watches, plugins, "starting");
    for (written, full) in config::abbreviated(config) {
        tracing::info!(resource = full, "`{written}` is the name of a resource");
    }
}

#[cfg(test)]
mod tests;
