//! A plugin: the version in service, its instances, and the swap of a reload.

mod stats;
mod version;

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use informer_types::{Delivery, EventHandler, Failure, FailureKind, Outcome};

pub use stats::PluginStats;
pub use version::VersionInfo;

use crate::{Component, Engine, LoadError, LogSink, PluginConfig, capabilities::ListerSource};
use stats::Counters;
use version::Version;

/// One plugin of the host, from its first load to its removal.
///
/// # Promises
/// A call that ends in a trap, a missed deadline or a refused allocation, and a call whose future is dropped,
/// costs its instance and nothing else. A reload swaps versions between two calls: calls in hand finish on the
/// old version, every later one starts on the new one, and a version that cannot be loaded changes nothing.
pub struct Plugin {
    engine: Engine,
    shared: Arc<Shared>,
    version: ArcSwapOption<Version>,
    /// One load at a time, so that the last one asked for is the one in service.
    loading: tokio::sync::Mutex<()>,
}

/// What all versions of a plugin share.
pub(crate) struct Shared {
    pub(crate) config: PluginConfig,
    pub(crate) lister: Arc<dyn ListerSource>,
    pub(crate) log: Arc<dyn LogSink>,
    pub(crate) counters: Counters,
}

// === impl Plugin ===

impl Plugin {
    /// A plugin without a version: deliveries fail until one is loaded.
    pub fn new(
        engine: Engine,
        config: PluginConfig,
        lister: Arc<dyn ListerSource>,
        log: Arc<dyn LogSink>,
    ) -> Self {
        let shared = Arc::new(Shared { config, lister, log, counters: Counters::default() });
        Self { engine, shared, version: ArcSwapOption::empty(), loading: tokio::sync::Mutex::default() }
    }

    /// The name in the configuration.
    pub fn name(&self) -> &str {
        &self.shared.config.name
    }

    /// Puts a component into service: checks it, links it, and starts a first instance; then swaps.
    ///
    /// # Errors
    /// [`LoadError`]; the version that served before goes on.
    ///
    /// # Cancel safety
    /// A dropped future has either swapped or changed nothing.
    pub async fn load(&self, component: &Component) -> Result<VersionInfo, LoadError> {
        let _one_at_a_time = self.loading.lock().await;
        component.check(&self.engine, &self.shared.config.grants)?;
        let version = Version::start(&self.engine, component, &self.shared).await?;
        let info = version.info().clone();
        if let Some(old) = self.version.swap(Some(Arc::new(version))) {
            old.retire().await;
        }
        Ok(info)
    }

    /// The version in service.
    pub fn version(&self) -> Option<VersionInfo> {
        self.version.load().as_ref().map(|version| version.info().clone())
    }

    /// What was counted since the plugin was made, over all versions.
    pub fn stats(&self) -> PluginStats {
        let idle = self.version.load().as_ref().map_or(0, |version| version.idle());
        self.shared.counters.snapshot(idle)
    }

    /// Drops instances that had no call for the idle timeout. Meant to be called now and then.
    pub async fn drop_idle(&self) {
        if let Some(version) = self.version.load_full() {
            version.drop_idle().await;
        }
    }

    /// Takes the plugin out of service: every idle instance is stopped; one with a call in hand is stopped after
    /// it.
    pub async fn unload(&self) {
        if let Some(old) = self.version.swap(None) {
            old.retire().await;
        }
    }

    async fn attempt(&self, delivery: &Delivery) -> Outcome {
        let Some(version) = self.version.load_full() else {
            let failure = Failure::new(FailureKind::Start, "the plugin has no working version");
            return Outcome::Retry { after: None, failure };
        };
        let mut instance = match version.lease().await {
            Ok(instance) => instance,
            Err(failure) => return Outcome::Retry { after: None, failure },
        };
        let called = instance.deliver(delivery).await;
        // A guest may survive a refused allocation; what state it is in then, nobody knows.
        let healthy = called.is_ok() && !instance.was_refused_memory();
        self.shared.counters.spent(instance.take_spent());
        if healthy {
            version.give_back(instance).await;
        } else {
            drop(instance);
            self.shared.counters.retired();
        }
        called.unwrap_or_else(|failure| Outcome::Retry { after: None, failure })
    }
}

impl EventHandler for Plugin {
    async fn handle(&self, delivery: Delivery) -> Outcome {
        let outcome = self.attempt(&delivery).await;
        self.shared.counters.called(&outcome);
        outcome
    }
}

impl std::fmt::Debug for Plugin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plugin")
            .field("name", &self.name())
            .field("version", &self.version())
            .finish_non_exhaustive()
    }
}
