//! One version of a plugin: linked code and its idle instances.

use std::{sync::Arc, time::Duration};

use informer_types::{Failure, FailureKind};
use parking_lot::Mutex;
use tokio::time::Instant;
use wasmtime::component::Linker;

use super::{
    counters::CallCounters,
    slots::Slots,
    trial::{LastGood, Trial},
};
use crate::{
    Component, Grants, InstancePolicy, LoadError, PluginConfig, Sources,
    call::{Describe, Start},
    capabilities::interfaces,
    counters::Counters,
    exports::Linked,
    failure::failure,
    guest::Guest,
    instance::Instance,
    memory::{Account, MemoryLimit},
    revocation::Revocation,
    schedule::{CallClock, Lane},
};

/// How long an instance that had no call yet is kept. It holds nothing that the next call could miss, so a host with many
/// idle plugins needs no memory for their instances.
const UNCALLED: Duration = Duration::from_secs(10);

/// The longest name or version that is kept.
const SHOWN_BYTES: usize = 256;

/// A version in service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionInfo {
    /// The name that the guest reports.
    pub name: String,
    /// The version that the guest reports.
    pub version: String,
    /// The SDK that the guest reports.
    pub sdk: String,
    /// Lower-case hex of the SHA-256 of the component.
    pub digest: Arc<str>,
    /// The size of the component in bytes.
    pub component_bytes: u64,
    /// The size of its compiled code in bytes, with the tables that belong to it.
    pub code_bytes: u64,
    /// How long it took to compile the code, or to load it from the cache.
    pub prepared_in: Duration,
    /// True if it exports `handler` or `batch-handler`. A version without one exports `reconciler`.
    pub handles: bool,
    /// True if it exports `batch-handler`, and so takes several notifications in one call.
    pub handles_batches: bool,
    /// True if it exports `reconciler`.
    pub reconciles: bool,
    /// True if it exports `sync-handler`.
    pub handles_synced: bool,
    /// True if it exports `timer-handler`.
    pub has_timers: bool,
    /// True if it exports `config-handler`.
    pub follows_config: bool,
}

/// The parts of a plugin that outlive its versions, with the configuration of one version.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) config: Arc<PluginConfig>,
    pub(super) sources: Sources,
    pub(super) calls: Arc<CallCounters>,
    pub(super) counters: Arc<Counters>,
    pub(super) slots: Arc<Slots>,
    pub(super) lane: Arc<Lane>,
    pub(super) account: Arc<Account>,
    /// The end of the grants in `config`.
    pub(super) revocation: Arc<Revocation>,
}

pub(super) struct Version {
    linked: Linked,
    pub(super) component: Component,
    shared: Arc<Shared>,
    pub(super) trial: Trial,
    pub(super) info: VersionInfo,
    /// Instances without a call; the one used last is at the end. `None` once the version is retired.
    idle: Mutex<Option<Vec<Instance>>>,
}

// === impl Version ===

impl Version {
    /// Links the component and makes a first instance: calls `describe` and `start`.
    pub(super) async fn start(
        component: &Component,
        shared: &Arc<Shared>,
        last_good: Option<LastGood>,
    ) -> Result<Self, LoadError> {
        let (version, mut instance) = Self::described(component, shared, last_good).await?;
        version.begin(&mut instance).await.map_err(|f| LoadError::Start(f.message))?;
        version.give_back(instance).await;
        Ok(version)
    }

    /// Links the component and makes a first instance, which has answered `describe`.
    pub(super) async fn described(
        component: &Component,
        shared: &Arc<Shared>,
        last_good: Option<LastGood>,
    ) -> Result<(Self, Instance), LoadError> {
        let instantiate = |error: wasmtime::Error| LoadError::Instantiate(format!("{error:#}"));
        let linker = linker(component.code().engine(), &shared.config.grants).map_err(instantiate)?;
        let linked = linker.instantiate_pre(component.code()).map_err(instantiate)?;
        let linked = Linked::new(linked).map_err(instantiate)?;
        let mut version = Self {
            component: component.clone(),
            shared: Arc::clone(shared),
            trial: Trial::new(shared.config.trial, last_good),
            info: VersionInfo {
                name: String::new(),
                version: String::new(),
                sdk: String::new(),
                digest: component.digest().into(),
                component_bytes: component.bytes(),
                code_bytes: component.code_bytes(),
                prepared_in: component.prepared_in(),
                handles: linked.handler.is_some() || linked.batch_handler.is_some(),
                handles_batches: linked.batch_handler.is_some(),
                reconciles: linked.reconciler.is_some(),
                handles_synced: linked.sync_handler.is_some(),
                has_timers: linked.timer_handler.is_some(),
                follows_config: linked.config_handler.is_some(),
            },
            linked,
            idle: Mutex::new(Some(Vec::new())),
        };
        let mut instance = version.instantiate().await.map_err(|f| LoadError::Instantiate(f.message))?;
        let described = instance.call(Describe).await.map_err(|f| LoadError::Describe(f.message))?;
        version.info.name = shown(described.name);
        version.info.version = shown(described.version);
        version.info.sdk = shown(described.sdk);
        Ok((version, instance))
    }

    /// Returns true if the version fits this configuration, as far as it matters to an instance.
    pub(super) fn serves(&self, config: &PluginConfig) -> bool {
        self.shared.config.serves(config) && !self.is_revoked()
    }

    /// Returns true if one of its grants is revoked, or was for a time: its instances end.
    pub(super) fn is_revoked(&self) -> bool {
        self.shared.revocation.is_set()
    }

    /// The last good version for a version that replaces this one: this one, unless it is on trial itself.
    pub(super) fn last_good(&self) -> LastGood {
        self.trial.last_good().unwrap_or_else(|| LastGood {
            component: self.component.clone(),
            config_json: self.shared.config.config_json.clone(),
        })
    }

    pub(super) fn idle(&self) -> usize {
        self.idle.lock().as_ref().map_or(0, Vec::len)
    }

    /// An idle instance, or a new one that has started. It belongs to the caller until it is given back. Returns `None` if
    /// the version is out of service.
    pub(super) async fn lease(&self) -> Option<Result<Instance, Failure>> {
        let idle = self.idle.lock().as_mut()?.pop();
        Some(match idle {
            Some(instance) => Ok(instance),
            // Boxed: it is rare, and would enlarge the future of every call.
            None => Box::pin(self.fresh()).await,
        })
    }

    /// A new instance that has started.
    async fn fresh(&self) -> Result<Instance, Failure> {
        // Each of these failures counts as a failure of the start. A refusal at the ceiling does not, because it is not the fault of the
        // plugin.
        let failed = |failure: Failure| match failure.kind {
            FailureKind::GuestMemory => failure,
            _ => Failure::new(FailureKind::Start, failure.message),
        };
        let mut instance = self.instantiate().await.map_err(failed)?;
        self.begin(&mut instance).await.map_err(failed)?;
        Ok(instance)
    }

    /// Keeps the instance for the next call, or stops it if it has reached the end of its life.
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

    /// Takes the idle instances beyond the limit. The instances used last stay.
    pub(super) fn surplus(&self) -> Vec<Instance> {
        match &mut *self.idle.lock() {
            Some(idle) => {
                let surplus = idle.len().saturating_sub(self.shared.slots.limit());
                idle.drain(..surplus).collect()
            }
            None => Vec::new(),
        }
    }

    /// Stops the instances that were idle for at least `idle_timeout`. An instance that had no call yet is stopped sooner.
    /// `Duration::MAX` keeps all instances.
    pub(super) async fn drop_idle(&self, idle_timeout: Duration) {
        let now = Instant::now();
        let kept = |instance: &Instance| match instance.calls {
            0 if idle_timeout < Duration::MAX => idle_timeout.min(UNCALLED),
            _ => idle_timeout,
        };
        let expired: Vec<Instance> = match &mut *self.idle.lock() {
            Some(idle) => idle
                .extract_if(.., |instance| {
                    now.saturating_duration_since(instance.idle_since) >= kept(instance)
                })
                .collect(),
            None => return,
        };
        for instance in expired {
            instance.stop().await;
        }
    }

    /// Stops every idle instance. An instance that is given back later is stopped then.
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
            // The instance that was made by the load has had no call yet.
            InstancePolicy::Fresh => instance.calls == 0,
        }
    }

    async fn instantiate(&self) -> Result<Instance, Failure> {
        let Shared { config, sources, counters, revocation, account, .. } = &*self.shared;
        let clock = CallClock::new(Arc::clone(revocation));
        let limit = config.limits.memory_bytes;
        let memory = MemoryLimit::new(limit, Arc::clone(account));
        let (config, counters) = (Arc::clone(config), Arc::clone(counters));
        let mut guest =
            Guest::new(self.component.code().engine(), config, sources.clone(), counters, memory, clock);
        guest.symbols = self.component.symbols();
        Instance::new(self.component.code().engine(), &self.linked, self.component.structures(), guest).await
    }

    /// Calls `start`. A trap and an error that the guest returns are reported alike.
    async fn begin(&self, instance: &mut Instance) -> Result<(), Failure> {
        let started = instance.call(Start).await?;
        started.map_err(|message| failure(FailureKind::Start, message))
    }
}

/// Cuts a text that the guest reports: it is kept while the version is in service.
fn shown(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(SHOWN_BYTES));
    text
}

/// A linker with the interfaces that a plugin with these grants may call.
fn linker(engine: &wasmtime::Engine, grants: &Grants) -> wasmtime::Result<Linker<Guest>> {
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    for interface in interfaces().filter(|interface| interface.is_granted(grants)) {
        interface.link(&mut linker)?;
    }
    Ok(linker)
}
