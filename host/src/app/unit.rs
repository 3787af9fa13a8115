//! One plugin with everything that belongs to it: listeners, queue, workers, versions.

use std::{path::Path, sync::Arc};

use futures::future::join_all;
use informer_cache::{InformerStopped, Registration, SharedInformer};
use informer_dispatch::{Backlog, DispatchConfig, Dispatcher, DispatcherHandle, Queue, QueueConfig};
use informer_runtime::{
    Component, Engine, LoadError, LogSink, Plugin, VersionInfo, capabilities::ListerSource,
};
use parking_lot::Mutex;
use tokio::{sync::watch, time::Instant};
use tokio_util::sync::CancellationToken;

use super::settings;
use crate::{
    config::{self, Initial},
    wiring::SubscriptionFilter,
};

/// What all plugins of a host are made from.
pub(super) struct Parts {
    pub(super) engine: Engine,
    pub(super) informers: Vec<SharedInformer>,
    pub(super) lister: Arc<dyn ListerSource>,
    pub(super) log: Arc<dyn LogSink>,
    pub(super) abort: CancellationToken,
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
    informers: Vec<SharedInformer>,
    registrations: Vec<Registration>,
    /// True once a version is in service; it stays so.
    loaded: watch::Sender<bool>,
    /// True once calls are made.
    serving: watch::Sender<bool>,
    /// Why the last load failed; none once one succeeded.
    refused: Mutex<Option<String>>,
}

// === impl Unit ===

impl Unit {
    pub(super) fn new(config: config::Plugin, parts: &Parts) -> Result<Self, InformerStopped> {
        let plugin = Arc::new(Plugin::new(
            parts.engine.clone(),
            settings::plugin(&config),
            Arc::clone(&parts.lister),
            Arc::clone(&parts.log),
        ));
        let queue = Queue::new(&QueueConfig::default());
        queue.pause();
        let dispatch = DispatchConfig {
            plugin: config.name.as_str().into(),
            workers: config.queue.workers,
            retry: settings::retry(&config.retry),
        };
        let dispatcher = Dispatcher::spawn(dispatch, queue.clone(), Arc::clone(&plugin), &parts.abort);
        let mut informers = Vec::new();
        let mut registrations = Vec::new();
        for subscription in &config.subscriptions {
            let wanted = |informer: &&SharedInformer| informer.key().gvr == subscription.watch;
            // The configuration was checked: every subscription names a watch.
            let Some(informer) = parts.informers.iter().find(wanted) else { continue };
            let deliver_initial = subscription.initial == Initial::Deliver;
            let sink = SubscriptionFilter::new(subscription.events, deliver_initial, queue.clone());
            let listener = settings::listener(&config.name, subscription);
            registrations.push(informer.add_listener(listener, Arc::new(sink))?);
            informers.push(informer.clone());
        }
        Ok(Self {
            config,
            engine: parts.engine.clone(),
            plugin,
            queue,
            dispatcher: Mutex::new(Some(dispatcher)),
            informers,
            registrations,
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

    /// Why the last load failed, if it did.
    pub(super) fn refused(&self) -> Option<String> {
        self.refused.lock().clone()
    }

    /// Waits until there is something to call and the caches are complete; then lets the calls begin.
    pub(super) async fn open(&self) {
        let mut loaded = self.loaded.subscribe();
        join_all(self.informers.iter().map(SharedInformer::wait_synced)).await;
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
