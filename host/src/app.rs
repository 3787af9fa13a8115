//! The host put together: the one place where the crates meet.

mod applier;
mod changes;
mod directories;
mod egress;
mod narrowing;
mod plan;
mod probe;
mod rehearsal;
mod reload;
mod running_plugin;
mod running_plugins;
mod settings;
mod successor;
mod trace;

use std::{
    net::SocketAddr,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use futures::future::join_all;
use informer_cache::{FactoryConfig, InformerFactory, Lister, SharedInformer};
use informer_dispatch::Backlog;
use informer_runtime::{Engine, EngineError, GuestThreads, LogSink};
use informer_types::{Gvr, Tracer};
use tokio::{
    signal::unix::Signal,
    time::{Instant, timeout_at},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    admin::{Admin, AdminBindError, Probe},
    config::{Config, StateDir},
    connect::{ConnectError, Connection, KubeClient, connect},
    logging::PluginLog,
    state::{KeyValues, State},
};
pub use changes::{Change, Report, Verdict};
pub use egress::EgressError;
pub use rehearsal::{check_watches, component_grants, engine_config, narrowed_watches};
pub use reload::ReloadRefused;
pub use running_plugin::SubscribeError;

use applier::Applier;
use directories::{Directories, look};
use egress::http_client;
use probe::HostProbe;
use reload::Reload;
use trace::Trace;

/// How long the last requests to the admin endpoint may take although the time to stop is over.
const ANSWERED_WITHIN: Duration = Duration::from_secs(1);

/// What a test or a demo puts in place of the ordinary.
#[derive(Clone)]
pub struct Options {
    /// None: what the configuration says.
    pub connection: Option<Connection>,
    /// Where the plugins' lines go.
    pub log: Arc<dyn LogSink>,
    /// The file that the configuration was read from: it is followed, and read again at a reload. None: the
    /// configuration stays what it is, and a reload looks at the components alone.
    pub file: Option<PathBuf>,
    /// What is changed in every configuration read from the file.
    pub adjust: fn(&mut Config),
}

/// Why the host does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// No client.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// No engine.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Plugins cannot be given HTTP.
    #[error(transparent)]
    Egress(#[from] EgressError),
    /// No threads for the plugins.
    #[error("no threads can be started for the plugins: {0}")]
    Threads(#[source] std::io::Error),
    /// No admin endpoint.
    #[error(transparent)]
    Admin(#[from] AdminBindError),
    /// A watch that cannot be subscribed to.
    #[error(transparent)]
    Subscribe(#[from] SubscribeError),
}

/// A running host.
pub struct App {
    factory: Arc<InformerFactory>,
    applier: Arc<Applier>,
    reload: Reload,
    state: State,
    /// None: nothing is remembered.
    trace: Option<Arc<Trace>>,
    /// Where plugins are called: their workers, loads and stops.
    guests: GuestThreads,
    admin: Option<Admin>,
    tasks: TaskTracker,
    /// Ends the background tasks, first of all.
    stop: CancellationToken,
    /// Ends the workers at once, at the deadline.
    abort: CancellationToken,
    /// Ends the admin endpoint, last of all.
    admin_stop: CancellationToken,
}

/// What was left when the host stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StopReport {
    /// By plugin, notifications that were not delivered. The objects are told again at the next start.
    pub undelivered: Vec<(String, Backlog)>,
}

// === impl Options ===

impl Default for Options {
    fn default() -> Self {
        Self { connection: None, log: Arc::new(PluginLog), file: None, adjust: |_| {} }
    }
}

// === impl App ===

impl App {
    /// Starts everything and returns at once: informers list, components are compiled, in the background. A plugin
    /// that cannot be loaded keeps the others from nothing; it is shown, and loaded once its file is mended. A
    /// resource that the server does not serve (yet) keeps nobody from anything; it is shown, and followed once its
    /// CRD is there. A watch runs if some plugin subscribes to it or may read it.
    ///
    /// # Errors
    /// [`StartError`] where nothing could run at all.
    pub async fn start(mut config: Config, options: Options) -> Result<Self, StartError> {
        // Before anything takes time: a change since the file was read is a change.
        let file = options.file.map(|file| std::path::absolute(&file).unwrap_or(file));
        let read = file.as_deref().map(look);
        (options.adjust)(&mut config);
        let connection = match options.connection {
            Some(connection) => connection,
            None => connect(&config.cluster.access).await?,
        };
        tracing::info!(server = %connection.server, watches = config.watches.len(), plugins = config.plugins.len(), "starting");
        let state = open_state(&config.host.state_dir).await;
        let engine = Engine::new(&settings::engine(&config.host))?;
        let api = Arc::new(KubeClient::new(connection.client.clone()));
        let http = http_client(&config.host, &connection.server).await?;
        let trace = NonZeroUsize::new(config.host.trace as usize).map(|steps| Arc::new(Trace::new(steps)));
        let tracer = trace.as_ref().map_or_else(Tracer::default, |trace| Tracer::new(Arc::clone(trace) as _));
        let server = connection.server;
        let settings = FactoryConfig { tracer: tracer.clone(), ..settings::factory(&config.cluster, server) };
        let factory = Arc::new(InformerFactory::new(connection.client, settings));
        let (stop, abort, tasks) = (CancellationToken::new(), CancellationToken::new(), TaskTracker::new());
        let guests = GuestThreads::start().map_err(StartError::Threads)?;
        let parts = running_plugin::Parts {
            engine,
            guests: guests.handle().clone(),
            factory: Arc::clone(&factory),
            api,
            log: options.log,
            keyvalue: Arc::new(KeyValues::new(state.clone())),
            http,
            directories: Directories::new(),
            stop: stop.clone(),
            abort: abort.clone(),
            state: state.clone(),
            tracer,
        };
        let started = (config.cluster.clone(), config.host.clone());
        let applier = Applier::new(Arc::new(parts), tasks.clone(), file.clone(), started);
        let (reload, reloader) = Reload::new(Arc::clone(&applier), file.zip(read), options.adjust);
        let address = config.host.admin;
        applier.apply(config).await?;
        let mut app = Self {
            factory,
            applier,
            reload,
            state,
            trace,
            guests,
            admin: None,
            tasks,
            stop,
            abort,
            admin_stop: CancellationToken::new(),
        };
        app.run_background(reloader);
        if let Some(address) = address {
            let admin = Admin::serve(address, Arc::new(app.probe()), app.admin_stop.clone()).await?;
            tracing::info!(address = %admin.address(), "the admin endpoint listens");
            app.admin = Some(admin);
        }
        Ok(app)
    }

    /// Where the admin endpoint listens, if it does.
    pub fn admin_address(&self) -> Option<SocketAddr> {
        self.admin.as_ref().map(Admin::address)
    }

    /// Reads the cache of one watched resource, in process; none where it is not watched (L-1). Where a changed watch is to
    /// take over, that of the one that serves until then.
    pub fn lister(&self, gvr: &Gvr) -> Option<Lister> {
        let mut informers = self.factory.superseded().into_iter().chain(self.factory.informers());
        informers.find(|informer| informer.key().gvr == *gvr).map(|informer| informer.lister())
    }

    /// Waits until every informer has synced and every plugin has a version in service. Where that cannot come
    /// about it waits for ever: see the status.
    ///
    /// # Cancel safety
    /// A dropped future changes nothing.
    pub async fn ready(&self) {
        join_all(self.applier.units().all().iter().map(|unit| unit.serving())).await;
        join_all(self.factory.informers().iter().map(SharedInformer::wait_synced)).await;
    }

    /// As [`App::ready`], and until every plugin has settled every initial notification (P-16).
    ///
    /// # Cancel safety
    /// A dropped future changes nothing.
    pub async fn synced(&self) {
        self.ready().await;
        join_all(self.applier.units().all().iter().map(|unit| unit.synced())).await;
    }

    /// The state of everything, as the admin endpoint shows it.
    pub fn probe(&self) -> impl Probe + use<> {
        HostProbe::new(
            Arc::clone(&self.factory),
            self.applier.units().clone(),
            self.state.clone(),
            self.reload.clone(),
            self.trace.clone(),
        )
    }

    /// Looks at the configuration's file and at every component again, or at the component of one plugin, and
    /// applies what changed: see [`Report`]. A version that was tried and failed is tried again.
    ///
    /// # Errors
    /// [`ReloadRefused`] where the host is stopping or too many wait. What is wrong with the files is in the report.
    ///
    /// # Cancel safety
    /// Once it was asked for it is done.
    pub async fn reload(&self, plugin: Option<String>) -> Result<Report, ReloadRefused> {
        self.reload.ask(plugin).await
    }

    /// Reloads at each of these signals, for ever.
    ///
    /// # Cancel safety
    /// A dropped future changes nothing.
    pub async fn reload_on_signals(&self, mut hangup: Signal) {
        while hangup.recv().await.is_some() {
            // What came of it is in the log.
            self.reload(None).await.ok();
        }
        std::future::pending::<()>().await;
    }

    /// Applies a configuration: starts, stops and changes what differs from the one in force, and nothing else.
    ///
    /// # Errors
    /// [`SubscribeError`] where the host is stopping.
    ///
    /// # Cancel safety
    /// Once its turn has come it goes on to its end; only nobody waits for the outcome.
    pub async fn apply(&self, config: Config) -> Result<Report, SubscribeError> {
        self.applier.apply(config).await
    }

    /// Stops in the order of the event flow: reflectors, then queues, which are drained, then instances, the admin
    /// endpoint last; all within the configured time.
    pub async fn stop(self) -> StopReport {
        let deadline = Instant::now() + self.applier.shutdown_timeout();
        self.stop.cancel();
        // Whatever is being applied ends first, and nothing is applied any more.
        let _held = timeout_at(deadline, self.applier.hold()).await;
        let units = self.applier.units().all();
        if timeout_at(deadline, self.factory.shutdown()).await.is_err() {
            tracing::error!("informers did not stop in time");
        }
        // It calls plugins, so not here.
        let stopping = async move { join_all(units.iter().map(|unit| unit.stop(deadline))).await };
        let left = self.guests.handle().spawn(stopping).await.unwrap_or_default();
        self.abort.cancel();
        self.tasks.close();
        if timeout_at(deadline, self.tasks.wait()).await.is_err() {
            tracing::error!("background tasks did not stop in time");
        }
        self.admin_stop.cancel();
        if let Some(admin) = self.admin {
            // Whoever does not finish what it asks is not waited for.
            admin.stopped(deadline.max(Instant::now() + ANSWERED_WITHIN)).await;
        }
        let undelivered: Vec<_> = left.into_iter().filter(|(_, backlog)| backlog.notifications > 0).collect();
        for (plugin, backlog) in &undelivered {
            tracing::warn!(plugin, notifications = backlog.notifications, objects = ?backlog.objects, "stopped before everything was delivered");
        }
        tracing::info!("stopped");
        StopReport { undelivered }
    }

    fn run_background(&self, reloader: reload::Reloader) {
        let (state, stop) = (self.state.clone(), self.stop.clone());
        self.tasks.spawn(async move { state.keep_open(stop).await });
        let stop = self.stop.clone();
        self.tasks.spawn(async move { stop.run_until_cancelled(reloader.run()).await });
    }
}

/// Opens the state; where that does not work the host runs without, and says so.
async fn open_state(directory: &StateDir) -> State {
    if *directory == StateDir::Nowhere {
        tracing::warn!(
            "neither [host] state-dir nor $XDG_STATE_HOME or $HOME says where the state is kept: what plugins keep, and \
             dead letters, end with this process; write state-dir, or \"off\" there if that is meant"
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

#[cfg(test)]
mod tests;
