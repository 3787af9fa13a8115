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
    },
    exports: { default: async },
    additional_derives: [PartialEq, Eq],
});
