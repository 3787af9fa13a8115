//! Brings what runs in line with a configuration: the one way, for the start and for every reload.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use futures::future::join_all;
use informer_cache::{SharedInformer, Subscription, WatchConfig};
use informer_types::Gvr;
use tokio::{sync::Mutex, time::timeout};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    changes::{Report, Verdict},
    directories::Directories,
    plan::{Plan, needs_restart},
    settings,
    unit::{Parts, SubscribeError, Unit, Watches},
    units::Units,
};
use crate::{
    config::{Cluster, Config, Host},
    logging,
};

/// An informer that takes over a watch should have seen what the one before it had. It is waited for, but not for
/// ever: nobody hears of anything meanwhile.
const CATCH_UP: Duration = Duration::from_secs(5);

/// Applies one configuration after the other.
pub(super) struct Applier {
    parts: Arc<Parts>,
    units: Units,
    tasks: TaskTracker,
    /// Of the configuration, if it comes from one.
    file: Option<PathBuf>,
    /// What was read at the start and is in force until the end.
    started: (Cluster, Host),
    shutdown_timeout: parking_lot::Mutex<Duration>,
    /// One at a time.
    applied: Mutex<Applied>,
}

/// What is in force.
#[derive(Default)]
pub(super) struct Applied {
    config: Option<Config>,
    /// Watches whose new informer has not taken over yet.
    successions: BTreeMap<Gvr, CancellationToken>,
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
            units: Units::default(),
            tasks,
            file,
            shutdown_timeout: parking_lot::Mutex::new(started.1.shutdown_timeout),
            started,
            applied: Mutex::default(),
        })
    }

    pub(super) fn directories(&self) -> &Directories {
        &self.parts.directories
    }

    pub(super) fn units(&self) -> &Units {
        &self.units
    }

    /// How long the calls in hand may take at the end: as `log`, a key of `[host]` that changes while it runs.
    pub(super) fn shutdown_timeout(&self) -> Duration {
        *self.shutdown_timeout.lock()
    }

    /// No configuration is applied while this is held.
    pub(super) async fn hold(&self) -> tokio::sync::MutexGuard<'_, Applied> {
        self.applied.lock().await
    }

    /// Starts, stops and changes what differs from the configuration in force, and nothing else: an informer whose
    /// watch did not change keeps it, a plugin that did not change is not touched. A plugin that is removed is waited
    /// for as long as its calls in hand take.
    ///
    /// # Errors
    /// [`SubscribeError`], where the host is ending.
    ///
    /// # Cancel safety
    /// A dropped future may have applied a part; the next call applies the rest.
    pub(super) async fn apply(self: &Arc<Self>, new: Config) -> Result<Report, SubscribeError> {
        let mut applied = self.applied.lock().await;
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
        for gvr in &plan.watches.changed {
            if let Some(pending) = applied.successions.remove(gvr) {
                pending.cancel();
            }
            if let Some(succession) = self.begin_succession(gvr, &watches)? {
                applied.successions.insert(gvr.clone(), succession);
            }
        }
        self.change(&plan, &new, &watches, &mut report).await?;
        self.add(&new, &watches, &mut report)?;
        let sources = new.plugins.iter().map(|plugin| plugin.source.clone());
        self.parts.directories.watch(sources.chain(self.file.clone()));
        warn_of_unused(&watches, &self.parts);
        *self.shutdown_timeout.lock() = new.host.shutdown_timeout;
        applied.config = Some(new);
        Ok(report)
    }

    async fn remove(&self, plan: &Plan, report: &mut Report) {
        let removed: Vec<Arc<Unit>> =
            plan.plugins.removed.iter().filter_map(|name| self.units.find(name)).collect();
        let staying = self
            .units
            .all()
            .iter()
            .filter(|unit| !plan.plugins.removed.iter().any(|name| name == unit.name()))
            .cloned()
            .collect();
        self.units.replace(staying);
        let backlogs = join_all(removed.iter().map(|unit| unit.remove())).await;
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
    fn add(&self, new: &Config, watches: &Watches, report: &mut Report) -> Result<(), SubscribeError> {
        let mut units = Vec::with_capacity(new.plugins.len());
        for plugin in &new.plugins {
            if let Some(unit) = self.units.find(&plugin.name) {
                units.push(unit);
                continue;
            }
            units.push(Arc::new(Unit::new(plugin.clone(), watches, &self.parts)?));
            report.note("plugin", &plugin.name, Verdict::Added, "");
        }
        let before = self.units.all();
        for unit in units.iter().filter(|unit| !before.iter().any(|other| Arc::ptr_eq(unit, other))) {
            self.tasks.spawn_on(Arc::clone(unit).run(), &self.parts.guests);
        }
        self.units.replace(units);
        Ok(())
    }

    /// Starts the informer that is to take over a watch; none where nobody uses the one there is.
    fn begin_succession(
        self: &Arc<Self>,
        gvr: &Gvr,
        watches: &Watches,
    ) -> Result<Option<CancellationToken>, SubscribeError> {
        let used = self.parts.factory.informers().iter().any(|informer| informer.key().gvr == *gvr);
        let Some(watch) = watches.get(gvr).filter(|_| used) else { return Ok(None) };
        let keeper = self.parts.factory.supersede(watch.clone())?;
        let pending = self.parts.stop.child_token();
        let (applier, cancelled, watch) = (Arc::clone(self), pending.clone(), watch.clone());
        self.tasks.spawn(async move { applier.succeed(keeper, watch, cancelled).await });
        Ok(Some(pending))
    }

    /// Lets a new informer take over once it has synced. Until then the one before serves.
    async fn succeed(
        self: Arc<Self>,
        keeper: Subscription,
        watch: WatchConfig,
        cancelled: CancellationToken,
    ) {
        let new = keeper.informer();
        if cancelled.run_until_cancelled(new.wait_synced_or_unserved()).await.is_none() {
            return;
        }
        let mut applied = self.applied.lock().await;
        if cancelled.is_cancelled() {
            return;
        }
        applied.successions.remove(&watch.gvr);
        let units = self.units.all();
        let users: Vec<(&Arc<Unit>, SharedInformer)> =
            units.iter().filter_map(|unit| Some((unit, unit.other_than(new)?))).collect();
        for (_, old) in &users {
            // From now on its cache is what its listeners were told.
            self.parts.factory.stop(old).await;
        }
        let seen = users.iter().filter_map(|(_, old)| old.last_synced_version().ok().flatten());
        let catch_up = join_all(seen.map(async |seen| new.wait_for_version(&seen, None).await));
        timeout(CATCH_UP, catch_up).await.ok();
        for (unit, _) in users {
            let claim = self.parts.factory.subscribe(watch.clone()).map_err(SubscribeError::from);
            if let Err(error) = claim.and_then(|claim| unit.succeed(claim)) {
                tracing::error!(plugin = unit.name(), watch = %new.key(), %error, "the changed watch does not take over");
            }
        }
        tracing::info!(watch = %new.key(), "the changed watch has taken over");
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
