//! The host put together: the one place where the crates meet.

mod rehearsal;
mod reload;
mod settings;
mod status;
mod unit;

use std::{collections::BTreeMap, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use futures::future::join_all;
use informer_cache::{InformerFactory, Lister, SharedInformer, WatchConfig};
use informer_dispatch::Backlog;
use informer_runtime::{Engine, EngineConfig, EngineError, LogSink};
use informer_types::Gvr;
use tokio::time::Instant;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use crate::egress::EgressError;
use crate::{
    admin::{Admin, AdminBindError, Probe},
    api_client::KubeClient,
    config::Config,
    connect::{ConnectError, Connection, connect},
    egress::http_client,
    plugin_log::PluginLog,
    state::{KeyValues, State},
};
pub use rehearsal::{check_watches, component_grants};

use reload::Reloader;
use status::HostProbe;
pub use unit::SubscribeError;
use unit::Unit;

/// What a test or a demo puts in place of the ordinary.
#[derive(Clone)]
pub struct Options {
    /// None: what the configuration says.
    pub connection: Option<Connection>,
    /// Where the plugins' lines go.
    pub log: Arc<dyn LogSink>,
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
    units: Arc<[Unit]>,
    state: State,
    admin: Option<Admin>,
    tasks: TaskTracker,
    /// Ends the background tasks, first of all.
    stop: CancellationToken,
    /// Ends the workers at once, at the deadline.
    abort: CancellationToken,
    /// Ends the admin endpoint, last of all.
    admin_stop: CancellationToken,
    shutdown_timeout: Duration,
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
        Self { connection: None, log: Arc::new(PluginLog) }
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
    pub async fn start(config: Config, options: Options) -> Result<Self, StartError> {
        let connection = match options.connection {
            Some(connection) => connection,
            None => connect(&config.cluster.access).await?,
        };
        tracing::info!(server = %connection.server, watches = config.watches.len(), plugins = config.plugins.len(), "starting");
        let state = open_state(config.host.state_dir.clone()).await;
        let engine = Engine::new(&EngineConfig { cache_dir: config.host.cache_dir.clone() })?;
        let api = Arc::new(KubeClient::new(connection.client.clone()));
        let http = http_client(&config.host, &connection.server).await?;
        let factory = Arc::new(InformerFactory::new(
            connection.client,
            settings::factory(&config.cluster, connection.server),
        ));
        let watches: BTreeMap<Gvr, WatchConfig> =
            config.watches.iter().map(|watch| (watch.gvr.clone(), settings::watch(watch))).collect();
        let abort = CancellationToken::new();
        let factory_of_units = Arc::clone(&factory);
        let parts = unit::Parts {
            engine,
            factory: factory_of_units,
            watches,
            api,
            log: options.log,
            keyvalue: Arc::new(KeyValues::new(state.clone())),
            http,
            abort: abort.clone(),
        };
        let units: Result<Vec<Unit>, _> =
            config.plugins.into_iter().map(|plugin| Unit::new(plugin, &parts)).collect();
        let units: Arc<[Unit]> = units?.into();
        warn_of_unused(&parts);
        let probe: Arc<dyn Probe> =
            Arc::new(HostProbe::new(Arc::clone(&factory), Arc::clone(&units), state.clone()));
        let admin_stop = CancellationToken::new();
        let admin = match config.host.admin {
            Some(address) => Some(Admin::serve(address, probe, admin_stop.clone()).await?),
            None => None,
        };
        if let Some(admin) = &admin {
            tracing::info!(address = %admin.address(), "the admin endpoint listens");
        }
        let app = Self {
            factory,
            units,
            state,
            admin,
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
            abort,
            admin_stop,
            shutdown_timeout: config.host.shutdown_timeout,
        };
        app.run_background();
        Ok(app)
    }

    /// Where the admin endpoint listens, if it does.
    pub fn admin_address(&self) -> Option<SocketAddr> {
        self.admin.as_ref().map(Admin::address)
    }

    /// Reads the cache of one watched resource, in process; none where it is not watched (L-1).
    pub fn lister(&self, gvr: &Gvr) -> Option<Lister> {
        let informers = self.factory.informers();
        informers.iter().find(|informer| informer.key().gvr == *gvr).map(SharedInformer::lister)
    }

    /// Waits until every informer has synced and every plugin has a version in service. Where that cannot come
    /// about it waits for ever: see the status.
    ///
    /// # Cancel safety
    /// A dropped future changes nothing.
    pub async fn ready(&self) {
        join_all(self.units.iter().map(Unit::serving)).await;
        join_all(self.factory.informers().iter().map(SharedInformer::wait_synced)).await;
    }

    /// As [`App::ready`], and until every plugin has settled every initial notification (P-16).
    ///
    /// # Cancel safety
    /// A dropped future changes nothing.
    pub async fn synced(&self) {
        self.ready().await;
        join_all(self.units.iter().map(Unit::synced)).await;
    }

    /// The state of everything, as the admin endpoint shows it.
    pub fn probe(&self) -> impl Probe + use<> {
        HostProbe::new(Arc::clone(&self.factory), Arc::clone(&self.units), self.state.clone())
    }

    /// Stops in the order of the event flow: reflectors, then queues, which are drained, then instances, the admin
    /// endpoint last; all within the configured time.
    pub async fn stop(self) -> StopReport {
        let deadline = Instant::now() + self.shutdown_timeout;
        self.stop.cancel();
        if tokio::time::timeout_at(deadline, self.factory.shutdown()).await.is_err() {
            tracing::error!("informers did not stop in time");
        }
        let left = join_all(self.units.iter().map(|unit| unit.stop(deadline))).await;
        self.abort.cancel();
        self.tasks.close();
        if tokio::time::timeout_at(deadline, self.tasks.wait()).await.is_err() {
            tracing::error!("background tasks did not stop in time");
        }
        self.admin_stop.cancel();
        if let Some(admin) = self.admin {
            admin.stopped().await;
        }
        let undelivered: Vec<_> = left.into_iter().filter(|(_, backlog)| backlog.notifications > 0).collect();
        for (plugin, backlog) in &undelivered {
            tracing::warn!(plugin, notifications = backlog.notifications, objects = ?backlog.objects, "stopped before everything was delivered");
        }
        tracing::info!("stopped");
        StopReport { undelivered }
    }

    fn run_background(&self) {
        for index in 0..self.units.len() {
            let (units, stop) = (Arc::clone(&self.units), self.stop.clone());
            self.tasks.spawn(async move {
                if let Some(unit) = units.get(index) {
                    stop.run_until_cancelled(unit.open()).await;
                }
            });
        }
        let (state, stop) = (self.state.clone(), self.stop.clone());
        self.tasks.spawn(async move { state.keep_open(stop).await });
        let reloader = Reloader::new(Arc::clone(&self.units));
        let stop = self.stop.clone();
        self.tasks.spawn(async move { stop.run_until_cancelled(reloader.run()).await });
        let (units, stop) = (Arc::clone(&self.units), self.stop.clone());
        self.tasks.spawn(async move {
            join_all(units.iter().map(|unit| unit.plugin().expire_idle(stop.clone()))).await;
        });
    }
}

/// Opens the state; where that does not work the host runs without, and says so.
async fn open_state(directory: Option<PathBuf>) -> State {
    let opening = tokio::task::spawn_blocking(move || State::open(directory.as_deref()));
    // Opening does not panic.
    opening.await.unwrap_or_else(|_| State::open(None))
}

/// A watch that no plugin uses costs nothing, and says so.
fn warn_of_unused(parts: &unit::Parts) {
    let used = parts.factory.informers();
    for gvr in parts.watches.keys().filter(|gvr| used.iter().all(|informer| informer.key().gvr != **gvr)) {
        tracing::warn!(resource = %gvr, "no plugin subscribes to this watch or may read it, so it is not started");
    }
}

impl std::fmt::Debug for App {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("App").field("factory", &self.factory).finish_non_exhaustive()
    }
}
