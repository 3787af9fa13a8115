//! The exports of a component: `plugin`, and `handler`, `reconciler` and the handlers of signals, each in one of the versions that this
//! host serves.

use wasmtime::{
    AsContextMut,
    component::{
        Component, ComponentExportIndex, ComponentNamedList, Instance, InstancePre, Lift, Lower, TypedFunc,
    },
};

use crate::{
    bindings::exports::informer::plugin::{
        batch_handler,
        handler::{Cause, EventObject},
        plugin::Info,
        reconciler::{Outcome, ReconcileError},
    },
    bindings::informer::plugin::types::Failure,
    capabilities::VERSIONS,
    guest::Guest,
};

/// A function that handles a notification or a signal.
type Handle<P> = TypedFunc<P, (Result<(), Failure>,)>;

/// `batch-handler.on-batch`.
pub(crate) type OnBatch = TypedFunc<(Vec<batch_handler::Notification>,), (Vec<batch_handler::Outcome>,)>;

type Reconcile = TypedFunc<(String,), (Result<Outcome, ReconcileError>,)>;

/// A component with linked imports, and the places of its exports.
pub(crate) struct Linked {
    pre: InstancePre<Guest>,
    plugin: Functions<3>,
    pub(crate) handler: Option<Functions<3>>,
    pub(crate) batch_handler: Option<Functions<1>>,
    pub(crate) reconciler: Option<Functions<1>>,
    pub(crate) sync_handler: Option<Functions<1>>,
    pub(crate) timer_handler: Option<Functions<1>>,
    pub(crate) config_handler: Option<Functions<1>>,
}

/// The places of the functions of an exported interface.
pub(crate) struct Functions<const COUNT: usize>([ComponentExportIndex; COUNT]);

/// The exports of one instance. The bindings of wasmtime have the name of one version, so the functions are typed here.
pub(crate) struct Exports {
    pub(crate) plugin: Plugin,
    pub(crate) handler: Option<Handler>,
    /// `batch-handler.on-batch`.
    pub(crate) on_batch: Option<OnBatch>,
    /// `reconciler.reconcile`.
    pub(crate) reconcile: Option<Reconcile>,
    /// `sync-handler.on-synced`.
    pub(crate) on_synced: Option<Handle<(String, u32, String)>>,
    /// `timer-handler.on-timer`.
    pub(crate) on_timer: Option<Handle<(String,)>>,
    /// `config-handler.on-config`.
    pub(crate) on_config: Option<Handle<(String,)>>,
}

/// `plugin`.
pub(crate) struct Plugin {
    pub(crate) describe: TypedFunc<(), (Info,)>,
    pub(crate) start: TypedFunc<(String,), (Result<(), String>,)>,
    pub(crate) stop: TypedFunc<(), ()>,
}

/// `handler`.
pub(crate) struct Handler {
    pub(crate) on_add: Handle<(EventObject, Cause)>,
    pub(crate) on_update: Handle<(u32, EventObject, Cause)>,
    pub(crate) on_delete: Handle<(EventObject, bool)>,
}

/// An instance whose functions are being typed.
struct Typing<'a, S> {
    store: S,
    instance: &'a Instance,
}

// === impl Linked ===

impl Linked {
    /// # Errors
    /// If an export has another type than in the WIT.
    pub(crate) fn new(pre: InstancePre<Guest>) -> wasmtime::Result<Self> {
        let component = pre.component();
        let plugin = Functions::of(component, "plugin", ["describe", "start", "stop"])?;
        let none = || wasmtime::format_err!("no exported instance named `informer:plugin/plugin`");
        Ok(Self {
            plugin: plugin.ok_or_else(none)?,
            handler: Functions::of(component, "handler", ["on-add", "on-update", "on-delete"])?,
            batch_handler: Functions::of(component, "batch-handler", ["on-batch"])?,
            reconciler: Functions::of(component, "reconciler", ["reconcile"])?,
            sync_handler: Functions::of(component, "sync-handler", ["on-synced"])?,
            timer_handler: Functions::of(component, "timer-handler", ["on-timer"])?,
            config_handler: Functions::of(component, "config-handler", ["on-config"])?,
            pre,
        })
    }

    /// Makes an instance.
    pub(crate) async fn instantiate(
        &self,
        mut store: impl AsContextMut<Data = Guest>,
    ) -> wasmtime::Result<Exports> {
        let instance = self.pre.instantiate_async(&mut store).await?;
        let mut typing = Typing { store, instance: &instance };
        let Functions([describe, start, stop]) = &self.plugin;
        Ok(Exports {
            plugin: Plugin {
                describe: typing.function(describe)?,
                start: typing.function(start)?,
                stop: typing.function(stop)?,
            },
            handler: match &self.handler {
                Some(Functions([add, update, delete])) => Some(Handler {
                    on_add: typing.function(add)?,
                    on_update: typing.function(update)?,
                    on_delete: typing.function(delete)?,
                }),
                None => None,
            },
            on_batch: typing.only(self.batch_handler.as_ref())?,
            reconcile: typing.only(self.reconciler.as_ref())?,
            on_synced: typing.only(self.sync_handler.as_ref())?,
            on_timer: typing.only(self.timer_handler.as_ref())?,
            on_config: typing.only(self.config_handler.as_ref())?,
        })
    }
}

// === impl Functions ===

impl<const COUNT: usize> Functions<COUNT> {
    /// Finds the functions of an interface in its newest version. Returns `None` if the component does not export it.
    fn of(component: &Component, interface: &str, names: [&str; COUNT]) -> wasmtime::Result<Option<Self>> {
        let versions = VERSIONS.iter().rev().map(|version| format!("informer:plugin/{interface}@{version}"));
        let exported =
            versions.filter_map(|name| Some((component.get_export_index(None, &name)?, name))).next();
        let Some((instance, exported)) = exported else { return Ok(None) };
        let mut found = Vec::with_capacity(COUNT);
        for name in names {
            let function = component.get_export_index(Some(&instance), name);
            found.push(function.ok_or_else(|| {
                wasmtime::format_err!("instance export `{exported}` does not have export `{name}`")
            })?);
        }
        // There is one place for each name.
        Ok(found.try_into().ok().map(Self))
    }
}

// === impl Typing ===

impl<S: AsContextMut<Data = Guest>> Typing<'_, S> {
    fn function<P, R>(&mut self, place: &ComponentExportIndex) -> wasmtime::Result<TypedFunc<P, R>>
    where
        P: ComponentNamedList + Lower,
        R: ComponentNamedList + Lift,
    {
        self.instance.get_typed_func(&mut self.store, place)
    }

    /// The function of an interface that has only one.
    fn only<P, R>(&mut self, found: Option<&Functions<1>>) -> wasmtime::Result<Option<TypedFunc<P, R>>>
    where
        P: ComponentNamedList + Lower,
        R: ComponentNamedList + Lift,
    {
        found.map(|Functions([place])| self.function(place)).transpose()
    }
}
