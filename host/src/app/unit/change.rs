//! A plugin that goes on with another configuration.

use std::sync::Arc;

use informer_cache::{SharedInformer, Subscription};

use super::{SubscribeError, Unit, Watches};
use crate::{
    app::{
        changes::{Report, Verdict},
        settings,
    },
    config,
};

// === impl Unit ===

impl Unit {
    /// Takes on another configuration, field by field: calls in hand finish as they began, what is pending stays, and
    /// nothing is told again. What an instance could tell starts a new version of the component aside; where that
    /// fails, the one in service goes on as it was. What was done is noted in the report.
    ///
    /// # Errors
    /// [`SubscribeError`], at the end of the host only.
    pub(in crate::app) async fn change(
        &self,
        new: config::Plugin,
        watches: &Watches,
        report: &mut Report,
    ) -> Result<(), SubscribeError> {
        let old = self.config();
        let detail = differing(&old, &new).join(", ");
        // What is pending of a subscription that goes becomes the key it would have become.
        self.calls.set_enqueue(old.subscriptions.iter().chain(&new.subscriptions));
        if self.claims_differ(&new, watches)? {
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
            let _one_at_a_time = self.loading.lock().await;
            let configured = self.plugin.configure(sandbox).await;
            if !matches!(configured, Ok(None)) {
                self.note(&configured);
            }
        }
        if other_file {
            self.source_changed.notify_one();
        }
        Ok(())
    }

    /// Takes on the claims of a configuration. True where what it reads may be incomplete now.
    fn claims_differ(&self, new: &config::Plugin, watches: &Watches) -> Result<bool, SubscribeError> {
        let mut claims = self.claims.lock();
        let added = claims.set(new, watches, &self.parts.factory, &self.queue)?;
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
    pub(in crate::app) fn succeed(&self, subscription: Subscription) -> Result<(), SubscribeError> {
        let mut claims = self.claims.lock();
        claims.succeed(&self.name, subscription)?;
        self.lister.set(claims.informers());
        Ok(())
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
