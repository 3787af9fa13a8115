//! The versions of a plugin's component: loaded, and loaded again when the file changes.

use std::{path::PathBuf, sync::Arc, time::Duration};

use informer_runtime::{Component, Engine, LoadError, Plugin, PluginConfig, VersionInfo};
use informer_types::Backoff;
use parking_lot::Mutex;
use tokio::{
    sync::{Notify, watch},
    time::{Instant, sleep_until},
};

use crate::{
    app::directories::{Directories, look},
    wiring::Calls,
};

/// The waits before a component is loaded again that failed to start.
const AGAIN: Backoff =
    Backoff { min: Duration::from_secs(1), max: Duration::from_secs(300), factor: 2.0, jitter: 0.2 };

/// Why the component is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::app) enum Look {
    /// The file may have changed. A version that was tried and failed is not tried again.
    Changed,
    /// A request. A version that was tried and failed is tried again.
    Requested,
}

/// The component of one plugin.
pub(in crate::app) struct Versions {
    name: Arc<str>,
    engine: Engine,
    plugin: Arc<Plugin>,
    calls: Arc<Calls>,
    /// The file of the component.
    source: Mutex<PathBuf>,
    /// Notified if the file must be loaded although it looks as before: the configuration names another file, or the
    /// component may be loaded now.
    source_changed: Notify,
    /// True once a version is in service; it stays true.
    loaded: watch::Sender<bool>,
    /// Why the last load failed; `None` if it succeeded.
    refused: Mutex<Option<String>>,
    /// Held during a load: the last requested load decides which version is in service.
    loading: tokio::sync::Mutex<()>,
}

// === impl Versions ===

impl Versions {
    pub(super) fn new(
        name: Arc<str>,
        engine: Engine,
        plugin: Arc<Plugin>,
        calls: Arc<Calls>,
        source: PathBuf,
    ) -> Self {
        Self {
            name,
            engine,
            plugin,
            calls,
            source: Mutex::new(source),
            source_changed: Notify::new(),
            loaded: watch::Sender::new(false),
            refused: Mutex::new(None),
            loading: tokio::sync::Mutex::default(),
        }
    }

    pub(super) fn plugin(&self) -> &Arc<Plugin> {
        &self.plugin
    }

    pub(super) fn calls(&self) -> &Calls {
        &self.calls
    }

    /// The file of the component.
    pub(in crate::app) fn source(&self) -> PathBuf {
        self.source.lock().clone()
    }

    /// Loads from this file from now on. Returns true if it is another file.
    pub(super) fn set_source(&self, source: PathBuf) -> bool {
        let mut own = self.source.lock();
        let other = *own != source;
        *own = source;
        other
    }

    /// Lets [`follow`](Self::follow) load the file even if it looks as before.
    pub(super) fn load_again(&self) {
        self.source_changed.notify_one();
    }

    /// Returns why the component that the plugin should have is not in service, if it is not.
    pub(in crate::app) fn refused(&self) -> Option<String> {
        let refused = self.refused.lock().clone();
        refused.or_else(|| {
            let rejected = self.plugin.rejected()?;
            let digest = rejected.digest.get(..12).unwrap_or(&rejected.digest);
            let why = rejected.why;
            Some(format!("version {digest} was taken out of service: {why}; the version before is back. It is tried again when its file changes, or by `informer reload`"))
        })
    }

    /// Waits until a version is in service.
    pub(super) async fn loaded(&self) {
        // The sender lives as long as `self`.
        self.loaded.subscribe().wait_for(|loaded| *loaded).await.ok();
    }

    /// Loads the component once, again whenever its file changes, and with a backoff if it may load later. Never returns.
    pub(super) async fn follow(&self, directories: &Directories) {
        let mut last = None;
        let (mut failures, mut again) = (0, None);
        loop {
            let changed = directories.changed();
            let path = self.source();
            let seen = Some((look(&path), path.clone()));
            if last != seen {
                // An error stays in `refused`.
                failures = match self.load(Look::Changed).await {
                    Err(error) if error.may_pass() => failures + 1,
                    _ => 0,
                };
                let wait = AGAIN.delay(failures, fastrand::f64());
                again = (failures > 0).then(|| Instant::now() + wait);
                last = seen;
            }
            tokio::select! {
                biased;
                () = self.source_changed.notified() => last = None,
                () = Directories::settled(changed, &path) => {}
                () = sleep_until(again.unwrap_or_else(Instant::now)), if again.is_some() => last = None,
            }
        }
    }

    /// Puts the present content of the file into service, unless it is in service already. If that fails, the version in
    /// service stays.
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
        match Component::from_file_unless(&self.engine, &self.source(), has).await? {
            Some(component) => plugin.load(&component).await.map(Some),
            None => Ok(None),
        }
    }

    /// Applies another configuration of the sandbox, which starts a new version of the component if an instance could notice
    /// the difference. It does not wait for a load: a load may take long, and a revoked grant must not wait.
    pub(super) async fn configure(&self, sandbox: PluginConfig) {
        let configured = self.plugin.configure(sandbox).await;
        if !matches!(configured, Ok(None)) {
            self.note(&configured);
        }
        if self.plugin.version().is_none() {
            self.load_again();
        }
    }

    /// Logs and keeps the result of a load.
    fn note(&self, loaded: &Result<Option<VersionInfo>, LoadError>) {
        let plugin = &*self.name;
        let first = !*self.loaded.borrow();
        match loaded {
            // The plugin refused a configuration meanwhile: that stays.
            Ok(None) if self.plugin.is_outdated() && self.plugin.rejected().is_none() => {}
            Ok(None) => *self.refused.lock() = None,
            Ok(Some(VersionInfo { name, version, sdk, digest, prepared_in, .. })) => {
                *self.refused.lock() = None;
                // Before the first call of the version, which belongs to the version.
                self.calls.note_swaps();
                self.loaded.send_replace(true);
                let what = if first { "plugin loaded" } else { "plugin reloaded" };
                tracing::info!(plugin, guest = name, version, sdk, %digest, ?prepared_in, "{what}");
            }
            Err(error) => {
                let what = if first {
                    if error.may_pass() {
                        "the plugin cannot be loaded; it is tried again later, and at once when its file changes"
                    } else {
                        "the plugin cannot be loaded; correct its file and it is tried again"
                    }
                } else if self.plugin.version().is_some() {
                    "the new version is refused; the version in service stays"
                } else {
                    "the plugin is out of service: it does not work without a grant that was revoked; correct its file or grant it again"
                };
                tracing::error!(plugin, source = %self.source().display(), %error, "{what}");
                *self.refused.lock() = Some(error.to_string());
            }
        }
    }

    /// Ends the quarantine whenever a version is put into service, also one that comes back: a version is not judged by the
    /// one before. Never returns.
    pub(super) async fn try_after_swaps(&self) {
        let mut swaps = self.plugin.swaps();
        while swaps.changed().await.is_ok() {
            self.calls.note_swaps();
        }
    }
}
