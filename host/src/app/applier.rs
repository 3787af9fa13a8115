//! Brings what runs in line with a configuration: the one way, for the start and for every reload.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use futures::future::join_all;
use informer_cache::{SharedInformer, Subscription, WatchConfig};
use informer_runtime::VersionInfo;
use informer_types::Gvr;
use tokio::{
    sync::{Mutex, OwnedMutexGuard},
    time::timeout,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    changes::{Report, Verdict},
    directories::Directories,
    plan::{Plan, needs_restart},
    running_plugin::{Look, Parts, RunningPlugin, SubscribeError, Watches, off_the_workers},
    running_plugins::RunningPlugins,
    settings,
};
use crate::{
    config::{Cluster, Config, Host, Plugin},
    logging,
};

/// An informer that takes over a watch should have seen what the one before it has, but is not waited for longer than
/// this: with a selector of its own it may have to wait a minute for a bookmark.
const CATCH_UP: Duration = Duration::from_secs(5);

/// Applies one configuration after the other.
pub(super) struct Applier {
    parts: Arc<Parts>,
    units: RunningPlugins,
    tasks: TaskTracker,
    /// Of the configuration, if it comes from one.
    file: Option<PathBuf>,
    /// What was read at the start and is in force until the end.
    started: (Cluster, Host),
    shutdown_timeout: parking_lot::Mutex<Duration>,
    /// One at a time.
    applied: Arc<Mutex<Applied>>,
}

/// What is in force.
#[derive(Default)]
pub(super) struct Applied {
    config: Option<Config>,
    /// Watches whose new informer has not taken over yet.
    successions: BTreeMap<Gvr, Succession>,
}

/// An informer that is to take over a watch. One that fails stays here until the watch changes again, so that the status
/// shows it.
struct Succession {
    /// Keeps it running until others do.
    _keeper: Subscription,
    /// Ends it; what serves until then goes on.
    pending: CancellationToken,
}

// === impl Applier ===

impl Applier {
    pub(super) fn new(
        parts: Arc<Parts>,
        tasks: TaskTracker,
        file: Option<PathBuf>,
        started: (Cluster, Host),
    ) -> Arc<Self> {
        Arc::new(Self {
            parts,
            units: RunningPlugins::default(),
            tasks,
            file,
            shutdown_timeout: parking_lot::Mutex::new(started.1.shutdown_timeout),
            started,
            applied: Arc::default(),
        })
    }

    pub(super) fn directories(&self) -> &Directories {
        &self.parts.directories
    }

    pub(super) fn units(&self) -> &RunningPlugins {
        &self.units
    }

    /// How long the calls in hand may take at the end: as `log`, a key of `[host]` that changes while it runs.
    pub(super) fn shutdown_timeout(&self) -> Duration {
        *self.shutdown_timeout.lock()
    }

    /// No configuration is applied while this is held; one that is being applied ends first.
    pub(super) async fn hold(&self) -> OwnedMutexGuard<Applied> {
        Arc::clone(&self.applied).lock_owned().await
    }

    /// Starts, stops and changes what differs from the configuration in force, and nothing else: an informer whose
    /// watch did not change keeps it, a plugin that did not change is not touched. A plugin that is removed is waited
    /// for as long as its calls in hand take.
    ///
    /// # Errors
    /// [`SubscribeError`], where the host is ending.
    ///
    /// # Cancel safety
    /// Once its turn has come it goes on to its end; only nobody waits for the outcome.
    pub(super) async fn apply(self: &Arc<Self>, new: Config) -> Result<Report, SubscribeError> {
        // Not by the task: it would wait for its turn when nobody gives it one any more.
        let (applier, applied) = (Arc::clone(self), self.hold().await);
        let applying = self.tasks.spawn(async move { applier.apply_in_turn(new, applied).await });
        applying.await.unwrap_or_else(|failed| std::panic::resume_unwind(failed.into_panic()))
    }

    async fn apply_in_turn(
        self: &Arc<Self>,
        new: Config,
        mut applied: OwnedMutexGuard<Applied>,
    ) -> Result<Report, SubscribeError> {
        let plan = Plan::between(applied.config.as_ref(), &new);
        let watches = settings::watches(&new);
        let mut report = Report::default();
        for key in needs_restart((&self.started.0, &self.started.1), (&new.cluster, &new.host)) {
            report.note("key", key, Verdict::NeedsRestart, "it is read when the host starts");
        }
        if let Some(old) = &applied.config {
            configure_log(&old.host, &new.host, &mut report);
        }
        self.remove(&plan, &mut report).await;
        self.note_watches(&plan, &mut report);
        for gvr in plan.watches.changed.iter().chain(&plan.watches.removed) {
            if let Some(succession) = applied.successions.remove(gvr) {
                succession.pending.cancel();
            }
        }
        for gvr in &plan.watches.changed {
            if let Some(succession) = self.begin_succession(gvr, &watches)? {
                applied.successions.insert(gvr.clone(), succession);
            }
        }
        self.change(&plan, &new, &watches, &mut report).await?;
        self.add(&new, &watches, &mut report).await?;
        applied.successions.retain(|gvr, succession| {
            let claimed = self.claimed(gvr);
            if !claimed {
                succession.pending.cancel();
            }
            claimed
        });
        let sources = new.plugins.iter().map(|plugin| plugin.source.clone());
        self.parts.directories.watch(sources.chain(self.file.clone()));
        warn_of_unused(&watches, &self.parts);
        *self.shutdown_timeout.lock() = new.host.shutdown_timeout;
        applied.config = Some(new);
        Ok(report)
    }

    /// Puts the present content of a plugin's file into service because somebody asks for it, among the guests.
    ///
    /// # Cancel safety
    /// It goes on; only nobody waits for the outcome.
    pub(super) async fn load(&self, unit: &Arc<RunningPlugin>) -> Result<Option<VersionInfo>, String> {
        let unit = Arc::clone(unit);
        let loading = async move { unit.load(Look::Asked).await.map_err(|error| error.to_string()) };
        self.parts.guests.spawn(loading).await.unwrap_or_else(|failed| Err(failed.to_string()))
    }

    async fn remove(&self, plan: &Plan, report: &mut Report) {
        let removed: Vec<Arc<RunningPlugin>> =
            plan.plugins.removed.iter().filter_map(|name| self.units.find(name)).collect();
        let staying = self
            .units
            .all()
            .iter()
            .filter(|unit| !plan.plugins.removed.iter().any(|name| name == unit.name()))
            .cloned()
            .collect();
        self.units.replace(staying);
        // It calls plugins, so not here.
        let removing = removed.clone();
        let removing = async move { join_all(removing.iter().map(|unit| unit.remove())).await };
        let backlogs = self.parts.guests.spawn(removing).await.unwrap_or_default();
        for (unit, backlog) in removed.iter().zip(backlogs) {
            let (plugin, notifications) = (unit.name(), backlog.notifications);
            tracing::info!(plugin, notifications, objects = ?backlog.objects, "plugin removed; what was not delivered is discarded");
            report.note(
                "plugin",
                plugin,
                Verdict::Removed,
                format!("{notifications} notifications discarded"),
            );
        }
    }

    fn note_watches(&self, plan: &Plan, report: &mut Report) {
        let Plan { watches, .. } = plan;
        let verdicts = [
            (&watches.added, Verdict::Added, ""),
            (&watches.removed, Verdict::Removed, ""),
            (&watches.changed, Verdict::Changed, "it takes over once it has synced"),
        ];
        for (gvrs, verdict, detail) in verdicts {
            for gvr in gvrs {
                report.note("watch", &gvr.to_string(), verdict, detail);
            }
        }
    }

    async fn change(
        &self,
        plan: &Plan,
        new: &Config,
        watches: &Watches,
        report: &mut Report,
    ) -> Result<(), SubscribeError> {
        for plugin in new.plugins.iter().filter(|plugin| plan.plugins.changed.contains(&plugin.name)) {
            if let Some(unit) = self.units.find(&plugin.name) {
                Box::pin(unit.change(plugin.clone(), watches, report)).await?;
            }
        }
        Ok(())
    }

    /// Starts what is new, and puts the plugins in the order of the file.
    async fn add(
        self: &Arc<Self>,
        new: &Config,
        watches: &Watches,
        report: &mut Report,
    ) -> Result<(), SubscribeError> {
        let (applier, plugins, watches) = (Arc::clone(self), new.plugins.clone(), watches.clone());
        // Each is offered what is in the caches.
        for name in off_the_workers(move || applier.add_plugins(&plugins, &watches)).await? {
            report.note("plugin", &name, Verdict::Added, "");
        }
        Ok(())
    }

    /// Gives the names of those that are new.
    fn add_plugins(&self, plugins: &[Plugin], watches: &Watches) -> Result<Vec<String>, SubscribeError> {
        let (mut units, mut added) = (Vec::with_capacity(plugins.len()), Vec::new());
        for plugin in plugins {
            if let Some(unit) = self.units.find(&plugin.name) {
                units.push(unit);
                continue;
            }
            let unit = Arc::new(RunningPlugin::new(plugin.clone(), watches, &self.parts)?);
            added.push(Arc::clone(&unit));
            units.push(unit);
        }
        for unit in &added {
            self.tasks.spawn_on(Arc::clone(unit).run(), &self.parts.guests);
        }
        self.units.replace(units);
        Ok(added.iter().map(|unit| unit.name().to_owned()).collect())
    }

    /// Starts the informer that is to take over a watch; none where nobody uses the one there is.
    fn begin_succession(
        self: &Arc<Self>,
        gvr: &Gvr,
        watches: &Watches,
    ) -> Result<Option<Succession>, SubscribeError> {
        let Some(watch) = watches.get(gvr).filter(|_| self.claimed(gvr)) else { return Ok(None) };
        let mut replaced = self.parts.factory.informers();
        replaced.retain(|informer| informer.key().gvr == *gvr);
        let keeper = self.parts.factory.supersede(watch.clone(), &replaced)?;
        let (new, pending) = (keeper.informer().clone(), self.parts.stop.child_token());
        let (applier, cancelled, watch) = (Arc::clone(self), pending.clone(), watch.clone());
        self.tasks.spawn(async move { applier.succeed(new, watch, cancelled).await });
        Ok(Some(Succession { _keeper: keeper, pending }))
    }

    /// Some plugin hears of this resource, or may read it.
    fn claimed(&self, gvr: &Gvr) -> bool {
        self.units.all().iter().any(|unit| unit.claims(gvr))
    }

    /// Lets a new informer take over once it has synced. Until then the one before serves.
    async fn succeed(self: Arc<Self>, new: SharedInformer, watch: WatchConfig, cancelled: CancellationToken) {
        let ready = async {
            new.wait_synced_or_unserved().await;
            // Here the one before still serves: what is told by none of them for a while is not much then.
            let told = self.users_of_others(&new).into_iter().map(|(_, old)| old.newest_applied_version());
            let catching_up = catch_up(&new, told.filter_map(|version| version.ok().flatten()));
            timeout(CATCH_UP, catching_up).await.ok();
            self.hold().await
        };
        let Some(mut applied) = cancelled.run_until_cancelled(ready).await else { return };
        if cancelled.is_cancelled() {
            return;
        }
        if new.has_ended() {
            tracing::error!(watch = %new.key(), "the changed watch has failed; the one before goes on");
            return;
        }
        let succession = applied.successions.remove(&watch.gvr);
        let users = self.users_of_others(&new);
        for (_, old) in &users {
            // From now on its cache is what its listeners were told.
            self.parts.factory.stop(old).await;
        }
        for (unit, _) in users {
            if let Err(error) = self.hand_over(&unit, &watch).await {
                tracing::error!(plugin = unit.name(), watch = %new.key(), %error, "the changed watch does not take over");
            }
        }
        tracing::info!(watch = %new.key(), "the changed watch has taken over");
        drop((applied, succession));
        self.end_succession(new, cancelled).await;
    }

    /// Lets a plugin hear of a watch through the new informer.
    async fn hand_over(&self, unit: &Arc<RunningPlugin>, watch: &WatchConfig) -> Result<(), SubscribeError> {
        let claim = self.parts.factory.subscribe(watch.clone())?;
        let unit = Arc::clone(unit);
        off_the_workers(move || unit.succeed(claim)).await
    }

    /// Once the new informer has seen all that was told, what it does not have is gone.
    async fn end_succession(&self, new: SharedInformer, cancelled: CancellationToken) {
        let told = self.units.all().iter().filter_map(|unit| unit.awaits(&new)).max();
        let caught_up = catch_up(&new, told.map(|version| version.to_string()).into_iter());
        if cancelled.run_until_cancelled(caught_up).await.is_none() || new.has_ended() {
            return;
        }
        let units = self.units.all();
        off_the_workers(move || units.iter().for_each(|unit| unit.caught_up(&new))).await;
    }

    /// The plugins that use the resource of this informer, but through another one.
    fn users_of_others(&self, informer: &SharedInformer) -> Vec<(Arc<RunningPlugin>, SharedInformer)> {
        let units = self.units.all();
        units.iter().filter_map(|unit| Some((Arc::clone(unit), unit.other_than(informer)?))).collect()
    }
}

/// Waits until an informer has seen these versions: with a selector of its own, not before a bookmark says so. Where
/// versions have no order, or the resource is not there, nobody can say: then it does not wait.
async fn catch_up(new: &SharedInformer, versions: impl Iterator<Item = String>) {
    if new.has_synced() {
        let versions: Vec<String> = versions.collect();
        join_all(versions.iter().map(|version| new.wait_for_version(version, None))).await;
    }
}

/// Takes on another filter, unless whoever started the host said one.
fn configure_log(old: &Host, new: &Host, report: &mut Report) {
    if old.log == new.log {
        return;
    }
    match logging::configure(&new.log) {
        Ok(()) => report.note("key", "[host] log", Verdict::Changed, ""),
        Err(error) => report.note("key", "[host] log", Verdict::NeedsRestart, error.to_string()),
    }
}

/// A watch that no plugin uses costs nothing, and says so.
fn warn_of_unused(watches: &Watches, parts: &Parts) {
    let used = parts.factory.informers();
    for gvr in watches.keys().filter(|gvr| used.iter().all(|informer| informer.key().gvr != **gvr)) {
        tracing::warn!(resource = %gvr, "no plugin subscribes to this watch or may read it, so it is not started");
    }
}

#[cfg(test)]
pub(super) mod tests;
