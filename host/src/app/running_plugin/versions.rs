//! The plugin's component: loaded, and followed as its file changes.

use std::sync::Arc;

use informer_runtime::{Component, LoadError, VersionInfo};

use super::{RunningPlugin, off_the_workers};
use crate::app::directories::{Directories, look};

/// Why the component's file is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::app) enum Look {
    /// It changed, or may have. A version that was tried and failed is not tried again.
    Changed,
    /// Somebody asks for it: what failed is tried again.
    Asked,
}

// === impl RunningPlugin ===

impl RunningPlugin {
    /// Why the component that the plugin should have is not in service, if so.
    pub(in crate::app) fn refused(&self) -> Option<String> {
        let refused = self.refused.lock().clone();
        refused.or_else(|| {
            let rejected = self.plugin.rejected()?;
            let digest = rejected.digest.get(..12).unwrap_or(&rejected.digest);
            let why = rejected.why;
            Some(format!("version {digest} was taken out of service: {why}; the one before it is back. It is tried again once its file changes, or by `informer reload`"))
        })
    }

    /// Loads the component once, and again whenever its file changes.
    pub(super) async fn follow(&self) {
        let mut last = None;
        loop {
            let changed = self.parts.directories.changed();
            let path = self.source();
            let seen = Some((look(&path), path.clone()));
            if last != seen {
                // What is wrong is kept for whoever asks.
                self.load(Look::Changed).await.ok();
                last = seen;
            }
            tokio::select! {
                biased;
                () = self.source_changed.notified() => last = None,
                () = Directories::settled(changed, &path) => {}
            }
        }
    }

    /// Puts the file's present content into service, unless it is in service already. On any failure the version
    /// in service goes on.
    ///
    /// # Errors
    /// Why it does not.
    pub(in crate::app) async fn load(&self, look: Look) -> Result<Option<VersionInfo>, LoadError> {
        let _one_at_a_time = self.loading.lock().await;
        let loaded = self.try_load(look).await;
        self.note(&loaded);
        loaded
    }

    async fn try_load(&self, look: Look) -> Result<Option<VersionInfo>, LoadError> {
        let plugin = &self.plugin;
        let in_service = plugin.version().filter(|_| !plugin.is_outdated());
        let rejected = plugin.rejected().filter(|_| look == Look::Changed);
        let has = |digest: &str| {
            let serves = in_service.as_ref().is_some_and(|version| *version.digest == *digest);
            if serves {
                plugin.pardon();
            }
            serves || rejected.as_ref().is_some_and(|rejected| *rejected.digest == *digest)
        };
        match Component::from_file_unless(&self.parts.engine, &self.source(), has).await? {
            Some(component) => plugin.load(&component).await.map(Some),
            None => Ok(None),
        }
    }

    /// Says what came of a load, and keeps it.
    pub(super) fn note(&self, loaded: &Result<Option<VersionInfo>, LoadError>) {
        let plugin = self.name();
        let first = !*self.loaded.borrow();
        match loaded {
            // It was refused a configuration meanwhile.
            Ok(None) if self.plugin.is_outdated() && self.plugin.rejected().is_none() => {}
            Ok(None) => *self.refused.lock() = None,
            Ok(Some(VersionInfo { name, version, sdk, digest, prepared_in, .. })) => {
                *self.refused.lock() = None;
                // Before its first call, which is its own.
                self.calls.note_swaps();
                self.loaded.send_replace(true);
                let what = if first { "plugin loaded" } else { "plugin reloaded" };
                tracing::info!(plugin, guest = name, version, sdk, %digest, ?prepared_in, "{what}");
            }
            Err(error) => {
                let what = if first {
                    "the plugin cannot be loaded; mend its file and it is tried again"
                } else if self.plugin.version().is_some() {
                    "the new version is refused; the one in service goes on"
                } else {
                    "the plugin is out of service: it does not work with what is left of its grants; mend its file or grant it that again"
                };
                tracing::error!(plugin, source = %self.source().display(), %error, "{what}");
                *self.refused.lock() = Some(error.to_string());
            }
        }
    }

    /// A version that takes over is tried at once, whatever the one before did: also one that comes back.
    pub(super) async fn try_after_swaps(&self) {
        let mut swaps = self.plugin.swaps();
        while swaps.changed().await.is_ok() {
            self.calls.note_swaps();
        }
    }

    /// Where the configuration asks for it, tells a version that takes over from another about everything again.
    pub(super) async fn replay_after_swaps(self: &Arc<Self>) {
        let mut swaps = self.plugin.swaps();
        // The first version hears of everything anyway.
        while swaps.changed().await.is_ok() {
            if *swaps.borrow_and_update() > 1 && self.config().on_reload == crate::config::OnReload::Replay {
                let unit = Arc::clone(self);
                off_the_workers(move || unit.claims.lock().replay()).await;
            }
        }
    }
}
