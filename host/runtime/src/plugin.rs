//! A plugin: the version in service, and the swap of a reload.

mod slots;
mod trial;
mod version;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use arc_swap::{ArcSwap, ArcSwapOption};
use informer_types::{
    Delivery, EventHandler, Failure, FailureKind, Outcome, Reconciled, Reconciler, Request,
};
use tokio::{
    sync::{Mutex, watch},
    time::sleep,
};
use tokio_util::sync::CancellationToken;

pub use version::VersionInfo;

use crate::{
    Component, Engine, InstancePolicy, LoadError, PluginConfig, PluginStats, Sources,
    capabilities::MetricFamily,
    instance::Instance,
    schedule::{Lane, by_turns},
    stats::Counters,
};
use slots::Slots;
use trial::LastGood;
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
    name: Arc<str>,
    /// What the next version is started with; each version keeps what it was started with itself.
    shared: ArcSwap<Shared>,
    version: ArcSwapOption<Version>,
    rejected: parking_lot::Mutex<Option<Rejected>>,
    swaps: watch::Sender<u64>,
    /// One load at a time, so that the last one asked for is the one in service.
    loading: Mutex<()>,
}

/// What the versions of a plugin share; only the configuration differs.
#[derive(Clone)]
struct Shared {
    config: Arc<PluginConfig>,
    sources: Sources,
    counters: Arc<Counters>,
    slots: Arc<Slots>,
    lane: Arc<Lane>,
}

/// A version that took over and was taken out of service again, because its first calls failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// Lower-case hex of the SHA-256 of the component.
    pub digest: Arc<str>,
    /// How many calls of how many, and the last failure.
    pub why: String,
}

// === impl Plugin ===

impl Plugin {
    /// A plugin without a version: deliveries fail with [`FailureKind::Start`] until one is loaded.
    pub fn new(engine: Engine, mut config: PluginConfig, sources: Sources) -> Self {
        config.limits.deadline = config.limits.deadline.min(LONGEST_DEADLINE);
        let slots = Arc::new(Slots::new(config.instances.get()));
        let counters = Arc::<Counters>::default();
        let lane = Arc::new(Lane::new(&engine.turnstile, config.limits.cpu, Arc::clone(&counters)));
        let shared = Shared { config: Arc::new(config), sources, counters, slots, lane };
        Self {
            engine,
            name: Arc::clone(&shared.config.name),
            shared: ArcSwap::from_pointee(shared),
            version: ArcSwapOption::empty(),
            rejected: parking_lot::Mutex::default(),
            swaps: watch::Sender::new(0),
            loading: Mutex::default(),
        }
    }

    /// The name in the configuration.
    pub fn name(&self) -> &str {
        &self.name
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
        self.put_into_service(component, &self.shared.load_full()).await
    }

    /// Changes everything about the plugin but its name, its code and what the process lends to it. Where an instance
    /// could tell the difference, the component in service is started aside with the new configuration, and swapped
    /// as [`load`](Self::load) does: its version is returned. Else the change takes effect at once.
    ///
    /// # Errors
    /// [`LoadError`]; the version that served before goes on as it was configured, and the next [`load`](Self::load)
    /// uses the new configuration. Where that version may do what the new grants do not allow any more, it is taken
    /// out of service instead: what was revoked is revoked.
    ///
    /// # Cancel safety
    /// A dropped future has changed nothing, or what the next load uses, or everything.
    pub async fn configure(&self, mut config: PluginConfig) -> Result<Option<VersionInfo>, LoadError> {
        let _one_at_a_time = self.loading.lock().await;
        config.limits.deadline = config.limits.deadline.min(LONGEST_DEADLINE);
        config.name = Arc::clone(&self.name);
        let before = self.shared.load_full();
        before.slots.resize(config.instances.get());
        before.lane.limit(config.limits.cpu);
        let shared = Arc::new(Shared { config: Arc::new(config), ..Shared::clone(&before) });
        self.shared.store(Arc::clone(&shared));
        let Some(version) = self.version.load_full().filter(|version| !version.serves(&shared.config)) else {
            return Ok(None);
        };
        let configured = self.put_into_service(version.component(), &shared).await;
        if configured.is_err() && !shared.config.grants.cover(version.grants()) {
            self.take_out_of_service().await;
        }
        configured.map(Some)
    }

    /// True where the version in service was not started with the configuration in force, because it could not be.
    pub fn is_outdated(&self) -> bool {
        let wanted = self.shared.load();
        self.version.load().as_ref().is_some_and(|version| !version.serves(&wanted.config))
    }

    /// The version that the plugin went back from, unless another one took over since.
    pub fn rejected(&self) -> Option<Rejected> {
        self.rejected.lock().clone()
    }

    /// Forgets which version was rejected: nobody asks for it any more.
    pub fn pardon(&self) {
        self.rejected.lock().take();
    }

    /// How many versions have been put into service, those that were returned to included.
    pub fn swaps(&self) -> watch::Receiver<u64> {
        self.swaps.subscribe()
    }

    async fn put_into_service(
        &self,
        component: &Component,
        shared: &Arc<Shared>,
    ) -> Result<VersionInfo, LoadError> {
        component.check(&self.engine, &shared.config.grants)?;
        let last_good = self.version.load().as_ref().map(|version| version.last_good());
        let last_good = last_good.filter(|good| good.differs(component, &shared.config));
        // Boxed: it is rare, and would make every future that loads as large.
        let start = Box::pin(Version::start(&self.engine, component, shared, last_good));
        let version = self.by_turns(start).await?;
        let info = version.info().clone();
        self.rejected.lock().take();
        let old = self.version.swap(Some(Arc::new(version)));
        self.swaps.send_modify(|swaps| *swaps += 1);
        if let Some(old) = old {
            self.by_turns(old.retire()).await;
        }
        Ok(info)
    }

    /// Takes a version out of service that failed its trial, and puts the last good one in its place.
    async fn go_back(&self, failed: &Arc<Version>, last_good: LastGood, why: String) {
        let _one_at_a_time = self.loading.lock().await;
        let in_service = self.version.load_full();
        if !in_service.is_some_and(|version| Arc::ptr_eq(&version, failed)) {
            return;
        }
        let plugin = self.name();
        let LastGood { component, config_json } = last_good;
        let now = self.shared.load_full();
        // Nothing else is as it was: what was revoked or limited since stays so.
        let config = Arc::new(PluginConfig { config_json, ..PluginConfig::clone(&now.config) });
        let shared = Arc::new(Shared { config, ..Shared::clone(&now) });
        let started = match component.check(&self.engine, &shared.config.grants) {
            Ok(()) => Version::start(&self.engine, &component, &shared, None).await,
            Err(error) => Err(error),
        };
        match started {
            Ok(version) => {
                let digest = Arc::clone(&failed.info().digest);
                tracing::error!(plugin, refused = %digest, in_service = %version.info().digest, why, "the new version fails; the last good one is back");
                shared.counters.went_back();
                *self.rejected.lock() = Some(Rejected { digest, why });
                self.version.store(Some(Arc::new(version)));
                self.swaps.send_modify(|swaps| *swaps += 1);
                failed.retire().await;
            }
            Err(error) => {
                tracing::error!(plugin, why, %error, "the new version fails, and the one before does not start any more; the new one goes on");
            }
        }
    }

    /// Takes the plugin out of service: every idle instance is stopped, and one with a call in hand after it.
    ///
    /// # Cancel safety
    /// A dropped future has taken it out of service, or has not begun; instances that were not stopped yet are dropped.
    pub async fn unload(&self) {
        let _one_at_a_time = self.loading.lock().await;
        self.take_out_of_service().await;
    }

    async fn take_out_of_service(&self) {
        if let Some(old) = self.version.swap(None) {
            self.by_turns(old.retire()).await;
        }
    }

    /// The version in service.
    pub fn version(&self) -> Option<VersionInfo> {
        self.version.load().as_ref().map(|version| version.info().clone())
    }

    /// The metrics that the guest measures itself, over all versions.
    pub fn metrics(&self) -> Vec<MetricFamily> {
        self.shared.load().counters.metrics.families()
    }

    /// True where the version in service takes keys only: whoever delivers enqueues the key instead of calling.
    pub fn only_reconciles(&self) -> bool {
        self.version.load().as_ref().is_some_and(|version| !version.info().handles)
    }

    /// True where the version in service takes keys.
    pub fn reconciles(&self) -> bool {
        self.version.load().as_ref().is_some_and(|version| version.info().reconciles)
    }

    /// What was counted since the plugin was made, over all versions.
    pub fn stats(&self) -> PluginStats {
        let idle = self.version.load().as_ref().map_or(0, |version| version.idle());
        let shared = self.shared.load();
        PluginStats {
            swaps: *self.swaps.borrow(),
            turns_let_pass: shared.lane.turns_let_pass(),
            ..shared.counters.snapshot(idle)
        }
    }

    /// Stops instances that had no call for the idle timeout, until `stop` is cancelled. To be run beside the
    /// deliveries; without it, idle instances stay.
    pub async fn expire_idle(&self, stop: CancellationToken) {
        let (shortest, longest) = IDLE_CHECKS;
        let expire = async {
            loop {
                // Looked at each time: a reload may change it.
                let idle_timeout = match &self.shared.load().config.instance {
                    InstancePolicy::Warm { idle_timeout, .. } => Some(*idle_timeout),
                    InstancePolicy::Fresh => None,
                };
                sleep(idle_timeout.map_or(longest, |timeout| (timeout / 2).clamp(shortest, longest))).await;
                if let Some((version, timeout)) = self.version.load_full().zip(idle_timeout) {
                    self.by_turns(version.drop_idle(timeout)).await;
                }
            }
        };
        stop.run_until_cancelled(expire).await;
    }

    /// Whatever runs guests, or makes or ends instances.
    async fn by_turns<T>(&self, work: impl Future<Output = T>) -> T {
        let lane = Arc::clone(&self.shared.load().lane);
        by_turns(&lane, work).await
    }

    /// The version in service, and an instance of it, which is given back to it.
    async fn lease(&self) -> Result<(Arc<Version>, Result<Instance, Failure>), Failure> {
        loop {
            let Some(version) = self.version.load_full() else {
                return Err(Failure::new(FailureKind::Start, "no version of the plugin is loaded"));
            };
            // None: it was retired since, so there is another one.
            if let Some(instance) = version.lease().await.transpose() {
                return Ok((version, instance));
            }
        }
    }

    /// Counts a call that ended.
    fn called(&self, begun: Instant, failure: Option<&Failure>) {
        let shared = self.shared.load();
        shared.counters.called(failure);
        shared.counters.durations.observe(begun.elapsed());
    }

    async fn attempt(&self, delivery: &Delivery) -> Result<Outcome, Failure> {
        let shared = self.shared.load_full();
        let _slot = shared.slots.acquire(&shared.counters).await;
        self.by_turns(self.call(delivery)).await
    }

    async fn attempt_key(&self, request: &Request) -> Result<Reconciled, Failure> {
        let shared = self.shared.load_full();
        let _slot = shared.slots.acquire(&shared.counters).await;
        self.by_turns(self.call_key(request)).await
    }

    async fn call(&self, delivery: &Delivery) -> Result<Outcome, Failure> {
        let (version, instance) = self.lease().await?;
        let outcome = match instance {
            Ok(instance) => deliver(&version, instance, delivery).await,
            Err(failure) => Err(failure),
        };
        self.judge(&version, outcome.as_ref().err()).await;
        outcome
    }

    async fn call_key(&self, request: &Request) -> Result<Reconciled, Failure> {
        let (version, instance) = self.lease().await?;
        let reconciled = match instance {
            Ok(instance) => reconcile(&version, instance, request).await,
            Err(failure) => Err(failure),
        };
        self.judge(&version, reconciled.as_ref().err()).await;
        reconciled
    }

    /// Counts a call of a version on trial, and goes back where that decides against it.
    async fn judge(&self, version: &Arc<Version>, failure: Option<&Failure>) {
        if let Some((last_good, why)) = version.judge(failure) {
            Box::pin(self.go_back(version, last_good, why)).await;
        }
    }
}

async fn deliver(version: &Version, mut instance: Instance, delivery: &Delivery) -> Result<Outcome, Failure> {
    let outcome = instance.deliver(delivery).await;
    if instance.usable() {
        version.give_back(instance).await;
    }
    outcome.map_err(|failure| {
        let notification = &delivery.notification;
        let (verb, gvr, key) = (notification.change.verb(), &notification.source, notification.key());
        Failure::new(failure.kind, format!("{verb} of {gvr} {key}: {}", failure.message))
    })
}

async fn reconcile(
    version: &Version,
    mut instance: Instance,
    request: &Request,
) -> Result<Reconciled, Failure> {
    let reconciled = instance.reconcile(request).await;
    if instance.usable() {
        version.give_back(instance).await;
    }
    reconciled.map_err(|failure| {
        Failure::new(failure.kind, format!("reconcile of {}: {}", request.key, failure.message))
    })
}

impl EventHandler for Plugin {
    async fn handle(&self, delivery: Delivery) -> Outcome {
        let begun = Instant::now();
        self.shared.load().counters.queued.observe(delivery.queued);
        let outcome = self.attempt(&delivery).await;
        let outcome = outcome.unwrap_or_else(|failure| Outcome::Retry { after: None, failure });
        let failure = match &outcome {
            Outcome::Acknowledged => None,
            Outcome::Retry { failure, .. } | Outcome::Permanent { failure } => Some(failure),
        };
        self.called(begun, failure);
        outcome
    }
}

impl Reconciler for Plugin {
    async fn reconcile(&self, request: Request) -> Reconciled {
        let begun = Instant::now();
        let reconciled = self.attempt_key(&request).await;
        let reconciled = reconciled.unwrap_or_else(|failure| Reconciled::Retry { failure });
        let failure = match &reconciled {
            Reconciled::Retry { failure } | Reconciled::Terminal { failure } => Some(failure),
            Reconciled::Done | Reconciled::Requeue | Reconciled::RequeueAfter(_) => None,
        };
        self.called(begun, failure);
        reconciled
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
