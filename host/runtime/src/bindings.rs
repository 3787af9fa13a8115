//! What wasmtime generates from `wit/`: the larger world, which has everything the smaller ones have.

wasmtime::component::bindgen!({
    path: "../../wit",
    world: "event-handler-with-lister",
    // A list may take a while: it yields in between.
    imports: {
        "informer:plugin/lister.list-meta": async,
        "informer:plugin/lister.list-fields": async,
        "informer:plugin/lister.list-json": async,
    },
    exports: { default: async },
    additional_derives: [PartialEq, Eq],
});
