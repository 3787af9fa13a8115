//! Applies a configuration to the running host, in the same way at the start and at each reload.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use futures::future::join_all;
use informer_cache::{Phase, SharedInformer, Subscription, WatchConfig};
use informer_runtime::VersionInfo;
use informer_types::{Gvr, counted};
use tokio::{
    sync::{Mutex, OwnedMutexGuard},
    time::timeout,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    blocking::{off_the_workers, on_a_thread},
    descriptors,
    directories::Directories,
    in_force::InForce,
    kinds::Kinds,
    objects::Objects,
    plan::{Plan, Started, needs_restart, note_keys},
    running_plugin::{Look, Parts, RunningPlugin, RunningPlugins, SubscribeError, Watches},
    settings,
    unused::Unused,
};
use crate::{
    admin::types::{Report, Verdict},
    config::{Config, Host, Plugin},
    connect::Connection,
    election::Leadership,
    logging,
    wiring::WitnessSlot,
};

/// The time for a new informer to reach the state of the informer that it replaces. A new informer with another selector may have to
/// wait a minute for a bookmark. So it replaces the previous informer when this time is over, even if it has not caught up.
const CATCH_UP: Duration = Duration::from_secs(5);

/// The time between two looks whether the previous informer still serves, while the API server denies the resource to the new one.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Applies one configuration after the other.
pub(super) struct Applier {
    parts: Arc<Parts>,
    plugins: RunningPlugins,
    tasks: TaskTracker,
    /// The configuration file, if there is one.
    file: Option<PathBuf>,
    /// The sections that are read only at the start.
    started: Started,
    shutdown_timeout: parking_lot::Mutex<Duration>,
    in_force: InForce,
    /// The Plugin objects of the cluster.
    objects: Objects,
    /// The kinds that patterns stand for.
    kinds: Kinds,
    /// Held while a configuration is applied.
    applied: Arc<Mutex<Applied>>,
}

/// The configuration in force.
#[derive(Default)]
pub(super) struct Applied {
    /// The configuration of the file.
    file: Option<Config>,
    /// The same with single resources in the place of patterns, and with the plugins of objects.
    config: Option<Config>,
    /// Watches whose new informer has not replaced the previous one yet.
    successions: BTreeMap<Gvr, Succession>,
    /// The unused watches that the log has named.
    unused: Unused,
}

/// An informer that is to replace the informer of a watch. If it fails, it stays here until the watch changes again, so that
/// the status shows it.
struct Succession {
    /// Keeps the informer running until plugins do.
    _keeper: Subscription,
    /// Cancels the succession; the previous informer keeps serving.
    pending: CancellationToken,
}

// === impl Applier ===

impl Applier {
    pub(super) fn new(
        parts: Arc<Parts>,
        tasks: TaskTracker,
        file: Option<PathBuf>,
        started: Started,
        connection: &Connection,
    ) -> Arc<Self> {
        Arc::new(Self {
            kinds: Kinds::new(connection.client.clone(), Arc::clone(&parts.factory)),
            parts,
            plugins: RunningPlugins::default(),
            tasks,
            file,
            shutdown_timeout: parking_lot::Mutex::new(started.host.shutdown_timeout),
            started,
            in_force: InForce::default(),
            objects: Objects::default(),
            applied: Arc::default(),
        })
    }

    pub(super) fn directories(&self) -> &Directories {
        &self.parts.directories
    }

    pub(super) fn plugins(&self) -> &RunningPlugins {
        &self.plugins
    }

    /// The role of the host.
    pub(super) fn leadership(&self) -> &Leadership {
        self.parts.supply.leadership()
    }

    /// The witness that observes the calls, if there is one.
    pub(super) fn witness(&self) -> &WitnessSlot {
        &self.parts.stage.witness
    }

    /// The Plugin objects of the cluster, and the verdict about each.
    pub(super) fn objects(&self) -> &Objects {
        &self.objects
    }

    /// The kinds that patterns stand for.
    pub(super) fn kinds(&self) -> &Kinds {
        &self.kinds
    }

    /// The configuration in force, as the admin endpoint shows it.
    pub(super) fn in_force(&self) -> &InForce {
        &self.in_force
    }

    /// Time for the calls in flight when the host stops. Like `log`, this key of `[host]` may change while the host runs.
    pub(super) fn shutdown_timeout(&self) -> Duration {
        *self.shutdown_timeout.lock()
    }

    /// Waits until no configuration is being applied. None is applied while the guard is held.
    pub(super) async fn hold(&self) -> OwnedMutexGuard<Applied> {
        Arc::clone(&self.applied).lock_owned().await
    }

    /// Returns true if this configuration of the file is in force.
    pub(super) async fn has_applied(&self, file: &Config) -> bool {
        self.hold().await.file.as_ref() == Some(file)
    }

    /// Starts, stops and changes what differs from the configuration in force, and nothing else: a watch that did not change
    /// keeps its informer, and a plugin that did not change is not touched. The removal of a plugin waits for its calls in
    /// flight.
    ///
    /// # Errors
    /// [`SubscribeError`], only while the host stops.
    ///
    /// # Cancel safety
    /// Once the previous configuration is applied, this one is applied to its end, even if the future is dropped.
    pub(super) async fn apply(self: &Arc<Self>, new: Config) -> Result<Report, SubscribeError> {
        self.kinds.look_for(&new).await;
        // Waits here and not in the task: at the end of the host, a task would wait for ever.
        let (applier, applied) = (Arc::clone(self), self.hold().await);
        let applying = self.tasks.spawn(async move { applier.apply_in_turn(new, applied).await });
        applying.await.unwrap_or_else(|failed| std::panic::resume_unwind(failed.into_panic()))
    }

    /// Applies the configuration in force once more, with the Plugin objects and the kinds as they are known now. Does nothing
    /// before the first configuration.
    ///
    /// # Errors
    /// [`SubscribeError`], only while the host stops.
    ///
    /// # Cancel safety
    /// As [`apply`](Self::apply).
    pub(super) async fn apply_again(self: &Arc<Self>) -> Result<Report, SubscribeError> {
        let (applier, applied) = (Arc::clone(self), self.hold().await);
        let Some(file) = applied.file.clone() else { return Ok(Report::default()) };
        let applying = self.tasks.spawn(async move { applier.apply_in_turn(file, applied).await });
        applying.await.unwrap_or_else(|failed| std::panic::resume_unwind(failed.into_panic()))
    }

    /// Applies the configuration again whenever the API server serves other kinds than before, if it has patterns. Never returns.
    pub(super) async fn follow_kinds(self: Arc<Self>) {
        loop {
            if !self.kinds.look_later().await {
                continue;
            }
            match self.apply_again().await {
                Ok(report) => {
                    report
                        .changes
                        .iter()
                        .for_each(|change| tracing::info!(%change, "the served kinds changed"));
                }
                Err(error) => tracing::debug!(%error, "the served kinds are not applied"),
            }
        }
    }

    /// Applies the configuration again whenever a component declares that it reads something else than its versions before. Never
    /// returns.
    pub(super) async fn follow_declarations(self: Arc<Self>) {
        loop {
            let waiting = self.parts.supply.declarations().changed().await;
            match self.apply_again().await {
                Ok(report) => {
                    report.changes.iter().for_each(|change| {
                        tracing::info!(%change, "a component reads something else than before");
                    });
                }
                Err(error) => tracing::debug!(%error, "what a component declares to read is not applied"),
            }
            for load in waiting {
                // The load may have ended.
                load.send(()).ok();
            }
        }
    }

    /// Adds the plugins of the Plugin objects that run with this configuration of the file, and what components declare to read.
    async fn completed(&self, file: &Config) -> Config {
        let (objects, mut config) = (self.objects.clone(), file.clone());
        let parts = Arc::clone(&self.parts);
        off_the_workers(move || {
            let plugins = objects.choose(&config);
            config.plugins.extend(plugins);
            parts.supply.declarations().complete(&mut config);
            config
        })
        .await
    }

    async fn apply_in_turn(
        self: &Arc<Self>,
        file: Config,
        mut applied: OwnedMutexGuard<Applied>,
    ) -> Result<Report, SubscribeError> {
        let single = self.kinds.expanded(&file, applied.config.as_ref());
        descriptors::check(&single);
        let new = self.completed(&single).await;
        let plan = Plan::between(applied.config.as_ref(), &new);
        let watches = settings::watches(&new);
        let mut report = Report::default();
        self.note_restarts(&new, &mut report).await;
        if let Some(old) = &applied.config {
            configure_log(&old.host, &new.host, &mut report);
            note_keys(old, &new, &mut report);
        }
        // This comes first, because components that are loaded from now on are verified by these settings.
        self.configure_registries(&new, &mut report);
        let kept = self.keep_informers(&plan, &watches).await?;
        self.remove(&plan, &mut report).await;
        note_watches(&plan, &mut report);
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
        self.change(&new, &plan, &watches, &mut report).await?;
        self.add(&new, &watches, &mut report).await?;
        drop(kept);
        applied.successions.retain(|gvr, succession| {
            let used = self.is_used(gvr);
            if !used {
                succession.pending.cancel();
            }
            used
        });
        let sources = new.plugins.iter().filter_map(|plugin| plugin.source.file().map(Path::to_owned));
        // A directory is watched for the files in it.
        let included = new.included.iter().map(|path| path.join("included.toml")).chain(new.included.clone());
        self.parts.directories.watch(sources.chain(included).chain(self.file.clone()));
        applied.unused.warn(&file, &new, &self.parts.factory);
        *self.shutdown_timeout.lock() = new.host.shutdown_timeout;
        self.in_force.applied(&new.written, &report);
        (applied.file, applied.config) = (Some(file), Some(new));
        Ok(report)
    }

    /// Notes the keys that wait for the next start of the host, and `http-ca` if only the content of its file has changed.
    async fn note_restarts(self: &Arc<Self>, new: &Config, report: &mut Report) {
        for key in needs_restart(&self.started, new) {
            report.note("key", key, Verdict::NeedsRestart, "it is read when the host starts");
        }
        let (applier, host) = (Arc::clone(self), new.host.clone());
        if on_a_thread(move || applier.started.has_other_authorities(&host)).await {
            let detail = "its file has changed, and is read when the host starts";
            report.note("key", "[host] http-ca", Verdict::NeedsRestart, detail);
        }
    }

    /// Applies the changes of plugins that stay, all at once: a plugin that takes long to start delays no other.
    async fn change(
        &self,
        new: &Config,
        plan: &Plan,
        watches: &Watches,
        report: &mut Report,
    ) -> Result<(), SubscribeError> {
        let changed = new.plugins.iter().filter(|config| plan.plugins.changed.contains(&config.name));
        let changes = changed.filter_map(|config| Some((self.plugins.find(&config.name)?, config.clone())));
        let changes = changes.map(|(plugin, config)| {
            Box::pin(async move {
                let mut report = Report::default();
                plugin.change(config, watches, &mut report).await.map(|()| report)
            })
        });
        for changed in join_all(changes).await {
            report.changes.extend(changed?.changes);
        }
        Ok(())
    }

    /// Applies the settings of registries and of their verification. Components from registries are verified anew.
    fn configure_registries(&self, new: &Config, report: &mut Report) {
        if !self.parts.supply.puller().configure(new.registries.clone()) {
            return;
        }
        report.note("key", "[[registry]], [[signer]] and [[verify]]", Verdict::Changed, "");
        for plugin in self.plugins.all().iter() {
            if plugin.versions().origin().source.reference().is_some() {
                plugin.versions().load_again();
            }
        }
    }

    /// Puts the present content of a plugin's file into service, on request, on the threads of the guests. If the plugin is removed
    /// meanwhile, the load ends and starts no version.
    ///
    /// # Cancel safety
    /// The load continues if the future is dropped.
    pub(super) async fn load(&self, plugin: &Arc<RunningPlugin>) -> Result<Option<VersionInfo>, String> {
        let plugin = Arc::clone(plugin);
        let loading = async move {
            let loading = Box::pin(plugin.versions().load(Look::Requested));
            match plugin.stopping().run_until_cancelled(loading).await {
                Some(loaded) => loaded.map_err(|error| error.to_string()),
                None => Err("the plugin was removed meanwhile, or the host stops".to_owned()),
            }
        };
        self.parts.guests.spawn(loading).await.unwrap_or_else(|failed| Err(failed.to_string()))
    }

    /// Subscribes to each unchanged watch that a removed or changed plugin uses. The informer of the watch runs until these subscriptions
    /// are dropped, so that a new plugin can use it.
    async fn keep_informers(
        &self,
        plan: &Plan,
        watches: &Watches,
    ) -> Result<Vec<Subscription>, SubscribeError> {
        let kept: Vec<WatchConfig> = {
            let plugins = self.plugins.all();
            let users: Vec<_> = plugins.iter().filter(|plugin| plan.affects(plugin.name())).collect();
            let is_used = |gvr: &Gvr| users.iter().any(|plugin| plugin.subscriptions().contains(gvr));
            let unchanged = watches.iter().filter(|(gvr, _)| !plan.watches.changed.contains(gvr));
            unchanged.filter(|(gvr, _)| is_used(gvr)).map(|(_, watch)| watch.clone()).collect()
        };
        let factory = Arc::clone(&self.parts.factory);
        let subscribing =
            move || kept.into_iter().map(|watch| factory.subscribe(watch)).collect::<Result<Vec<_>, _>>();
        Ok(off_the_workers(subscribing).await?)
    }

    async fn remove(&self, plan: &Plan, report: &mut Report) {
        let (removed, staying): (Vec<_>, Vec<_>) = self
            .plugins
            .all()
            .iter()
            .cloned()
            .partition(|plugin| plan.plugins.removed.iter().any(|name| name == plugin.name()));
        self.plugins.replace(staying);
        let removing = removed.clone();
        let removing = async move { join_all(removing.iter().map(|plugin| plugin.remove())).await };
        // `remove` calls guests, which must happen on their threads.
        let backlogs = self.parts.guests.spawn(removing).await.unwrap_or_default();
        for (plugin, backlog) in removed.iter().zip(backlogs) {
            let (plugin, notifications) = (plugin.name(), backlog.notifications);
            tracing::info!(plugin, notifications, objects = ?backlog.objects, "plugin removed; its pending notifications are discarded");
            let detail = format!("{} discarded", counted(notifications, "notification"));
            report.note("plugin", plugin, Verdict::Removed, detail);
        }
    }

    /// Starts the new plugins, and sorts all plugins as the file does.
    async fn add(
        self: &Arc<Self>,
        new: &Config,
        watches: &Watches,
        report: &mut Report,
    ) -> Result<(), SubscribeError> {
        let (applier, plugins, watches) = (Arc::clone(self), new.plugins.clone(), watches.clone());
        // A new subscription is offered every cached object.
        for name in off_the_workers(move || applier.add_plugins(&plugins, &watches)).await? {
            report.note("plugin", &name, Verdict::Added, "");
        }
        Ok(())
    }

    /// Returns the names of the new plugins.
    fn add_plugins(&self, configs: &[Plugin], watches: &Watches) -> Result<Vec<String>, SubscribeError> {
        let (mut plugins, mut added) = (Vec::with_capacity(configs.len()), Vec::new());
        for config in configs {
            if let Some(plugin) = self.plugins.find(&config.name) {
                plugins.push(plugin);
                continue;
            }
            let plugin = Arc::new(RunningPlugin::new(config.clone(), watches, &self.parts)?);
            added.push(Arc::clone(&plugin));
            plugins.push(plugin);
        }
        for plugin in &added {
            self.tasks.spawn_on(Arc::clone(plugin).run(), &self.parts.guests);
        }
        self.plugins.replace(plugins);
        Ok(added.iter().map(|plugin| plugin.name().to_owned()).collect())
    }

    /// Starts the informer that is to replace the informer of a watch. Returns `None` if no plugin uses the watch.
    fn begin_succession(
        self: &Arc<Self>,
        gvr: &Gvr,
        watches: &Watches,
    ) -> Result<Option<Succession>, SubscribeError> {
        let Some(watch) = watches.get(gvr).filter(|_| self.is_used(gvr)) else { return Ok(None) };
        let mut replaced = self.parts.factory.informers();
        // The host itself may follow Plugin objects with an informer that no plugin uses.
        let is_claimed = |informer: &SharedInformer| {
            let plugins = self.plugins.all();
            let mut users = plugins.iter().filter(|plugin| plugin.subscriptions().contains(gvr));
            users.any(|plugin| plugin.subscriptions().other_than(informer).is_none())
        };
        replaced.retain(|informer| informer.key().gvr == *gvr && is_claimed(informer));
        let keeper = self.parts.factory.supersede(watch.clone(), &replaced)?;
        let (new, pending) = (keeper.informer().clone(), self.parts.stop.child_token());
        let (applier, cancelled, watch) = (Arc::clone(self), pending.clone(), watch.clone());
        self.tasks.spawn(async move { applier.complete_succession(new, watch, cancelled).await });
        Ok(Some(Succession { _keeper: keeper, pending }))
    }

    /// Returns true if some plugin subscribes to this resource or may read it.
    fn is_used(&self, gvr: &Gvr) -> bool {
        self.plugins.all().iter().any(|plugin| plugin.subscriptions().contains(gvr))
    }

    /// Lets a new informer replace the previous one once it has synced. Until then the previous one serves.
    async fn complete_succession(
        self: Arc<Self>,
        new: SharedInformer,
        watch: WatchConfig,
        cancelled: CancellationToken,
    ) {
        let ready = async {
            self.wait_for(&new).await;
            // Catching up here, while the previous informer still serves, shortens the time in which neither delivers.
            let old = self.users_of_others(&new).into_iter().map(|(_, old)| old.newest_applied_version());
            let catching_up = catch_up(&new, old.filter_map(|version| version.ok().flatten()));
            timeout(CATCH_UP, catching_up).await.ok();
            self.hold().await
        };
        let Some(mut applied) = cancelled.run_until_cancelled(ready).await else { return };
        if cancelled.is_cancelled() {
            return;
        }
        if new.has_ended() {
            tracing::error!(watch = %new.key(), "the informer of the changed watch has failed; the previous informer keeps serving");
            return;
        }
        let succession = applied.successions.remove(&watch.gvr);
        let users = self.users_of_others(&new);
        for (_, old) in &users {
            // From now on its cache is exactly what its listeners have received.
            self.parts.factory.stop(old).await;
        }
        for (plugin, _) in users {
            if let Err(error) = self.hand_over(&plugin, &watch).await {
                tracing::error!(plugin = plugin.name(), watch = %new.key(), %error, "the plugin cannot subscribe to the changed watch");
            }
        }
        self.objects.follow_anew();
        tracing::info!(watch = %new.key(), "the changed watch is in force");
        drop((applied, succession));
        self.end_succession(new, cancelled).await;
    }

    /// Waits until the new informer has synced, or until no informer has the resource any more. An API server may deny a resource
    /// for a moment, and deletions that were delivered cannot be taken back. So the previous informer decides: it serves until it
    /// has noticed itself that the resource is gone.
    async fn wait_for(&self, new: &SharedInformer) {
        let is_served =
            |old: &SharedInformer| old.has_synced() && old.status().phase != Phase::WaitingForResource;
        while !new.wait_synced_or_unserved().await
            && !new.has_ended()
            && self.users_of_others(new).iter().any(|(_, old)| is_served(old))
        {
            timeout(LOOK_AGAIN, new.wait_synced()).await.ok();
        }
    }

    /// Subscribes a plugin to the new informer of a watch.
    async fn hand_over(
        &self,
        plugin: &Arc<RunningPlugin>,
        watch: &WatchConfig,
    ) -> Result<(), SubscribeError> {
        let subscription = self.parts.factory.subscribe(watch.clone())?;
        let plugin = Arc::clone(plugin);
        off_the_workers(move || plugin.replace_informer(subscription)).await
    }

    /// Waits until the new informer has seen everything that plugins have received. An object that this informer does not have then is
    /// gone, and its deletion is delivered. An object that cannot be decoded is not gone: this function returns only when no plugin
    /// knows an object that the informer cannot decode, or when the informer ends.
    async fn end_succession(&self, new: SharedInformer, cancelled: CancellationToken) {
        let awaited =
            self.plugins.all().iter().filter_map(|plugin| plugin.subscriptions().awaits(&new)).max();
        let caught_up = catch_up(&new, awaited.map(|version| version.to_string()).into_iter());
        if cancelled.run_until_cancelled(caught_up).await.is_none() || new.has_ended() {
            return;
        }
        loop {
            let (informer, plugins) = (new.clone(), self.plugins.all());
            let undecoded = new.undecoded();
            let end = move || {
                let behind = |plugin: &&Arc<RunningPlugin>| !plugin.subscriptions().caught_up(&informer);
                plugins.iter().filter(behind).count()
            };
            let behind = off_the_workers(end).await;
            let released = async { behind > 0 && new.wait_released(&undecoded).await };
            if cancelled.run_until_cancelled(released).await != Some(true) {
                return;
            }
        }
    }

    /// The plugins that use the resource of this informer through another informer, with that informer.
    fn users_of_others(&self, informer: &SharedInformer) -> Vec<(Arc<RunningPlugin>, SharedInformer)> {
        let plugins = self.plugins.all();
        plugins
            .iter()
            .filter_map(|plugin| Some((Arc::clone(plugin), plugin.subscriptions().other_than(informer)?)))
            .collect()
    }
}

fn note_watches(plan: &Plan, report: &mut Report) {
    let Plan { watches, .. } = plan;
    let verdicts = [
        (&watches.added, Verdict::Added, ""),
        (&watches.removed, Verdict::Removed, ""),
        (&watches.changed, Verdict::Changed, "it is in force once it has synced"),
    ];
    for (gvrs, verdict, detail) in verdicts {
        for gvr in gvrs {
            report.note("watch", &gvr.to_string(), verdict, detail);
        }
    }
}

/// Waits until an informer has reached these versions. If no selected object has such a version, only a bookmark shows it.
/// Returns at once if the versions have no order or the resource is not served.
async fn catch_up(new: &SharedInformer, versions: impl Iterator<Item = String>) {
    if new.has_synced() {
        let versions: Vec<String> = versions.collect();
        join_all(versions.iter().map(|version| new.wait_for_version(version, None))).await;
    }
}

/// Applies another log filter, unless a flag or an environment variable sets the filter.
fn configure_log(old: &Host, new: &Host, report: &mut Report) {
    if old.log == new.log {
        return;
    }
    match logging::configure(&new.log) {
        Ok(()) => report.note("key", "[host] log", Verdict::Changed, ""),
        Err(error) => report.note("key", "[host] log", Verdict::NeedsRestart, error.to_string()),
    }
}

#[cfg(test)]
pub(super) mod tests;
