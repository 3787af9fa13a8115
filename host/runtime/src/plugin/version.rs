//! One version of a plugin: linked code and its warm instances.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use informer_types::{Failure, FailureKind};
use parking_lot::Mutex;
use wasmtime::component::Linker;

use super::{
    Shared,
    trial::{LastGood, Trial},
};
use crate::{
    Component, Engine, Grants, InstancePolicy, LoadError, PluginConfig, capabilities::Capability,
    exports::Linked, failure::failure, guest::Guest, instance::Instance, schedule::CallClock,
};

/// Longer names and versions are cut.
const SHOWN_BYTES: usize = 256;

/// Who is in service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionInfo {
    /// What the guest calls itself.
    pub name: String,
    /// What the guest calls its version.
    pub version: String,
    /// What it was made with.
    pub sdk: String,
    /// Lower-case hex of the SHA-256 of the component.
    pub digest: Arc<str>,
    /// How long its code took to compile, or to take from the cache.
    pub prepared_in: Duration,
    /// It takes notifications. One that does not reconciles.
    pub handles: bool,
    /// It takes keys of the workqueue.
    pub reconciles: bool,
}

pub(super) struct Version {
    engine: wasmtime::Engine,
    linked: Linked,
    component: Component,
    shared: Arc<Shared>,
    trial: Trial,
    info: VersionInfo,
    /// Instances without a call, the one used last at the end; none once the version is retired.
    idle: Mutex<Option<Vec<Instance>>>,
}

// === impl Version ===

impl Version {
    /// Links the component and makes a first instance, which describes itself and starts.
    pub(super) async fn start(
        engine: &Engine,
        component: &Component,
        shared: &Arc<Shared>,
        last_good: Option<LastGood>,
    ) -> Result<Self, LoadError> {
        let instantiate = |error: wasmtime::Error| LoadError::Instantiate(format!("{error:#}"));
        let linker = linker(engine, &shared.config.grants).map_err(instantiate)?;
        let linked = linker.instantiate_pre(&component.compiled).map_err(instantiate)?;
        let linked = Linked::new(linked).map_err(instantiate)?;
        let (handles, reconciles) = (linked.handles(), linked.reconciles());
        let mut version = Self {
            engine: engine.wasmtime.clone(),
            linked,
            component: component.clone(),
            shared: Arc::clone(shared),
            trial: Trial::new(shared.config.trial, last_good),
            info: VersionInfo {
                name: String::new(),
                version: String::new(),
                sdk: String::new(),
                digest: component.digest().into(),
                prepared_in: component.prepared_in(),
                handles,
                reconciles,
            },
            idle: Mutex::new(Some(Vec::new())),
        };
        let mut instance = version.instantiate().await.map_err(|f| LoadError::Instantiate(f.message))?;
        let described = instance.describe().await.map_err(|f| LoadError::Describe(f.message))?;
        version.info.name = shown(described.name);
        version.info.version = shown(described.version);
        version.info.sdk = shown(described.sdk);
        version.begin(&mut instance).await.map_err(LoadError::Start)?;
        version.give_back(instance).await;
        Ok(version)
    }

    pub(super) fn info(&self) -> &VersionInfo {
        &self.info
    }

    pub(super) fn component(&self) -> &Component {
        &self.component
    }

    /// True where it was started with this configuration, as far as an instance can tell.
    pub(super) fn serves(&self, config: &PluginConfig) -> bool {
        self.shared.config.serves(config) && !self.is_revoked()
    }

    /// True where something that it was granted is not, or was not meanwhile: its instances end.
    pub(super) fn is_revoked(&self) -> bool {
        self.shared.revocation.is_set()
    }

    /// What a version that takes over from this one would go back to: this one, if it is not on trial itself.
    pub(super) fn last_good(&self) -> LastGood {
        self.trial.last_good().unwrap_or_else(|| LastGood {
            component: self.component.clone(),
            config_json: self.shared.config.config_json.clone(),
        })
    }

    /// Counts a call of this version, and its failure if it was one. See [`Trial::judge`].
    pub(super) fn judge(&self, failure: Option<&Failure>) -> Option<(LastGood, String)> {
        self.trial.judge(failure)
    }

    pub(super) fn idle(&self) -> usize {
        self.idle.lock().as_ref().map_or(0, Vec::len)
    }

    /// A warm instance, or a new one that has started; none where the version is retired. It belongs to the caller
    /// until it is given back.
    pub(super) async fn lease(&self) -> Result<Option<Instance>, Failure> {
        let warm = match &mut *self.idle.lock() {
            Some(idle) => idle.pop(),
            None => return Ok(None),
        };
        if let Some(instance) = warm {
            return Ok(Some(instance));
        }
        // Boxed: it is rare, and would make every call's future as large.
        Box::pin(self.fresh()).await.map(Some)
    }

    /// A new instance that has started.
    async fn fresh(&self) -> Result<Instance, Failure> {
        // Whatever kept an instance from starting, it is the start that failed.
        let failed = |message| Failure::new(FailureKind::Start, message);
        let mut instance = self.instantiate().await.map_err(|f| failed(f.message))?;
        self.begin(&mut instance).await.map_err(failed)?;
        Ok(instance)
    }

    /// Keeps a healthy instance for the next call, or stops it where it has lived long enough.
    pub(super) async fn give_back(&self, mut instance: Instance) {
        instance.idle_since = Instant::now();
        let surplus = match &mut *self.idle.lock() {
            Some(idle) if self.may_live(&instance) && idle.len() < self.shared.slots.limit() => {
                idle.push(instance);
                None
            }
            _ => Some(instance),
        };
        if let Some(instance) = surplus {
            Box::pin(instance.stop()).await;
        }
    }

    /// Stops the instances that were idle for longer than this.
    pub(super) async fn drop_idle(&self, idle_timeout: Duration) {
        let now = Instant::now();
        let expired: Vec<Instance> = match &mut *self.idle.lock() {
            Some(idle) => idle
                .extract_if(.., |instance| now.saturating_duration_since(instance.idle_since) >= idle_timeout)
                .collect(),
            None => return,
        };
        for instance in expired {
            instance.stop().await;
        }
    }

    /// Stops every idle instance; one that is given back later is stopped then.
    pub(super) async fn retire(&self) {
        let idle = self.idle.lock().take();
        for instance in idle.into_iter().flatten() {
            instance.stop().await;
        }
    }

    fn may_live(&self, instance: &Instance) -> bool {
        match &self.shared.config.instance {
            InstancePolicy::Warm { max_calls, .. } => {
                max_calls.is_none_or(|most| instance.calls < most.get())
            }
            // The instance that was made at load has served nobody yet.
            InstancePolicy::Fresh => instance.calls == 0,
        }
    }

    async fn instantiate(&self) -> Result<Instance, Failure> {
        let Shared { config, sources, counters, revocation, .. } = &*self.shared;
        let clock = CallClock::new(Arc::clone(revocation));
        let guest =
            Guest::new(&self.engine, Arc::clone(config), sources.clone(), Arc::clone(counters), clock);
        Instance::new(&self.engine, &self.linked, guest).await
    }

    /// Runs `start`; a trap and an error of the guest's own are told alike.
    async fn begin(&self, instance: &mut Instance) -> Result<(), String> {
        let started = instance.start().await.map_err(|failure| failure.message)?;
        started.map_err(|message| failure(FailureKind::Start, message).message)
    }
}

/// What a guest says about itself is kept for as long as it serves.
fn shown(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(SHOWN_BYTES));
    text
}

/// What a plugin may call. What it was not granted is not there.
fn linker(engine: &Engine, grants: &Grants) -> wasmtime::Result<Linker<Guest>> {
    let mut linker = Linker::new(&engine.wasmtime);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    for capability in Capability::ALL.into_iter().filter(|capability| capability.granted(grants)) {
        capability.link(&mut linker)?;
    }
    Ok(linker)
}
