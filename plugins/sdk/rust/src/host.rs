//! The host's functions: the imports of the component, or the test host in native builds.

#[cfg(target_family = "wasm")]
pub(crate) use crate::bindings::informer::plugin::{
    client, delivery, lister, log, metrics, objects, timer, workqueue,
};
#[cfg(not(target_family = "wasm"))]
pub(crate) use crate::testing::{
    client, delivery, keyvalue, lister, log, metrics, objects, timer, workqueue,
};

/// The parts of `wasi:keyvalue` that the SDK uses.
#[cfg(target_family = "wasm")]
pub(crate) mod keyvalue {
    pub(crate) use crate::wasi::keyvalue::{
        atomics::increment,
        store::{Bucket, open},
    };
}
