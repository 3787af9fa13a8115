//! The running host, as the admin endpoint sees it.

mod checks;
mod dashboard;
mod dead_letters;
mod explain;
mod plugin;
mod resource;

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use futures::future::BoxFuture;
use informer_cache::{InformerFactory, SharedInformer};
use informer_runtime::Engine;
use informer_telemetry::{Exporter, Standing};
use informer_types::Gvr;
use tokio_util::sync::CancellationToken;

use super::{
    in_force::InForce,
    kinds::Kinds,
    objects::{Judged, Objects, Verdict},
    recorder::record,
    reload::Reload,
    running_plugin::{RunningPlugin, RunningPlugins},
    tenants::is_plugin_resource,
    trace::Trace,
};
use crate::{
    admin::{
        Check, Probe,
        types::{
            Chosen, Configuration, DeadLetters, Dropped, Election, ExplainRequest, Explanation, Identity,
            Informer, PluginObjects, Queues, RecordRequest, Recording, RefusedObject, Replays, Report,
            Status,
        },
    },
    election::{Leadership, Role},
    logging::{self, RecentLines, UnknownLevel, WrittenLevel},
    metrics::{self, Exposition},
    state::State,
    wiring::WitnessSlot,
};
use plugin::{plugin, queues, workqueue};
use resource::Scope;

/// The most refused Plugin objects that the status of the host names. The status of each object has the reason.
const REFUSED: usize = 10;

/// Looks at a running host.
pub(super) struct HostProbe {
    pub(super) factory: Arc<InformerFactory>,
    pub(super) plugins: RunningPlugins,
    pub(super) state: State,
    pub(super) leadership: Leadership,
    pub(super) reload: Reload,
    pub(super) in_force: InForce,
    pub(super) objects: Objects,
    pub(super) kinds: Kinds,
    pub(super) lines: Arc<RecentLines>,
    pub(super) trace: Option<Arc<Trace>>,
    pub(super) exporter: Option<Exporter>,
    pub(super) engine: Engine,
    pub(super) file: Option<PathBuf>,
    /// A recording installs its witness here.
    pub(super) witness: WitnessSlot,
    /// Cancelled once the host stops.
    pub(super) stop: CancellationToken,
}

// === impl HostProbe ===

impl HostProbe {
    /// The informers. Those that only serve until a changed watch replaces them come first.
    fn informers(&self) -> Vec<SharedInformer> {
        let mut informers = self.factory.superseded();
        informers.extend(self.factory.informers());
        informers
    }

    /// If `replacing` is true, the informers that are to replace another one, which serves meanwhile; otherwise the informers
    /// that plugins of the file wait for.
    fn awaited(&self, replacing: bool) -> Vec<SharedInformer> {
        let plugins = self.plugins.of_file();
        let mut informers = self.informers();
        informers.retain(|informer| {
            if plugins.iter().all(|plugin| !plugin.subscriptions().contains(&informer.key().gvr)) {
                return false;
            }
            let replaces = plugins.iter().any(|plugin| plugin.subscriptions().other_than(informer).is_some());
            replaces == replacing
        });
        informers
    }

    /// The reason why traces cannot be sent.
    fn telemetry(&self) -> Option<String> {
        let exporter = self.exporter.as_ref()?;
        let Standing { stats, failure } = exporter.standing();
        let (endpoint, lost) = (exporter.endpoint(), stats.failed + stats.dropped);
        Some(format!("spans cannot be sent to {endpoint}, and {lost} were dropped so far: {}", failure?))
    }

    /// The election that the host takes part in, if there is one.
    fn election(&self) -> Option<Election> {
        let lease = self.leadership.lease()?.to_string();
        let role = self.leadership.role();
        let leads = matches!(role, Role::Leads { .. });
        let leader = if let Role::StandsBy { leader } = role { leader } else { None };
        Some(Election { lease, leads, leader })
    }

    /// Returns true if no version is in service because the host stands by.
    fn stands_by(&self) -> bool {
        matches!(self.leadership.role(), Role::StandsBy { .. })
    }

    /// The state of the configuration file.
    fn configuration_file(&self) -> Configuration {
        Configuration { refused: self.reload.refused(), needs_restart: self.in_force.needs_restart() }
    }

    /// The [`awaited`](Self::awaited) informers that have not synced.
    fn unsynced(&self, replacing: bool) -> Vec<String> {
        let concerned = self.awaited(replacing);
        // One look at each informer: its text and its verdict must agree.
        let unsynced = concerned.iter().map(SharedInformer::status).filter(|status| !status.synced);
        unsynced.map(|status| status.to_string()).collect()
    }

    /// Why Plugin objects are not known.
    fn without_objects(&self) -> Vec<String> {
        let mut informers = self.factory.informers();
        informers.retain(|informer| is_plugin_resource(&informer.key().gvr));
        let unsynced = informers.iter().map(SharedInformer::status).filter(|status| !status.synced);
        unsynced.map(|status| format!("Plugin objects are not known: {status}")).collect()
    }

    /// The plugins without a version in service, a sentence for each: first those whose component is being compiled, then those
    /// whose component is refused.
    fn without_version(&self) -> (Vec<String>, Vec<String>) {
        let stands_by = self.stands_by();
        let (mut compiled, mut refused) = (Vec::new(), Vec::new());
        for plugin in self.plugins.of_file() {
            if plugin.plugin().version().is_some() {
                continue;
            }
            let sentence = |why: &str| format!("plugin {}: no version in service: {why}", plugin.name());
            match plugin.versions().refused() {
                Some(why) => refused.push(sentence(&why)),
                None if stands_by => {}
                None => compiled.push(sentence("it is being compiled")),
            }
        }
        (compiled, refused)
    }

    /// The sentences of [`unready`](Probe::unready) that no other part of [`Status`] shows.
    fn host_unready(&self, compiled: Vec<String>) -> Vec<String> {
        let stopping = self.stop.is_cancelled().then(|| "the host stops".to_owned());
        stopping.into_iter().chain(self.kinds.unready()).chain(compiled).collect()
    }

    /// The sentences of [`degraded`](Probe::degraded) that no other part of [`Status`] shows.
    fn host_degraded(&self) -> Vec<String> {
        let plugins = self.plugins.of_file();
        let state = self.state.problem().map(|why| format!("{why}; until then nothing is kept"));
        let letters = dead_letters::problems(&plugins);
        let lease = self.leadership.lease().zip(self.leadership.failure());
        let lease = lease.map(|(lease, why)| {
            format!("the lease {lease} cannot be acquired or renewed, and the host tries again: {why}")
        });
        let unhandled = plugins.iter().filter_map(|plugin| {
            let why = plugin.config().unhandled_timers(plugin.plugin().version()?.has_timers)?;
            Some(format!("plugin {}: {why}", plugin.name()))
        });
        self.kinds.degraded().into_iter().chain(lease).chain(state).chain(letters).chain(unhandled).collect()
    }

    /// The sentences about the whole host.
    fn host_problems(&self) -> Vec<String> {
        let (compiled, _) = self.without_version();
        self.host_unready(compiled).into_iter().chain(self.host_degraded()).collect()
    }

    /// The verdicts about the Plugin objects.
    fn plugin_objects(&self) -> PluginObjects {
        let judged = self.objects.judged();
        let refusal = |one: &Judged| match &one.verdict {
            Verdict::Accepted => None,
            Verdict::Outdated(refused, _) | Verdict::Refused(refused) => Some(RefusedObject {
                plugin: one.name.clone(),
                reason: refused.reason.to_owned(),
                message: refused.message.clone(),
            }),
        };
        let refused: Vec<RefusedObject> = judged.iter().filter_map(refusal).collect();
        PluginObjects {
            accepted: judged.len() - refused.len(),
            refused: refused.len(),
            newest_refused: refused.into_iter().rev().take(REFUSED).collect(),
        }
    }
}

impl Probe for HostProbe {
    fn identity(&self) -> Identity {
        Identity::own(self.file.clone())
    }

    fn unready(&self) -> Vec<String> {
        let (compiled, refused) = self.without_version();
        self.host_unready(compiled).into_iter().chain(self.unsynced(false)).chain(refused).collect()
    }

    fn degraded(&self) -> Vec<String> {
        let informers = self.informers();
        let synced = informers.iter().map(SharedInformer::status).filter(|status| status.synced);
        let troubled = synced.filter(|status| !status.troubles().is_empty()).map(|status| status.to_string());
        let plugins = self.plugins.of_file();
        let quarantined = plugins.iter().flat_map(|plugin| checks::quarantines(plugin));
        let refused = plugins.iter().filter(|plugin| plugin.plugin().version().is_some());
        let refused = refused.filter_map(|plugin| {
            Some(format!(
                "plugin {}: the version in service stays: {}",
                plugin.name(),
                plugin.versions().refused()?
            ))
        });
        let pulling = plugins.iter().filter(|plugin| plugin.plugin().version().is_some());
        let pulling = pulling.filter(|plugin| plugin.versions().refused().is_none()).filter_map(|plugin| {
            let why = plugin.versions().pulls().status()?.failing?.why;
            Some(format!("plugin {}: the version in service stays: {why}", plugin.name()))
        });
        let file = self.reload.refused().into_iter().flatten();
        let file = file.map(|problem| format!("the configuration in force stays: {problem}"));
        let replacing = self.unsynced(true).into_iter();
        let replacing = replacing.map(|text| format!("the watch before the change still serves: {text}"));
        let receipts = plugins.iter().filter_map(|plugin| {
            let why = plugin.subscriptions().receipts().kept().failing?;
            Some(format!("plugin {}: what it acknowledged is in memory only: {why}", plugin.name()))
        });
        troubled
            .chain(self.without_objects())
            .chain(self.host_degraded())
            .chain(quarantined)
            .chain(receipts)
            .chain(replacing)
            .chain(refused)
            .chain(pulling)
            .chain(file)
            .chain(self.telemetry())
            .collect()
    }

    fn liveness(&self) -> Vec<Check> {
        checks::liveness(&self.informers())
    }

    fn readiness(&self) -> Vec<Check> {
        let awaited = self.awaited(false);
        let watches = awaited.iter().map(|informer| checks::watch(&informer.status()));
        let plugins = self.plugins.of_file();
        let stands_by = self.stands_by();
        let plugins = plugins.iter().map(|plugin| checks::plugin(plugin, stands_by));
        let state = checks::state(self.state.problem().is_some());
        let configuration = checks::configuration(self.reload.refused().is_some());
        let stopping = checks::stopping(self.stop.is_cancelled());
        let kinds = checks::kinds(self.kinds.unready().is_some(), !self.kinds.degraded().is_empty());
        let all = stopping.into_iter().chain(kinds).chain(watches).chain(plugins);
        all.chain([state, configuration]).collect()
    }

    fn reload(&self, plugin: Option<String>) -> BoxFuture<'_, Result<Report, String>> {
        Box::pin(async move { self.reload.request(plugin).await.map_err(|refused| refused.to_string()) })
    }

    fn set_log_level(&self, plugin: Option<&str>, level: &str) -> Result<(), String> {
        match plugin {
            None => {
                let filter = (level != WrittenLevel(None).as_str()).then_some(level);
                logging::set(filter).map_err(|error| error.to_string())?;
            }
            Some(name) => {
                let plugin = self.plugins.find(name).ok_or_else(|| format!("there is no plugin `{name}`"))?;
                let written: WrittenLevel = level.parse().map_err(|error: UnknownLevel| error.to_string())?;
                plugin.log_level().set(written.0);
            }
        }
        tracing::info!(plugin, level, "log level changed");
        Ok(())
    }

    fn status(&self) -> Status {
        let superseded = self.factory.superseded();
        let superseded = superseded.iter().map(|one| Informer::new(one.status(), true));
        let current = self.factory.informers();
        let informers = superseded.chain(current.iter().map(|one| Informer::new(one.status(), false)));
        Status {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            identity: self.identity(),
            unready: self.unready(),
            degraded: self.degraded(),
            host_problems: self.host_problems(),
            telemetry: self.telemetry(),
            state: self.state.path(),
            log: logging::in_force(),
            informers: informers.collect(),
            objects: self.objects.tenancy().map(|_| self.plugin_objects()),
            configuration: self.configuration_file(),
            election: self.election(),
            cache_memory: self.factory.memory(),
            guest_memory: self.engine.guest_memory(),
            plugins: self.plugins.all().iter().map(|one| plugin(one)).collect(),
        }
    }

    fn queues(&self) -> Queues {
        Queues { queues: self.plugins.all().iter().map(|plugin| queues(plugin)).collect() }
    }

    fn resource(&self, name: &str) -> Result<String, String> {
        let plugins = self.plugins.all();
        let watched = self.informers().into_iter().map(|informer| informer.key().gvr.clone());
        let all = watched.chain(dead_letters::resources(&plugins));
        let resources: BTreeMap<Gvr, ()> = all.map(|gvr| (gvr, ())).collect();
        resource::named(&resources, name, Scope::WatchedOrInLetters).map(|(gvr, ())| gvr.to_string())
    }

    fn dead_letters(&self, chosen: &Chosen) -> DeadLetters {
        dead_letters::list(&self.plugins.all(), chosen)
    }

    fn replay(&self, chosen: &Chosen) -> Replays {
        dead_letters::replay(&self.plugins.all(), chosen)
    }

    fn drop_dead_letters(&self, chosen: &Chosen) -> Dropped {
        dead_letters::drop_chosen(&self.plugins.all(), chosen)
    }

    fn explain(&self, request: &ExplainRequest) -> Result<Explanation, String> {
        explain::explain(&self.informers(), &self.plugins.all(), self.trace.as_deref(), request)
    }

    fn record(&self, request: RecordRequest) -> BoxFuture<'_, Result<Recording, String>> {
        let found = self.plugins.find(&request.plugin);
        Box::pin(async move {
            let plugin = found.ok_or_else(|| format!("there is no plugin `{}`", request.plugin))?;
            let mut informers = self.factory.informers();
            informers.retain(|informer| plugin.subscriptions().contains(&informer.key().gvr));
            record(&self.witness, plugin, informers, request).await
        })
    }

    fn has_plugin(&self, name: &str) -> bool {
        self.plugins.find(name).is_some()
    }

    fn metrics(&self) -> String {
        let mut exposition = Exposition::default();
        metrics::process(&mut exposition);
        metrics::expose(metrics::READY, &self.readiness().iter().all(Check::passes), &[], &mut exposition);
        metrics::expose(metrics::STATE, &self.state.stats(), &[], &mut exposition);
        metrics::expose(metrics::CONFIGURATION, &self.configuration_file(), &[], &mut exposition);
        if let Some(election) = self.election() {
            metrics::expose(metrics::ELECTION, &election, &[], &mut exposition);
        }
        // One series for each key: if two informers have the same key, the one that serves, which comes first.
        let mut informers = BTreeMap::new();
        for informer in self.informers() {
            informers.entry(informer.key().clone()).or_insert(informer);
        }
        for status in informers.values().map(SharedInformer::status) {
            metrics::informer(&status, &mut exposition);
        }
        metrics::expose(metrics::CACHE_MEMORY, &self.factory.memory(), &[], &mut exposition);
        if let Some(exporter) = &self.exporter {
            metrics::expose(metrics::TELEMETRY, &exporter.standing().stats, &[], &mut exposition);
        }
        metrics::expose(metrics::GUEST_MEMORY, &self.engine.guest_memory(), &[], &mut exposition);
        for plugin in self.plugins.all().iter() {
            expose(plugin, &mut exposition);
        }
        exposition.text()
    }
}

fn expose(plugin: &RunningPlugin, into: &mut Exposition) {
    let name = ("plugin", plugin.name());
    for (gvr, stats) in plugin.subscriptions().filters() {
        metrics::expose(metrics::FILTER, &stats, &[name, ("watch", &gvr.to_string())], into);
    }
    metrics::expose(metrics::RECEIPTS, &plugin.subscriptions().receipts().kept(), &[name], into);
    metrics::expose(metrics::QUEUE, &plugin.queue().stats(), &[name], into);
    metrics::expose(metrics::WORKQUEUE, &workqueue(plugin), &[name], into);
    metrics::expose(metrics::SIGNALS, &plugin.signals().queue().stats(), &[name], into);
    metrics::expose(metrics::RUNTIME, &plugin.plugin().stats(), &[name], into);
    metrics::expose(metrics::PULLS, &plugin.versions().pulls().stats(), &[name], into);
    let version = plugin.plugin().version();
    metrics::expose(metrics::LOADED, &version.is_some(), &[name], into);
    if let Some(version) = version {
        metrics::expose(metrics::VERSION, &version, &[name], into);
    }
    into.add_own(plugin.name(), plugin.plugin().metrics());
}
