//! A running plugin that changes its configuration.

use std::sync::Arc;

use informer_runtime::PluginConfig;
use tokio::time::timeout;

use super::{CALLS_ENDED_WITHIN, RunningPlugin, SubscribeError, Watches};
use crate::{
    admin::types::{Report, Verdict},
    app::{blocking::off_the_workers, settings},
    config,
};

// === impl RunningPlugin ===

impl RunningPlugin {
    /// Applies another configuration, field by field, and notes the change in the report. Calls in flight finish as they
    /// began, pending notifications stay, and nothing is delivered again. If an instance could notice the difference, a new
    /// version of the component is started; if that fails, the version in service stays as it was. Informers that are to be
    /// replaced must be superseded before.
    ///
    /// # Errors
    /// [`SubscribeError`], only while the host stops.
    pub(in crate::app) async fn change(
        self: &Arc<Self>,
        new: config::Plugin,
        watches: &Watches,
        report: &mut Report,
    ) -> Result<(), SubscribeError> {
        let old = self.config();
        let detail = differing(&old, &new).join(", ");
        // A pending notification of a subscription that goes becomes the key that it would have become.
        self.versions.calls().set_enqueue(old.subscriptions.iter().chain(&new.subscriptions));
        let (plugin, before, after) = (Arc::clone(self), Arc::clone(&old), new.clone());
        let watches = watches.clone();
        let changing = move || plugin.subscriptions.change(&before, &after, &watches);
        if off_the_workers(changing).await? {
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
        let sandbox = settings::plugin(&new);
        let other_file = self.versions.set_source(new.source.clone());
        *self.config.lock() = Arc::new(new);
        report.note("plugin", self.name(), Verdict::Changed, detail);
        if sandbox != settings::plugin(&old) {
            self.configure(sandbox).await;
        }
        if other_file || self.plugin().version().is_none() {
            self.versions.load_again();
        }
        Ok(())
    }

    /// Applies the part of the configuration that an instance could notice. If the plugin takes longer to start than a call
    /// may take, because it has used its share of CPU or waits for a load, it continues in the background: the other plugins
    /// do not wait for it.
    async fn configure(self: &Arc<Self>, sandbox: PluginConfig) {
        let within = sandbox.limits.deadline + CALLS_ENDED_WITHIN;
        let plugin = Arc::clone(self);
        let configuring = async move { plugin.versions.configure(sandbox).await };
        let configuring = self.stop.clone().run_until_cancelled_owned(configuring);
        // It calls the guest, which must happen on the threads of the guests.
        match timeout(within, self.parts.guests.spawn(configuring)).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => {
                tracing::error!(plugin = self.name(), %error, "the plugin keeps its configuration");
            }
            Err(_) => {
                tracing::warn!(
                    plugin = self.name(),
                    ?within,
                    "the plugin has not started with its new configuration yet; it continues to start"
                );
            }
        }
    }
}

/// The keys of `[[plugin]]` that differ, as the file writes them.
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
