//! The bindings that wasmtime generates from `wit/`. The host's world contains the interfaces of all plugin worlds.

wasmtime::component::bindgen!({
    path: "../../wit",
    world: "host",
    // A list may take long, so it yields in between.
    imports: {
        "informer:plugin/lister.list-meta": async,
        "informer:plugin/lister.list-fields": async,
        "informer:plugin/lister.list-json": async,
        "informer:plugin/lister.wait-until": async,
        "informer:plugin/client": async,
        // These wait for the disk. A failure that their own error type cannot express is a trap.
        "wasi:keyvalue/store": async | trappable,
        "wasi:keyvalue/atomics": async | trappable,
        "wasi:keyvalue/batch": async | trappable,
        "wasi:config/store": async,
    },
    exports: { default: async },
    trappable_error_type: { "wasi:keyvalue/store.error" => crate::bindings::KeyValueFailure },
    with: { "wasi:keyvalue/store.bucket": crate::capabilities::keyvalue::bucket::Bucket },
    additional_derives: [PartialEq, Eq],
});

/// An error of `wasi:keyvalue`, or a trap.
pub(crate) type KeyValueFailure = wasmtime_wasi::TrappableError<wasi::keyvalue::store::Error>;
