//! The exports of a component: `plugin`, and `handler` or `reconciler` or both.

use wasmtime::{AsContextMut, component::InstancePre};

use crate::{
    bindings::exports::informer::plugin::{handler, plugin, reconciler},
    guest::Guest,
};

/// A component with linked imports, and the indices of its exports.
pub(crate) struct Linked {
    pre: InstancePre<Guest>,
    plugin: plugin::GuestIndices,
    pub(crate) handler: Option<handler::GuestIndices>,
    pub(crate) reconciler: Option<reconciler::GuestIndices>,
}

/// The exports of one instance.
pub(crate) struct Exports {
    pub(crate) plugin: plugin::Guest,
    pub(crate) handler: Option<handler::Guest>,
    pub(crate) reconciler: Option<reconciler::Guest>,
}

// === impl Linked ===

impl Linked {
    /// # Errors
    /// If an export has another type than in the WIT.
    pub(crate) fn new(pre: InstancePre<Guest>) -> wasmtime::Result<Self> {
        let exports = |interface: &str| {
            let name = format!("informer:plugin/{interface}@0.1.0");
            pre.component().get_export_index(None, &name).is_some()
        };
        Ok(Self {
            plugin: plugin::GuestIndices::new(&pre)?,
            handler: exports("handler").then(|| handler::GuestIndices::new(&pre)).transpose()?,
            reconciler: exports("reconciler").then(|| reconciler::GuestIndices::new(&pre)).transpose()?,
            pre,
        })
    }

    /// Makes an instance.
    pub(crate) async fn instantiate(
        &self,
        mut store: impl AsContextMut<Data = Guest>,
    ) -> wasmtime::Result<Exports> {
        let instance = self.pre.instantiate_async(&mut store).await?;
        Ok(Exports {
            plugin: self.plugin.load(&mut store, &instance)?,
            handler: self.handler.as_ref().map(|found| found.load(&mut store, &instance)).transpose()?,
            reconciler: self
                .reconciler
                .as_ref()
                .map(|found| found.load(&mut store, &instance))
                .transpose()?,
        })
    }
}
