//! A plugin: the version in service, and the swap of a reload.

mod reload;
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
    sync::{Mutex, Notify, watch},
    time::sleep,
};
use tokio_util::sync::CancellationToken;

pub use version::VersionInfo;

use crate::{
    Engine, InstancePolicy, PluginConfig, PluginStats, Sources,
    capabilities::MetricFamily,
    instance::Instance,
    revocation::{Grantees, Revocation},
    schedule::{Lane, by_turns},
    stats::Counters,
};
use slots::Slots;
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
    configuring: parking_lot::Mutex<()>,
    /// `shared` is another one.
    configured: Notify,
    grantees: Grantees,
}

/// What the versions of a plugin share; only the configuration differs.
#[derive(Clone)]
struct Shared {
    config: Arc<PluginConfig>,
    sources: Sources,
    counters: Arc<Counters>,
    slots: Arc<Slots>,
    lane: Arc<Lane>,
    /// Of what the configuration grants.
    revocation: Arc<Revocation>,
}

/// A version that took over and was taken out of service again, because its first calls failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// Lower-case hex of the SHA-256 of the component.
    pub digest: Arc<str>,
    /// How many calls of how many, and the last failure.
    pub why: String,
}

/// A version, and an instance of it or why there is none.
type Leased = (Arc<Version>, Result<Instance, Failure>);

// === impl Plugin ===

impl Plugin {
    /// A plugin without a version: deliveries fail with [`FailureKind::Start`] until one is loaded.
    pub fn new(engine: Engine, mut config: PluginConfig, sources: Sources) -> Self {
        config.limits.deadline = config.limits.deadline.min(LONGEST_DEADLINE);
        let slots = Arc::new(Slots::new(config.instances.get()));
        let counters = Arc::<Counters>::default();
        let lane = Arc::new(Lane::new(&engine.turnstile, config.limits.cpu, Arc::clone(&counters)));
        let grantees = Grantees::default();
        let revocation = grantees.grant(&config.grants);
        let shared = Shared { config: Arc::new(config), sources, counters, slots, lane, revocation };
        Self {
            engine,
            name: Arc::clone(&shared.config.name),
            shared: ArcSwap::from_pointee(shared),
            version: ArcSwapOption::empty(),
            rejected: parking_lot::Mutex::default(),
            swaps: watch::Sender::new(0),
            loading: Mutex::default(),
            configuring: parking_lot::Mutex::default(),
            configured: Notify::new(),
            grantees,
        }
    }

    /// The name in the configuration.
    pub fn name(&self) -> &str {
        &self.name
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

    /// True where the version in service takes notifications.
    pub fn handles(&self) -> bool {
        self.version.load().as_ref().is_some_and(|version| version.info().handles)
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

    /// Delivers as [`EventHandler::handle`] does, unless the version that is in service when the call could begin has no
    /// handler: then nothing was called and nothing is counted.
    ///
    /// # Cancel safety
    /// As that of `handle`.
    pub async fn handle_if_exported(&self, delivery: &Delivery) -> Option<Outcome> {
        let begun = Instant::now();
        let outcome = self.attempt(delivery).await.transpose()?;
        self.shared.load().counters.queued.observe(delivery.queued);
        let outcome = outcome.unwrap_or_else(|failure| Outcome::Retry { after: None, failure });
        let failure = match &outcome {
            Outcome::Acknowledged | Outcome::NotCalled => None,
            Outcome::Retry { failure, .. } | Outcome::Permanent { failure } => Some(failure),
        };
        self.called(begun, failure);
        Some(outcome)
    }

    /// Reconciles as [`Reconciler::reconcile`] does, unless the version that is in service when the call could begin takes
    /// no keys: then nothing was called and nothing is counted.
    ///
    /// # Cancel safety
    /// As that of `reconcile`.
    pub async fn reconcile_if_exported(&self, request: &Request) -> Option<Reconciled> {
        let begun = Instant::now();
        let reconciled = self.attempt_key(request).await.transpose()?;
        let reconciled = reconciled.unwrap_or_else(|failure| Reconciled::Retry { failure });
        let failure = match &reconciled {
            Reconciled::Retry { failure } | Reconciled::Terminal { failure } => Some(failure),
            Reconciled::Done
            | Reconciled::Requeue
            | Reconciled::RequeueAfter(_)
            | Reconciled::NotCalled(_) => None,
        };
        self.called(begun, failure);
        Some(reconciled)
    }

    /// The version in service, and an instance of it, which is given back to it; none where it does not serve for this.
    async fn lease(&self, serves: fn(&VersionInfo) -> bool) -> Result<Option<Leased>, Failure> {
        loop {
            let Some(version) = self.version.load_full() else {
                return Err(Failure::new(FailureKind::Start, "no version of the plugin is loaded"));
            };
            if !serves(version.info()) {
                return Ok(None);
            }
            // None: it was retired since, so there is another one.
            if let Some(instance) = version.lease().await.transpose() {
                return Ok(Some((version, instance)));
            }
        }
    }

    /// Counts a call that ended.
    fn called(&self, begun: Instant, failure: Option<&Failure>) {
        let shared = self.shared.load();
        shared.counters.called(failure);
        shared.counters.durations.observe(begun.elapsed());
    }

    async fn attempt(&self, delivery: &Delivery) -> Result<Option<Outcome>, Failure> {
        let shared = self.shared.load_full();
        let _slot = shared.slots.acquire(&shared.counters).await;
        self.by_turns(self.call(delivery)).await
    }

    async fn attempt_key(&self, request: &Request) -> Result<Option<Reconciled>, Failure> {
        let shared = self.shared.load_full();
        let _slot = shared.slots.acquire(&shared.counters).await;
        self.by_turns(self.call_key(request)).await
    }

    async fn call(&self, delivery: &Delivery) -> Result<Option<Outcome>, Failure> {
        let Some((version, instance)) = self.lease(|info| info.handles).await? else { return Ok(None) };
        let outcome = match instance {
            Ok(instance) => deliver(&version, instance, delivery).await,
            Err(failure) => Err(failure),
        };
        self.judge(&version, outcome.as_ref().err()).await;
        outcome.map(Some)
    }

    async fn call_key(&self, request: &Request) -> Result<Option<Reconciled>, Failure> {
        let Some((version, instance)) = self.lease(|info| info.reconciles).await? else { return Ok(None) };
        let reconciled = match instance {
            Ok(instance) => reconcile(&version, instance, request).await,
            Err(failure) => Err(failure),
        };
        self.judge(&version, reconciled.as_ref().err()).await;
        reconciled.map(Some)
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
        let without = || Failure::new(FailureKind::Host, "a notification for a component without `handler`");
        let outcome = self.handle_if_exported(&delivery).await;
        outcome.unwrap_or_else(|| Outcome::Retry { after: None, failure: without() })
    }
}

impl Reconciler for Plugin {
    async fn reconcile(&self, request: Request) -> Reconciled {
        let without = || Failure::new(FailureKind::Host, "a key for a component without `reconciler`");
        let reconciled = self.reconcile_if_exported(&request).await;
        reconciled.unwrap_or_else(|| Reconciled::Retry { failure: without() })
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
