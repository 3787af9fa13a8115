//! What wasmtime generates from `wit/`: the host's world, which has everything the plugins' worlds have.

wasmtime::component::bindgen!({
    path: "../../wit",
    world: "host",
    // A list may take a while: it yields in between.
    imports: {
        "informer:plugin/lister.list-meta": async,
        "informer:plugin/lister.list-fields": async,
        "informer:plugin/lister.list-json": async,
        "informer:plugin/lister.wait-until": async,
        "informer:plugin/client": async,
        // They wait for the disk. What has no place in their own errors is a trap.
        "wasi:keyvalue/store": async | trappable,
        "wasi:keyvalue/atomics": async | trappable,
        "wasi:keyvalue/batch": async | trappable,
        "wasi:config/store": async,
    },
    exports: { default: async },
    with: { "wasi:keyvalue/store.bucket": crate::capabilities::keyvalue::bucket::Bucket },
    additional_derives: [PartialEq, Eq],
});
