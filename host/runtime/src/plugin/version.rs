//! One version of a plugin: linked code and its warm instances.

use std::{
    sync::Arc,
    time::{Instant, SystemTime},
};

use informer_types::{Failure, FailureKind};
use parking_lot::Mutex;
use wasmtime::component::{HasSelf, Linker};

use super::Shared;
use crate::{
    Component, Engine, InstancePolicy, LoadError,
    bindings::{EventHandlerWithListerPre, informer::plugin as imports},
    guest::Guest,
    instance::Instance,
    output::Output,
};

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
    /// When it went into service.
    pub loaded_at: SystemTime,
}

pub(super) struct Version {
    engine: wasmtime::Engine,
    linked: EventHandlerWithListerPre<Guest>,
    shared: Arc<Shared>,
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
    ) -> Result<Self, LoadError> {
        let instantiate = |error: wasmtime::Error| LoadError::Instantiate(format!("{error:#}"));
        let linker = linker(engine, shared.config.grants.read.is_some()).map_err(instantiate)?;
        let linked = linker.instantiate_pre(&component.compiled).map_err(instantiate)?;
        let linked = EventHandlerWithListerPre::new(linked).map_err(instantiate)?;
        let mut version = Self {
            engine: engine.wasmtime.clone(),
            linked,
            shared: Arc::clone(shared),
            info: VersionInfo {
                name: String::new(),
                version: String::new(),
                sdk: String::new(),
                digest: component.digest().into(),
                loaded_at: SystemTime::now(),
            },
            idle: Mutex::new(Some(Vec::new())),
        };
        let mut instance = version.instantiate().await.map_err(|f| LoadError::Instantiate(f.message))?;
        let described = instance.describe().await.map_err(|f| LoadError::Start(f.to_string()))?;
        version.info.name = described.name;
        version.info.version = described.version;
        version.info.sdk = described.sdk;
        version.begin(&mut instance).await.map_err(|f| LoadError::Start(f.message))?;
        version.give_back(instance).await;
        Ok(version)
    }

    pub(super) fn info(&self) -> &VersionInfo {
        &self.info
    }

    pub(super) fn idle(&self) -> usize {
        self.idle.lock().as_ref().map_or(0, Vec::len)
    }

    /// A warm instance, or a new one that has started. It belongs to the caller until it is given back.
    pub(super) async fn lease(&self) -> Result<Instance, Failure> {
        let warm = self.idle.lock().as_mut().and_then(Vec::pop);
        if let Some(instance) = warm {
            return Ok(instance);
        }
        let mut instance = self.instantiate().await.map_err(start_failure)?;
        self.begin(&mut instance).await.map_err(start_failure)?;
        Ok(instance)
    }

    /// Keeps a healthy instance for the next call, or stops it where it has lived long enough.
    pub(super) async fn give_back(&self, mut instance: Instance) {
        instance.idle_since = Instant::now();
        let instance = {
            let mut idle = self.idle.lock();
            match &mut *idle {
                Some(idle) if self.may_live(&instance) && idle.len() < self.shared.config.instances.get() => {
                    idle.push(instance);
                    return;
                }
                _ => instance,
            }
        };
        instance.stop().await;
    }

    /// Stops the instances that were idle for longer than the policy allows.
    pub(super) async fn drop_idle(&self) {
        let InstancePolicy::Warm { idle_timeout, .. } = self.shared.config.instance else { return };
        let now = Instant::now();
        let expired: Vec<Instance> = match &mut *self.idle.lock() {
            Some(idle) => idle.extract_if(.., |instance| now - instance.idle_since >= idle_timeout).collect(),
            None => Vec::new(),
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
        let Shared { config, lister, log, counters } = &*self.shared;
        let output = Output::new(Arc::clone(&config.name), Arc::clone(log), config.limits.log_bytes);
        let guest = Guest::new(
            Arc::clone(&config.name),
            Arc::new(config.grants.clone()),
            config.limits.clone(),
            Arc::clone(lister),
            output,
        );
        let instance = Instance::new(&self.engine, &self.linked, guest).await?;
        counters.created();
        Ok(instance)
    }

    /// Runs `start`; the guest's own error is a failure like any other.
    async fn begin(&self, instance: &mut Instance) -> Result<(), Failure> {
        let started = instance.start(&self.shared.config.config_json).await;
        self.shared.counters.spent(instance.take_spent());
        started?.map_err(|message| Failure::new(FailureKind::Start, format!("start failed: {message}")))
    }
}

/// Whatever kept an instance from starting, it is the start that failed.
fn start_failure(failure: Failure) -> Failure {
    Failure::new(FailureKind::Start, failure.message)
}

/// What a plugin may call. What it was not granted is not there.
fn linker(engine: &Engine, lister: bool) -> wasmtime::Result<Linker<Guest>> {
    let mut linker = Linker::new(&engine.wasmtime);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    imports::types::add_to_linker::<_, HasSelf<_>>(&mut linker, |guest| guest)?;
    imports::objects::add_to_linker::<_, HasSelf<_>>(&mut linker, |guest| guest)?;
    imports::log::add_to_linker::<_, HasSelf<_>>(&mut linker, |guest| guest)?;
    imports::delivery::add_to_linker::<_, HasSelf<_>>(&mut linker, |guest| guest)?;
    if lister {
        imports::lister::add_to_linker::<_, HasSelf<_>>(&mut linker, |guest| guest)?;
    }
    Ok(linker)
}
