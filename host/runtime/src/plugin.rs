//! A plugin: the version in service, and the calls made to it.

mod counters;
mod reload;
mod slots;
mod trial;
mod version;
mod work;

use std::{
    collections::BTreeMap,
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};

use arc_swap::{ArcSwap, ArcSwapOption};
use informer_types::{
    DeclaredReads, Delivery, EventHandler, Failure, FailureKind, Gvr, Object, Outcome, Reconciled,
    Reconciler, Request, SignalCall, SignalHandler,
};
use tokio::{
    sync::{Mutex, Notify, watch},
    time::sleep,
};
use tokio_util::sync::CancellationToken;

pub use version::VersionInfo;

use crate::{
    Component, Engine, InstancePolicy, InstanceStats, LoadError, PluginConfig, PluginStats, Sources,
    call::Batch,
    capabilities::{
        MetricFamily,
        secret::{Masks, Seen},
    },
    instance::Instance,
    revocation::Grantees,
    schedule::{Lane, by_turns},
};
use counters::Took;
use slots::Slots;
use version::{Shared, Version};
use work::Work;

/// The shortest and the longest pause between two checks for idle instances, whatever the idle timeout.
const IDLE_CHECKS: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(60));

/// The longest deadline. The sum of the current time and the deadline must fit into a clock.
const LONGEST_DEADLINE: Duration = Duration::from_secs(24 * 60 * 60);

/// One plugin of the host, from its first load to its removal.
///
/// # Promises
/// - A call that ends in a trap, a missed deadline or a refused allocation, and a call whose future is dropped, costs its
///   instance and nothing else.
/// - A reload replaces the version between two calls: calls in flight finish on the old version, and every later call
///   starts on the new one.
/// - A version that cannot be loaded changes nothing.
/// - At most [`PluginConfig::instances`] calls run at a time. More calls wait, first come, first served, without a time
///   limit.
///
/// # Cancel safety
/// Always poll or drop the future of a call: it may hold a turn, and other plugins wait for the turn.
pub struct Plugin {
    /// Its clock interrupts the guests.
    _engine: Engine,
    name: Arc<str>,
    /// The next version starts with these parts. Each version keeps the ones that it was started with.
    shared: ArcSwap<Shared>,
    version: ArcSwapOption<Version>,
    rejected: parking_lot::Mutex<Option<Rejected>>,
    swaps: watch::Sender<u64>,
    /// Allows one load at a time, so that the last load requested is the one in service.
    loading: Mutex<()>,
    configuring: parking_lot::Mutex<()>,
    /// Notified when `shared` is replaced.
    configured: Notify,
    grantees: Grantees,
}

/// A version that was put into service and taken out again because its first calls failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// Lower-case hex of the SHA-256 of the component.
    pub digest: Arc<str>,
    /// The number of failed calls, and the last failure.
    pub why: String,
}

// === impl Plugin ===

impl Plugin {
    /// A plugin without a version. Deliveries fail with [`FailureKind::Start`] until one is loaded.
    pub fn new(engine: Engine, mut config: PluginConfig, sources: Sources) -> Self {
        config.limits.deadline = config.limits.deadline.min(LONGEST_DEADLINE);
        let grantees = Grantees::default();
        let shared = Shared {
            slots: Arc::new(Slots::new(config.instances.get())),
            lane: Arc::new(Lane::new(&engine.turnstile, config.limits.cpu)),
            account: Arc::new(engine.ceiling.account()),
            revocation: grantees.grant(&config.grants),
            config: Arc::new(config),
            calls: Arc::default(),
            counters: Arc::default(),
            sources,
        };
        Self {
            _engine: engine,
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

    /// Returns true if the version in service runs with an older configuration, because its start with the current one failed or is in
    /// progress.
    pub fn is_outdated(&self) -> bool {
        let wanted = self.shared.load();
        self.version.load().as_ref().is_some_and(|version| !version.serves(&wanted.config))
    }

    /// Checks imports and exports, by their full names, against the grants that the next version starts with.
    ///
    /// # Errors
    /// [`LoadError`], which names everything that is missing and what to change.
    pub fn check_names(&self, imports: &[&str], exports: &[&str]) -> Result<(), LoadError> {
        Component::check_names(imports, exports, &self.shared.load().config.grants)
    }

    /// The version that failed its trial. Returns `None` if there is none, or if another version was loaded since.
    pub fn rejected(&self) -> Option<Rejected> {
        self.rejected.lock().clone()
    }

    /// Forgets the rejected version. To be called when the component file has changed.
    pub fn pardon(&self) {
        self.rejected.lock().take();
    }

    /// The number of versions put into service, including those that the plugin went back to.
    pub fn swaps(&self) -> watch::Receiver<u64> {
        self.swaps.subscribe()
    }

    /// The version in service. Returns `None` if no version is loaded.
    pub fn version(&self) -> Option<VersionInfo> {
        self.version.load().as_ref().map(|version| version.info.clone())
    }

    /// What the component of the version in service declares to read. Returns `None` if no version is loaded.
    pub fn declared_reads(&self) -> Option<DeclaredReads> {
        self.version.load().as_ref().map(|version| version.component.declared_reads().clone())
    }

    /// The plugin's own metrics, over all versions, by name.
    pub fn metrics(&self) -> BTreeMap<String, MetricFamily> {
        self.shared.load().counters.metrics.families()
    }

    /// Returns true if the version in service handles notifications.
    pub fn handles(&self) -> bool {
        self.version.load().as_ref().is_some_and(|version| version.info.handles)
    }

    /// Returns true if the version in service reconciles keys.
    pub fn reconciles(&self) -> bool {
        self.version.load().as_ref().is_some_and(|version| version.info.reconciles)
    }

    /// The text of an object as the plugin may see it: values of Secrets that no grant names are masked. Returns `None` if the
    /// object cannot be read.
    pub fn visible(&self, gvr: &Gvr, object: &Object) -> Option<String> {
        let masks = Masks::new(&self.shared.load().config, gvr);
        masks.seen(object).ok().map(Seen::into_text)
    }

    /// The statistics since the plugin was made, over all versions.
    pub fn stats(&self) -> PluginStats {
        let shared = self.shared.load();
        let Shared { counters, lane, slots, account, .. } = &**shared;
        let http = counters.http.snapshot();
        PluginStats {
            instances: InstanceStats {
                created: counters.instances.created.get(),
                retired: counters.instances.retired.get(),
                idle: self.version.load().as_ref().map_or(0, |version| version.idle()),
                waited: slots.waited.get(),
            },
            memory_bytes: account.bytes(),
            linear_memory_bytes: account.linear_bytes(),
            received_bytes: counters.instances.received_bytes.get() + http.received_bytes,
            sent_bytes: counters.instances.sent_bytes.get() + counters.output.bytes.get() + http.sent_bytes,
            memory_refusals: account.refusals.get(),
            host_calls: counters.instances.host_calls.get(),
            log_bytes_dropped: counters.output.bytes_dropped.get(),
            log_lines_left_out: counters.output.lines_left_out(),
            client: *counters.client.lock(),
            http,
            keyvalue: counters.keyvalue.snapshot(),
            metrics: counters.metrics.stats(),
            running: lane.counters.running.duration(),
            slices: lane.counters.slices.get(),
            throttled: lane.counters.throttled.get(),
            throttled_time: lane.counters.throttled_time.duration(),
            turns_waited: lane.counters.turns_waited.get(),
            turns_let_pass: lane.turns_let_pass(),
            swaps: *self.swaps.borrow(),
            ..shared.calls.snapshot()
        }
    }

    /// Stops instances that had no call for the idle timeout, until `stop` is cancelled. An instance that had no call since its start is
    /// stopped sooner. Run this method beside the deliveries; without it, idle instances stay.
    pub async fn expire_idle(&self, stop: CancellationToken) {
        let (shortest, longest) = IDLE_CHECKS;
        let expire = async {
            loop {
                // Read each time: a reload may change it.
                let idle_timeout = match &self.shared.load().config.instance {
                    InstancePolicy::Warm { idle_timeout, .. } => *idle_timeout,
                    // Only the instance that the load made can be idle. It had no call yet, so it is stopped sooner.
                    InstancePolicy::Fresh => longest,
                };
                sleep((idle_timeout / 2).clamp(shortest, longest)).await;
                if let Some(version) = self.version.load_full() {
                    self.by_turns(version.drop_idle(idle_timeout)).await;
                }
            }
        };
        stop.run_until_cancelled(expire).await;
    }

    /// Runs guest code, or makes or ends instances, in the turns of this plugin.
    async fn by_turns<T>(&self, work: impl Future<Output = T>) -> T {
        let lane = Arc::clone(&self.shared.load().lane);
        by_turns(&lane, work).await
    }

    /// Makes and counts one call. Returns `None` if the version in service does not export the interface for the work.
    async fn attempt<W: Work>(&self, work: &W) -> Option<W::Answer> {
        let begun = Instant::now();
        let shared = self.shared.load_full();
        let slot = shared.slots.acquire().await;
        // The future of a call has kilobytes. It is made where it stays, because each function that takes it by value copies it.
        let call = pin!(self.call(work));
        let attempted = self.by_turns(call).await;
        drop(slot);
        let mut answer = attempted?.unwrap_or_else(W::retry);
        let took = Took { call: begun.elapsed(), queued: work.queued(), watched: work.watched() };
        shared.calls.ended(took, W::failure(&mut answer).map(|failure| &*failure));
        Some(answer)
    }

    /// Makes one call of an instance. Returns `None`, without a call, if the version in service does not export the interface for
    /// the work.
    async fn call<W: Work>(&self, work: &W) -> Option<Result<W::Answer, Failure>> {
        loop {
            let Some(version) = self.version.load_full() else {
                return Some(Err(Failure::new(FailureKind::Start, "no version of the plugin is loaded")));
            };
            if !work.is_served_by(&version.info) {
                return None;
            }
            // There is no lease if another version was put into service meanwhile.
            let Some(leased) = version.lease().await else { continue };
            let result = match leased {
                Ok(instance) => call_instance(&version, instance, work).await,
                Err(failure) => Err(failure),
            };
            if version.trial.is_on() {
                let trial = self.shared.load().config.trial;
                if let Some(verdict) = version.trial.judge(trial, result.as_ref().err(), Instant::now()) {
                    Box::pin(self.go_back(&version, verdict)).await;
                }
            }
            return Some(result);
        }
    }
}

async fn call_instance<W: Work>(
    version: &Version,
    mut instance: Instance,
    work: &W,
) -> Result<W::Answer, Failure> {
    instance.calls += 1;
    let result = instance.call(work.call()).await;
    if instance.usable() {
        version.give_back(instance).await;
    }
    result.map_err(|failure| Failure::new(failure.kind, format!("{}: {}", work.action(), failure.message)))
}

impl EventHandler for Plugin {
    fn takes_batches(&self) -> bool {
        self.version.load().as_ref().is_some_and(|version| version.info.handles_batches)
    }

    async fn handle(&self, delivery: Delivery) -> Option<Outcome> {
        self.attempt(&delivery).await
    }

    async fn handle_batch(&self, deliveries: Vec<Delivery>) -> Option<Result<Vec<Outcome>, Failure>> {
        self.attempt(&Batch(deliveries)).await
    }
}

impl Reconciler for Plugin {
    async fn reconcile(&self, request: Request) -> Option<Reconciled> {
        self.attempt(&request).await
    }
}

impl SignalHandler for Plugin {
    async fn signal(&self, call: SignalCall) -> Option<Reconciled> {
        self.attempt(&call).await
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
