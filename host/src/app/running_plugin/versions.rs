//! The versions of a plugin's component: loaded, and loaded again when the file changes.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use informer_registry::Puller;
use informer_runtime::{Component, Engine, LoadError, Plugin, PluginConfig, VersionInfo};
use informer_types::{Backoff, Gvr};
use parking_lot::Mutex;
use tokio::{
    sync::{Notify, futures::Notified, watch},
    time::{Instant, sleep_until},
};

use super::pulls::{Pulls, Supplied, Wanted};
use crate::{
    app::{
        advice::{self, advised},
        declarations::Declarations,
        directories::{Directories, Seen, look},
        origin::Origin,
    },
    config::{self, Source},
    election::Leadership,
    lock::Lock,
    wiring::Calls,
};

/// The waits before the next load, after a failure that may pass.
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

/// The sources of the components of all plugins, what the components declare, and whether they may be put into service.
pub(in crate::app) struct Supply {
    puller: Arc<Puller>,
    /// The lock file, which need not exist; `None` if there is no configuration file.
    lock: Option<PathBuf>,
    declarations: Arc<Declarations>,
    /// No version is put into service before the host leads.
    leadership: Leadership,
}

/// The component of one plugin.
pub(in crate::app) struct Versions {
    name: Arc<str>,
    engine: Engine,
    /// What the components of all plugins declare to read.
    declarations: Arc<Declarations>,
    plugin: Arc<Plugin>,
    calls: Arc<Calls>,
    /// No version is put into service before the host leads.
    leadership: Leadership,
    /// The digest of the component that was compiled while the host stood by. Unless a request wants that, it is not compiled again
    /// before the host leads.
    compiled: Mutex<Option<String>>,
    /// The origin of the component.
    origin: Mutex<Origin>,
    /// A resource that the plugin subscribes to, for advice.
    resource: Mutex<Option<Gvr>>,
    pulls: Pulls,
    /// Notified if the file must be loaded although it looks as before: the configuration names another one, or the
    /// component may be loaded now.
    source_changed: Notify,
    /// Notified if the component did not start with a new configuration, and the cause may pass.
    start_failed: Notify,
    /// Notified when the plugin should have another component. A pull of the previous component then ends.
    superseded: Notify,
    /// True from a change of the origin until the first load from the new origin has ended. It is written while `origin` is locked.
    is_changing: AtomicBool,
    /// True once a version is in service; it stays true.
    loaded: watch::Sender<bool>,
    /// Why the component that the plugin should have is not in service; `None` if it is, as far as the host knows.
    refused: Mutex<Option<Refusal>>,
    /// Held during a load: the last requested load decides which version is in service.
    loading: tokio::sync::Mutex<()>,
}

/// The reason why the component that the plugin should have is not in service.
enum Refusal {
    /// A load failed.
    Load(String),
    /// The registry failed before the component was ever pulled.
    Pull(String),
    /// The version in service did not start with another configuration.
    Configuration(String),
}

/// The end of a load that did not fail.
enum Loaded {
    /// This version was put into service.
    Version(VersionInfo),
    /// Nothing was loaded: the component is in service, it was rejected before, or it was compiled before while the host stood by.
    Known,
    /// The component was compiled now. It is put into service once the host leads.
    StandsBy,
    /// The registry failed, so nothing is known about the component.
    Unanswered(LoadError),
    /// The registry failed before the component was ever pulled, so the version in service is another one.
    NeverPulled(LoadError),
}

// === impl Supply ===

impl Supply {
    /// `file` is the configuration file, if there is one.
    pub(in crate::app) fn new(puller: Puller, file: Option<&Path>, leadership: Leadership) -> Self {
        let (puller, lock) = (Arc::new(puller), file.map(Lock::path));
        Self { puller, lock, declarations: Declarations::new(), leadership }
    }

    /// The role of the host.
    pub(in crate::app) fn leadership(&self) -> &Leadership {
        &self.leadership
    }

    /// Pulls components from registries.
    pub(in crate::app) fn puller(&self) -> &Puller {
        &self.puller
    }

    /// What the components declare to read.
    pub(in crate::app) fn declarations(&self) -> &Arc<Declarations> {
        &self.declarations
    }
}

// === impl Versions ===

impl Versions {
    pub(super) fn new(
        config: &config::Plugin,
        engine: Engine,
        supply: &Supply,
        plugin: Arc<Plugin>,
        calls: Arc<Calls>,
    ) -> Self {
        Self {
            name: config.name.as_str().into(),
            engine,
            declarations: Arc::clone(&supply.declarations),
            plugin,
            calls,
            leadership: supply.leadership.clone(),
            compiled: Mutex::default(),
            origin: Mutex::new(Origin::of(config)),
            resource: Mutex::new(advice::resource(config)),
            pulls: Pulls::new(Arc::clone(&supply.puller), supply.lock.clone(), config.source.clone()),
            source_changed: Notify::new(),
            start_failed: Notify::new(),
            superseded: Notify::new(),
            is_changing: AtomicBool::new(false),
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

    /// The origin of the component.
    pub(in crate::app) fn origin(&self) -> Origin {
        self.origin.lock().clone()
    }

    /// Names this resource in advice from now on.
    pub(super) fn advise(&self, resource: Option<Gvr>) {
        *self.resource.lock() = resource;
    }

    /// Loads from this origin from now on. Returns true if it differs from the previous origin, for example in its digest.
    pub(super) fn set_origin(&self, origin: Origin) -> bool {
        let mut own = self.origin.lock();
        let (other, is_superseded) = (*own != origin, !own.is_of_same_component(&origin));
        if own.source != origin.source {
            self.pulls.reset(origin.source.clone());
        }
        *own = origin;
        if is_superseded {
            // Both are about the component of the previous origin.
            *self.refused.lock() = None;
            *self.compiled.lock() = None;
            self.is_changing.store(true, Ordering::Relaxed);
            self.superseded.notify_waiters();
        }
        other
    }

    /// The pulls from the registry.
    pub(in crate::app) fn pulls(&self) -> &Pulls {
        &self.pulls
    }

    /// Lets [`follow`](Self::follow) load the file even if it looks as before.
    pub(in crate::app) fn load_again(&self) {
        self.source_changed.notify_one();
    }

    /// Returns why the component that the plugin should have is not in service, if it is not.
    pub(in crate::app) fn refused(&self) -> Option<String> {
        let refused = self.refused.lock().as_ref().map(|refused| match refused {
            Refusal::Load(why) | Refusal::Configuration(why) => why.clone(),
            Refusal::Pull(why) => format!("the component cannot be pulled: {why}"),
        });
        refused.or_else(|| {
            let rejected = self.plugin.rejected()?;
            let digest = rejected.digest.get(..12).unwrap_or(&rejected.digest);
            let why = rejected.why;
            Some(format!("version {digest} was taken out of service: {why}; the previous version is back. Correct the component, or run `informer reload` to try version {digest} again"))
        })
    }

    /// Waits until a version is in service.
    pub(super) async fn loaded(&self) {
        // The sender lives as long as `self`.
        self.loaded.subscribe().wait_for(|loaded| *loaded).await.ok();
    }

    /// Loads the component once, again whenever its file or its tag changes, and with a backoff if it may load later. A host that
    /// stands by compiles it, and puts it into service when it begins to lead. Never returns.
    pub(super) async fn follow(&self, directories: &Directories) {
        let mut last = None;
        let (mut failures, mut again) = (0, None);
        loop {
            let changed = directories.changed();
            let origin = self.origin();
            let from_registry = origin.source.reference().is_some();
            let path =
                origin.source.file().or(self.pulls.lock().map(|path| path.as_path())).map(Path::to_owned);
            let file = path.as_deref().and_then(look);
            let seen = Some((file, origin));
            // Before the load: a host that begins to lead meanwhile loads once more.
            let stands_by = !self.leadership.leads();
            if last != seen {
                // An error stays in `refused`.
                let passing = self.load(Look::Changed).await.err().filter(LoadError::may_pass);
                failures = if passing.is_some() { failures + 1 } else { 0 };
                let wait = AGAIN.delay(failures, fastrand::f64());
                again = passing.map(|error| Instant::now() + wait.max(error.rest()));
                last = seen;
            }
            tokio::select! {
                biased;
                () = self.source_changed.notified() => last = None,
                () = self.start_failed.notified() => {
                    failures += 1;
                    again = Some(Instant::now() + AGAIN.delay(failures, fastrand::f64()));
                }
                () = self.leadership.begins(), if stands_by => last = None,
                () = self.pulls.due(), if from_registry => last = None,
                () = settled(directories, changed, path.as_deref().map(|path| (path, file)), from_registry) => {}
                () = sleep_until(again.unwrap_or_else(Instant::now)), if again.is_some() => last = None,
            }
        }
    }

    /// Puts the present content of the file into service, unless it is in service already. If that fails, the version in
    /// service stays. If the registry does not answer, an earlier refusal stays too. If the origin changes before a version is in
    /// service, the result is dropped, and the component of the new origin is loaded.
    pub(in crate::app) async fn load(&self, look: Look) -> Result<Option<VersionInfo>, LoadError> {
        let _one_at_a_time = self.loading.lock().await;
        loop {
            let origin = self.origin();
            // The origin changed. The load begins anew, even if a second change has restored the origin.
            let Some(ended) = self.try_load(look, &origin).await.transpose() else { continue };
            if matches!(ended, Ok(Loaded::Version(_))) || !self.is_superseded(&origin) {
                let result = self.ended(look, &origin, ended).await;
                let present = self.origin.lock();
                if present.is_of_same_component(&origin) {
                    self.is_changing.store(false, Ordering::Relaxed);
                }
                return result;
            }
        }
    }

    /// Returns true if the component of a changed origin is being loaded. A version in service then comes from the previous origin.
    pub(in crate::app) fn is_changing(&self) -> bool {
        self.is_changing.load(Ordering::Relaxed)
    }

    /// Returns true if the plugin should have the component of another origin by now.
    fn is_superseded(&self, origin: &Origin) -> bool {
        !self.origin.lock().is_of_same_component(origin)
    }

    /// Keeps and logs the result of a load from this origin.
    async fn ended(
        &self,
        look: Look,
        origin: &Origin,
        ended: Result<Loaded, LoadError>,
    ) -> Result<Option<VersionInfo>, LoadError> {
        match ended {
            Ok(Loaded::Version(version)) => {
                *self.refused.lock() = None;
                self.serves(&version);
                Ok(Some(version))
            }
            Ok(Loaded::Known) => {
                // The plugin refused a configuration meanwhile: that stays.
                if !self.plugin.is_outdated() || self.plugin.rejected().is_some() {
                    *self.refused.lock() = None;
                }
                Ok(None)
            }
            Ok(Loaded::StandsBy) => {
                *self.refused.lock() = None;
                Ok(None)
            }
            Ok(Loaded::Unanswered(error)) => {
                // The lock file pins the pulled component again, so the refusal of a component that was never pulled is out of date.
                self.refused.lock().take_if(|refused| matches!(refused, Refusal::Pull(_)));
                if look == Look::Requested { Err(error) } else { Ok(None) }
            }
            Ok(Loaded::NeverPulled(error)) => {
                self.keep(Some(origin), Refusal::Pull(error.to_string()));
                if look == Look::Requested { Err(error) } else { Ok(None) }
            }
            Err(error) => {
                let resource = self.resource.lock().clone();
                let error = advised(error, origin.source.file(), resource.as_ref()).await;
                self.refuse(Some(origin), &error, Refusal::Load);
                Err(error)
            }
        }
    }

    /// Returns `None` if the plugin should have the component of another origin by now. Then no version was put into service.
    async fn try_load(&self, look: Look, origin: &Origin) -> Result<Option<Loaded>, LoadError> {
        let plugin = &self.plugin;
        let in_service = plugin.version().filter(|_| !plugin.is_outdated());
        let rejected = plugin.rejected().filter(|_| look == Look::Changed);
        let is_compiled = look == Look::Changed && !self.leadership.leads();
        let compiled = self.compiled.lock().clone().filter(|_| is_compiled);
        let has = |digest: &str| {
            let serves = in_service.as_ref().is_some_and(|version| *version.digest == *digest);
            if serves {
                plugin.pardon();
            }
            let is_rejected = || rejected.as_ref().is_some_and(|rejected| *rejected.digest == *digest);
            serves || compiled.as_deref() == Some(digest) || is_rejected()
        };
        let component = match &origin.source {
            Source::File(path) => self.load_file(path, origin, has).await?,
            Source::Registry(_) => {
                let wanted = Wanted {
                    plugin: &self.name,
                    origin,
                    serves: plugin.version().is_some(),
                    requested: look == Look::Requested,
                    check: &|imports, exports| plugin.check_names(imports, exports),
                    known: &has,
                };
                match self.supplied(&wanted).await? {
                    Some(Supplied::Component(bytes)) => {
                        Some(Component::from_bytes(&self.engine, bytes).await?)
                    }
                    Some(Supplied::Known) => None,
                    Some(Supplied::Unanswered(error)) => return Ok(Some(Loaded::Unanswered(error))),
                    Some(Supplied::NeverPulled(error)) => return Ok(Some(Loaded::NeverPulled(error))),
                    None => return Ok(None),
                }
            }
        };
        match component {
            // A compilation and the wait for a declaration may take long.
            Some(_) if self.is_superseded(origin) => Ok(None),
            Some(component) => {
                let declared = component.declared_reads();
                self.declarations.announce(&self.name, &origin.source, declared).await;
                if self.is_superseded(origin) {
                    return Ok(None);
                }
                if !self.leadership.leads() {
                    *self.compiled.lock() = Some(component.digest().to_owned());
                    return Ok(Some(Loaded::StandsBy));
                }
                let loaded = plugin.load(&component).await;
                self.announce_the_one_in_service().await;
                loaded.map(|version| Some(Loaded::Version(version)))
            }
            None => Ok(Some(Loaded::Known)),
        }
    }

    /// Pulls the component. Returns `None` as soon as the plugin should have the component of another origin, because a registry may take
    /// many minutes to send the rest.
    async fn supplied(&self, wanted: &Wanted<'_>) -> Result<Option<Supplied>, LoadError> {
        // This call comes before the look at the origin, so that no change is missed.
        let superseded = self.superseded.notified();
        if self.is_superseded(wanted.origin) {
            return Ok(None);
        }
        tokio::select! {
            biased;
            () = superseded => Ok(None),
            supplied = self.pulls.component(wanted) => supplied.map(Some),
        }
    }

    /// The component in the file, unless it is known or is not the one that is pinned.
    async fn load_file(
        &self,
        path: &Path,
        origin: &Origin,
        has: impl Fn(&str) -> bool,
    ) -> Result<Option<Component>, LoadError> {
        let pin = origin.digest;
        let mut other = None;
        let known = |found: &str| {
            if pin.is_some_and(|pin| pin.hex() != found) {
                other = Some(found.to_owned());
            }
            other.is_some() || has(found)
        };
        let component = Component::from_file_unless(&self.engine, path, known).await?;
        match (other, pin) {
            (Some(found), Some(pin)) => Err(LoadError::Source(format!(
                "the file has the digest sha256:{found}, and `digest` of the plugin is {pin}; put the right file there, or write digest = \"sha256:{found}\""
            ))),
            _ => Ok(component),
        }
    }

    /// Applies another configuration of the sandbox, which starts a new version of the component if an instance could notice
    /// the difference. It does not wait for a load: a load may take long, and a revoked grant must not wait. A component that
    /// was refused is tried again, because it may work with the new configuration. If the component in service does not start with the
    /// configuration, and the cause may pass, [`follow`](Self::follow) tries the component again after a wait.
    pub(super) async fn configure(&self, sandbox: PluginConfig) {
        let was_refused = matches!(*self.refused.lock(), Some(Refusal::Load(_)));
        let was_rejected = self.plugin.rejected().is_some();
        let mut may_pass = false;
        match self.plugin.configure(sandbox).await {
            Ok(version) => {
                if let Some(version) = &version {
                    self.serves(version);
                }
                // The refusal of a component stays until a load ends: the version in service is another one.
                let mut refused = self.refused.lock();
                if !self.plugin.is_outdated() && matches!(*refused, Some(Refusal::Configuration(_))) {
                    *refused = None;
                }
            }
            Err(error) => {
                self.refuse(None, &error, Refusal::Configuration);
                may_pass = error.may_pass();
            }
        }
        // A component that was taken out of service is not tried again.
        may_pass &= self.plugin.rejected().is_none();
        // A new version makes the plugin forget the one that was taken out of service.
        let is_forgotten = was_rejected && self.plugin.rejected().is_none();
        if was_refused || is_forgotten || self.plugin.version().is_none() {
            self.load_again();
        } else if may_pass {
            self.start_failed.notify_one();
        }
    }

    /// Notifies the queues of the version that was put into service, and logs it.
    fn serves(&self, version: &VersionInfo) {
        let VersionInfo { name, version, sdk, digest, prepared_in, .. } = version;
        // Before the first call of this version, so that the queues count the call for this version.
        self.calls.note_swaps();
        let what = if self.loaded.send_replace(true) { "plugin reloaded" } else { "plugin loaded" };
        tracing::info!(plugin = &*self.name, guest = name, version, sdk, %digest, ?prepared_in, "{what}");
    }

    /// Logs and keeps the failure of a load from this origin, or of a configuration.
    fn refuse(&self, origin: Option<&Origin>, error: &LoadError, refusal: fn(String) -> Refusal) {
        let what = if !*self.loaded.borrow() {
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
        let source = origin.map_or_else(|| self.origin().source, |origin| origin.source.clone());
        tracing::error!(plugin = &*self.name, %source, %error, "{what}");
        self.keep(origin, refusal(error.to_string()));
    }

    /// Keeps a refusal, unless the refusal is about the component of a previous origin. A failed pull replaces no refusal of another
    /// kind, because it says less about the component.
    fn keep(&self, origin: Option<&Origin>, refusal: Refusal) {
        // Locked until the end, so that a change of the origin comes later and forgets the refusal.
        let present = self.origin.lock();
        let mut refused = self.refused.lock();
        let is_less =
            matches!(refusal, Refusal::Pull(_)) && !matches!(*refused, None | Some(Refusal::Pull(_)));
        if !is_less && origin.is_none_or(|origin| present.is_of_same_component(origin)) {
            *refused = Some(refusal);
        }
    }

    /// Notifies the queues whenever a version is put into service, also one that comes back, and keeps its declaration. The quarantine
    /// ends then: no version is judged by the failures of another one. Never returns.
    pub(super) async fn follow_swaps(&self) {
        let mut swaps = self.plugin.swaps();
        while swaps.changed().await.is_ok() {
            self.calls.note_swaps();
            self.announce_the_one_in_service().await;
        }
    }

    /// Keeps the declaration of the version in service, however many versions were refused or taken out of service after it.
    async fn announce_the_one_in_service(&self) {
        if let Some(declared) = self.plugin.declared_reads() {
            self.declarations.announce(&self.name, &self.origin().source, &declared).await;
        }
    }
}

/// Waits until a file may have changed since this look; for ever if no file is watched. The host looks at the components in files
/// ([`Directories::poll`]); a plugin from a registry looks at the lock file itself.
async fn settled(
    directories: &Directories,
    changed: Notified<'_>,
    file: Option<(&Path, Option<Seen>)>,
    from_registry: bool,
) {
    match file {
        Some((path, _)) if from_registry => Directories::settled(changed, path).await,
        Some((path, seen)) => {
            changed.await;
            directories.written(path, seen).await;
        }
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
