//! A plugin: the version in service, and the swap of a reload.

mod version;

use std::{sync::Arc, time::Duration};

use arc_swap::ArcSwapOption;
use informer_types::{Delivery, EventHandler, Failure, FailureKind, Outcome};
use tokio::{
    sync::{Mutex, Semaphore},
    time::{MissedTickBehavior, interval},
};
use tokio_util::sync::CancellationToken;

pub use version::VersionInfo;

use crate::{
    Component, Engine, InstancePolicy, LoadError, PluginConfig, PluginStats, Sources, instance::Instance,
    stats::Counters,
};
use version::Version;

/// How often idle instances are looked for at most and at least, whatever the idle timeout.
const IDLE_CHECKS: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(60));

/// Keeps the sum of now and the deadline within what a clock can tell.
const LONGEST_DEADLINE: Duration = Duration::from_secs(24 * 60 * 60);

/// One plugin of the host, from its first load to its removal.
///
/// # Promises
/// A call that ends in a trap, a missed deadline or a refused allocation, and a call whose future is dropped,
/// costs its instance and nothing else. A reload swaps versions between two calls: calls in hand finish on the
/// old version, every later one starts on the new one, and a version that cannot be loaded changes nothing.
///
/// As many calls run at a time as [`PluginConfig::instances`] says; more wait, first come first served, for as long
/// as their callers like.
pub struct Plugin {
    engine: Engine,
    shared: Arc<Shared>,
    version: ArcSwapOption<Version>,
    /// One for each call that may run.
    calls: Semaphore,
    /// One load at a time, so that the last one asked for is the one in service.
    loading: Mutex<()>,
}

/// What all versions of a plugin share.
struct Shared {
    config: Arc<PluginConfig>,
    sources: Sources,
    counters: Arc<Counters>,
}

// === impl Plugin ===

impl Plugin {
    /// A plugin without a version: deliveries fail with [`FailureKind::Start`] until one is loaded.
    pub fn new(engine: Engine, mut config: PluginConfig, sources: Sources) -> Self {
        config.limits.deadline = config.limits.deadline.min(LONGEST_DEADLINE);
        let calls = Semaphore::new(config.instances.get().min(Semaphore::MAX_PERMITS));
        let shared = Shared { config: Arc::new(config), sources, counters: Arc::default() };
        let version = ArcSwapOption::empty();
        Self { engine, shared: Arc::new(shared), version, calls, loading: Mutex::default() }
    }

    /// The name in the configuration.
    pub fn name(&self) -> &str {
        &self.shared.config.name
    }

    /// Puts a component into service: checks and links it, makes a first instance, asks it who it is and starts it,
    /// and then swaps. The idle instances of the version before are stopped.
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

    /// Takes the plugin out of service: every idle instance is stopped, and one with a call in hand after it.
    pub async fn unload(&self) {
        let _one_at_a_time = self.loading.lock().await;
        if let Some(old) = self.version.swap(None) {
            old.retire().await;
        }
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

    /// Stops instances that had no call for the idle timeout, until `stop` is cancelled. To be run beside the
    /// deliveries; without it, idle instances stay. Returns at once where instances are never kept.
    pub async fn expire_idle(&self, stop: CancellationToken) {
        let InstancePolicy::Warm { idle_timeout, .. } = self.shared.config.instance else { return };
        let (shortest, longest) = IDLE_CHECKS;
        let mut checks = interval((idle_timeout / 2).clamp(shortest, longest));
        checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let expire = async {
            loop {
                checks.tick().await;
                if let Some(version) = self.version.load_full() {
                    version.drop_idle(idle_timeout).await;
                }
            }
        };
        stop.run_until_cancelled(expire).await;
    }

    /// An instance, and the version it is given back to.
    async fn lease(&self) -> Result<(Arc<Version>, Instance), Failure> {
        loop {
            let Some(version) = self.version.load_full() else {
                return Err(Failure::new(FailureKind::Start, "no version of the plugin is loaded"));
            };
            // None: it was retired since, so there is another one.
            if let Some(instance) = version.lease().await? {
                return Ok((version, instance));
            }
        }
    }

    async fn attempt(&self, delivery: &Delivery) -> Result<Outcome, Failure> {
        // Never closed.
        let _permit = self.calls.acquire().await;
        let (version, mut instance) = self.lease().await?;
        let outcome = instance.deliver(delivery).await.map_err(|failure| {
            let notification = &delivery.notification;
            let (verb, gvr, key) = (notification.change.verb(), &notification.source, notification.key());
            Failure::new(failure.kind, format!("{verb} of {gvr} {key}: {}", failure.message))
        })?;
        if instance.usable() {
            version.give_back(instance).await;
        }
        Ok(outcome)
    }
}

impl EventHandler for Plugin {
    async fn handle(&self, delivery: Delivery) -> Outcome {
        let outcome = self.attempt(&delivery).await;
        let outcome = outcome.unwrap_or_else(|failure| Outcome::Retry { after: None, failure });
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
