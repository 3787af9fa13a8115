//! What wasmtime generates from `wit/`.

wasmtime::component::bindgen!({
    path: "../../wit",
    world: "event-handler-with-lister",
    exports: { default: async },
});
