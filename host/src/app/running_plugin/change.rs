//! A plugin that goes on with another configuration.

use std::sync::Arc;

use informer_cache::{ResourceVersion, SharedInformer, Subscription};
use informer_runtime::PluginConfig;
use informer_types::{Gvr, ReadGrants};
use tokio::time::timeout;

use super::{CALLS_ENDED_WITHIN, RunningPlugin, SubscribeError, Target, Watches, off_the_workers};
use crate::{
    app::{
        changes::{Report, Verdict},
        settings,
    },
    config,
};

// === impl RunningPlugin ===

impl RunningPlugin {
    /// Takes on another configuration, field by field: calls in hand finish as they began, what is pending stays, and
    /// nothing is told again. What an instance could tell starts a new version of the component aside; where that
    /// fails, the one in service goes on as it was. What was done is noted in the report. Informers that are to give way are
    /// superseded by then.
    ///
    /// # Errors
    /// [`SubscribeError`], at the end of the host only.
    pub(in crate::app) async fn change(
        self: &Arc<Self>,
        new: config::Plugin,
        watches: &Watches,
        report: &mut Report,
    ) -> Result<(), SubscribeError> {
        let old = self.config();
        let detail = differing(&old, &new).join(", ");
        // What is pending of a subscription that goes becomes the key it would have become.
        self.calls.set_enqueue(old.subscriptions.iter().chain(&new.subscriptions));
        let (unit, before, claimed) = (Arc::clone(self), Arc::clone(&old), new.clone());
        let watches = watches.clone();
        let claiming = move || -> Result<bool, SubscribeError> {
            let narrow = unit.reads_too_early(&before, &claimed);
            Ok(unit.claims_differ(&claimed, &watches)? || narrow)
        };
        if off_the_workers(claiming).await? {
            self.gate.close();
        }
        let dispatch = settings::dispatch(&new);
        if dispatch != settings::dispatch(&old)
            && let Some(dispatcher) = &*self.dispatcher.lock()
        {
            dispatcher.configure(dispatch);
        }
        self.keys.configure(&old, &new);
        self.config_files.set(new.config_files.clone());
        if old.log_level != new.log_level {
            self.log_level.set(new.log_level);
        }
        self.queue.configure(&settings::queue(&new));
        let (sandbox, other_file) = (settings::plugin(&new), new.source != old.source);
        *self.config.lock() = Arc::new(new);
        report.note("plugin", self.name(), Verdict::Changed, detail);
        if sandbox != settings::plugin(&old) {
            self.configure(sandbox).await;
        }
        if other_file || self.plugin.version().is_none() {
            self.source_changed.notify_one();
        }
        Ok(())
    }

    /// Lets the plugin take on what an instance could tell. One that takes longer to start than a call may, because it has
    /// used up its share of the processors or waits for a load, goes on with that: the other plugins do not wait for it.
    async fn configure(self: &Arc<Self>, sandbox: PluginConfig) {
        let within = sandbox.limits.deadline + CALLS_ENDED_WITHIN;
        let unit = Arc::clone(self);
        // Not one at a time with loads: one in hand may take long, and what was revoked does not wait for it.
        let configuring = async move {
            let configured = unit.plugin.configure(sandbox).await;
            if !matches!(configured, Ok(None)) {
                unit.note(&configured);
            }
            if unit.plugin.version().is_none() {
                unit.source_changed.notify_one();
            }
        };
        // It calls the plugin, so not here.
        let configuring = self.stop.clone().run_until_cancelled_owned(configuring);
        match timeout(within, self.parts.guests.spawn(configuring)).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => {
                tracing::error!(plugin = self.name(), %error, "the plugin keeps its configuration");
            }
            Err(_) => {
                tracing::warn!(
                    plugin = self.name(),
                    ?within,
                    "the plugin has not started with its new configuration yet; it goes on with that"
                );
            }
        }
    }

    /// Remembers what it may read only now, while the cache that it has of it holds only what those who could read it asked
    /// for: until [`succeed`](Self::succeed) gives it the other one. True where that is something.
    fn reads_too_early(&self, old: &config::Plugin, new: &config::Plugin) -> bool {
        let reads = |config: &config::Plugin, gvr: &Gvr| {
            config.grants.read.iter().flat_map(ReadGrants::gvrs).any(|read| read == gvr)
        };
        let superseded = self.parts.factory.superseded();
        // Who has no claim yet, or one on the successor, is given nothing else later.
        let gives_way = |informer: &SharedInformer| superseded.iter().any(|one| one.is(informer));
        let claimed = self.claims.lock().informers();
        let mut narrow = self.narrow.lock();
        let before = narrow.len();
        narrow.retain(|gvr| reads(new, gvr));
        let fewer = narrow.len() < before;
        let early = claimed
            .into_iter()
            .filter(|(gvr, informer)| gives_way(informer) && !reads(old, gvr) && reads(new, gvr));
        narrow.extend(early.map(|(gvr, _)| gvr));
        // What nobody waits for any more may open it.
        fewer || !narrow.is_empty()
    }

    fn target(&self) -> Target<'_> {
        Target { queue: &self.queue, tracer: &self.tracer }
    }

    /// Takes on the claims of a configuration. True where what it reads may be incomplete now.
    fn claims_differ(&self, new: &config::Plugin, watches: &Watches) -> Result<bool, SubscribeError> {
        let mut claims = self.claims.lock();
        let added = claims.set(new, watches, &self.parts.factory, self.target())?;
        self.lister.set(claims.informers());
        Ok(added)
    }

    /// The informer that it uses for the resource of this one, where it is another.
    pub(in crate::app) fn other_than(&self, informer: &SharedInformer) -> Option<SharedInformer> {
        self.claims.lock().other_than(informer)
    }

    /// Hears of a resource through another informer from now on; the one before has ended.
    ///
    /// # Errors
    /// [`SubscribeError`], at the end of the host only.
    ///
    /// # Blocking
    /// As [`SharedInformer::add_listener`].
    pub(in crate::app) fn succeed(&self, subscription: Subscription) -> Result<(), SubscribeError> {
        let gvr = subscription.informer().key().gvr.clone();
        let mut claims = self.claims.lock();
        claims.succeed(&self.name, subscription, &self.tracer)?;
        self.lister.set(claims.informers());
        drop(claims);
        self.narrow.lock().remove(&gvr);
        // Whoever waited for the one before waits for this one.
        self.gate.close();
        Ok(())
    }

    /// The newest version that an informer which has taken over must come to before [`caught_up`](Self::caught_up).
    pub(in crate::app) fn awaits(&self, informer: &SharedInformer) -> Option<ResourceVersion> {
        self.claims.lock().awaits(informer)
    }

    /// An informer that has taken over has seen by now whatever the one before had seen.
    ///
    /// # Blocking
    /// As [`SharedInformer::retarget_listener`].
    pub(in crate::app) fn caught_up(&self, informer: &SharedInformer) {
        self.claims.lock().caught_up(&self.name, informer);
    }

    /// Hears of this resource, or may read it.
    pub(in crate::app) fn claims(&self, gvr: &Gvr) -> bool {
        self.claims.lock().contains(gvr)
    }
}

/// The keys of `[[plugin]]` that are not the same, as they are written.
fn differing(old: &config::Plugin, new: &config::Plugin) -> Vec<&'static str> {
    let same = [
        ("source", old.source == new.source),
        ("instance", old.instance == new.instance),
        ("on", old.subscriptions == new.subscriptions),
        ("queue", old.queue == new.queue),
        ("workqueue", old.workqueue == new.workqueue),
        ("retry", old.retry == new.retry),
        ("quarantine", old.quarantine == new.quarantine),
        ("limits", old.limits == new.limits),
        ("grant", old.grants == new.grants),
        ("reload", old.reload == new.reload),
        ("on-reload", old.on_reload == new.on_reload),
        ("config", old.config_json == new.config_json),
        ("config-files", old.config_files == new.config_files),
        ("log-level", old.log_level == new.log_level),
    ];
    same.into_iter().filter_map(|(key, same)| (!same).then_some(key)).collect()
}
