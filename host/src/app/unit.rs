//! One plugin with everything that belongs to it: listeners, queue, workers, versions.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use futures::future::join_all;
use informer_cache::{
    FactoryStopped, InformerFactory, InformerStopped, Registration, Subscription, WatchConfig,
};
use informer_dispatch::{
    Backlog, DispatchConfig, Dispatcher, DispatcherHandle, Filter, FilterStats, Queue, QueueConfig,
};
use informer_runtime::{
    Component, Engine, LoadError, LogSink, Plugin, Sources, VersionInfo,
    capabilities::{ApiClient, ClientSource, HttpClient, KeyValueSource},
};
use informer_types::{Gvr, ReadGrants};
use parking_lot::Mutex;
use tokio::{sync::watch, time::Instant};
use tokio_util::sync::CancellationToken;

use super::settings;
use crate::{config, config_files::ConfigFiles, wiring::CacheLister};

/// What all plugins of a host are made from.
pub(super) struct Parts {
    pub(super) engine: Engine,
    pub(super) factory: Arc<InformerFactory>,
    /// Every `[[watch]]`.
    pub(super) watches: BTreeMap<Gvr, WatchConfig>,
    /// Where the plugins' requests go.
    pub(super) api: Arc<dyn ApiClient>,
    pub(super) log: Arc<dyn LogSink>,
    pub(super) keyvalue: Arc<dyn KeyValueSource>,
    pub(super) http: HttpClient,
    pub(super) abort: CancellationToken,
}

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
pub(super) struct Unit {
    config: config::Plugin,
    engine: Engine,
    plugin: Arc<Plugin>,
    queue: Queue,
    /// Taken at the stop.
    dispatcher: Mutex<Option<DispatcherHandle>>,
    /// What it hears of and what it may read: the informers run while some plugin has a claim (D-12).
    subscriptions: BTreeMap<Gvr, Subscription>,
    registrations: Vec<Registration>,
    /// By the resource that each is about.
    filters: Vec<(Gvr, Arc<Filter<Queue>>)>,
    /// True once a version is in service; it stays so.
    loaded: watch::Sender<bool>,
    /// True once calls are made.
    serving: watch::Sender<bool>,
    /// Why the last load failed; none once one succeeded.
    refused: Mutex<Option<String>>,
}

// === impl Parts ===

impl Parts {
    /// One claim on each informer that the plugin hears of or may read. The configuration was checked: all of them
    /// are watched.
    fn subscribe(&self, config: &config::Plugin) -> Result<BTreeMap<Gvr, Subscription>, FactoryStopped> {
        let heard = config.subscriptions.iter().map(|on| &on.watch);
        let wanted = heard.chain(config.grants.read.iter().flat_map(ReadGrants::gvrs));
        let mut subscriptions = BTreeMap::new();
        for gvr in wanted {
            if let Some(watch) = self.watches.get(gvr).filter(|_| !subscriptions.contains_key(gvr)) {
                subscriptions.insert(gvr.clone(), self.factory.subscribe(watch.clone())?);
            }
        }
        Ok(subscriptions)
    }
}

// === impl Unit ===

impl Unit {
    pub(super) fn new(config: config::Plugin, parts: &Parts) -> Result<Self, SubscribeError> {
        let subscriptions = parts.subscribe(&config)?;
        let caches = subscriptions.iter().map(|(gvr, held)| (gvr.clone(), held.informer().clone()));
        let plugin = Arc::new(Plugin::new(
            parts.engine.clone(),
            settings::plugin(&config),
            Sources {
                lister: Arc::new(CacheLister::new(caches)),
                client: ClientSource::new(Arc::clone(&parts.api), event_instance()),
                http: parts.http.clone(),
                log: Arc::clone(&parts.log),
                keyvalue: Arc::clone(&parts.keyvalue),
                config: Arc::new(ConfigFiles::new(config.config_files.clone())),
            },
        ));
        let queue = Queue::new(&settings::queue(&config));
        queue.pause();
        let dispatch = DispatchConfig {
            plugin: config.name.as_str().into(),
            workers: config.queue.workers,
            retry: settings::retry(&config.retry),
        };
        let dispatcher = Dispatcher::spawn(dispatch, queue.clone(), Arc::clone(&plugin), &parts.abort);
        let (mut registrations, mut filters) = (Vec::new(), Vec::new());
        for on in &config.subscriptions {
            let Some(subscription) = subscriptions.get(&on.watch) else { continue };
            let filter = Arc::new(Filter::new(settings::filter(on), queue.clone()));
            let listener = settings::listener(&config.name, on);
            registrations.push(subscription.add_listener(listener, Arc::clone(&filter) as _)?);
            filters.push((on.watch.clone(), filter));
        }
        Ok(Self {
            config,
            engine: parts.engine.clone(),
            plugin,
            queue,
            dispatcher: Mutex::new(Some(dispatcher)),
            subscriptions,
            registrations,
            filters,
            loaded: watch::Sender::new(false),
            serving: watch::Sender::new(false),
            refused: Mutex::new(None),
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.config.name
    }

    pub(super) fn source(&self) -> &Path {
        &self.config.source
    }

    pub(super) fn plugin(&self) -> &Plugin {
        &self.plugin
    }

    pub(super) fn queue(&self) -> &Queue {
        &self.queue
    }

    /// What each of its subscriptions let through.
    pub(super) fn filters(&self) -> impl Iterator<Item = (&Gvr, FilterStats)> {
        self.filters.iter().map(|(gvr, filter)| (gvr, filter.stats()))
    }

    /// What its queue was told to do.
    pub(super) fn queue_config(&self) -> QueueConfig {
        settings::queue(&self.config)
    }

    /// Why the last load failed, if it did.
    pub(super) fn refused(&self) -> Option<String> {
        self.refused.lock().clone()
    }

    /// Waits until there is something to call and the caches of what it hears of and of what it may read are complete;
    /// then lets the calls begin. A resource that the server does not serve has nothing to wait for.
    pub(super) async fn open(&self) {
        let mut loaded = self.loaded.subscribe();
        join_all(
            self.subscriptions.values().map(|subscription| subscription.informer().wait_synced_or_unserved()),
        )
        .await;
        if loaded.wait_for(|loaded| *loaded).await.is_ok() {
            self.queue.resume();
            self.serving.send_replace(true);
        }
    }

    /// Waits until calls are made.
    pub(super) async fn serving(&self) {
        // The sender lives as long as `self`: it cannot be gone.
        self.serving.subscribe().wait_for(|serving| *serving).await.ok();
    }

    /// Waits until every initial notification is settled.
    pub(super) async fn synced(&self) {
        join_all(self.registrations.iter().map(Registration::wait_synced)).await;
    }

    /// Puts the file's present content into service, unless it is in service already. On any failure the version
    /// in service goes on.
    pub(super) async fn load(&self) {
        let first = !*self.loaded.borrow();
        match self.try_load().await {
            Ok(None) => {
                *self.refused.lock() = None;
            }
            Ok(Some(version)) => {
                *self.refused.lock() = None;
                self.loaded.send_replace(true);
                self.queue.probe_now();
                let what = if first { "plugin loaded" } else { "plugin reloaded" };
                let VersionInfo { name, version, sdk, digest, .. } = version;
                tracing::info!(plugin = self.name(), guest = name, version, sdk, %digest, "{what}");
            }
            Err(error) => {
                let what = if first {
                    "the plugin cannot be loaded; mend its file and it is tried again"
                } else {
                    "the changed component is refused; the version in service goes on"
                };
                tracing::error!(plugin = self.name(), source = %self.source().display(), %error, "{what}");
                *self.refused.lock() = Some(error.to_string());
            }
        }
    }

    async fn try_load(&self) -> Result<Option<VersionInfo>, LoadError> {
        let component = Component::from_file(&self.engine, self.source()).await?;
        let in_service = self.plugin.version();
        if in_service.is_some_and(|version| *version.digest == *component.digest()) {
            return Ok(None);
        }
        self.plugin.load(&component).await.map(Some)
    }

    /// Delivers what is left, until the deadline, and ends. Nothing is offered any more by then.
    pub(super) async fn stop(&self, deadline: Instant) -> (String, Backlog) {
        let dispatcher = self.dispatcher.lock().take();
        let backlog = match dispatcher {
            Some(dispatcher) => dispatcher.drain(deadline.saturating_duration_since(Instant::now())).await,
            None => Backlog::default(),
        };
        self.plugin.unload().await;
        (self.name().to_owned(), backlog)
    }
}

/// Which of several hosts recorded an Event: in a cluster, the name of the pod.
fn event_instance() -> String {
    std::env::var("HOSTNAME").ok().filter(|name| !name.is_empty()).unwrap_or_else(|| "informer".to_owned())
}
