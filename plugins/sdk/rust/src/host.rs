//! The host's side of the interface: the imports of the component, or a test's own host where there is none.

#[cfg(target_family = "wasm")]
pub(crate) use crate::bindings::informer::plugin::{
    client, delivery, lister, log, metrics, objects, workqueue,
};
#[cfg(not(target_family = "wasm"))]
pub(crate) use crate::testing::{client, delivery, lister, log, metrics, objects, workqueue};
