//! What `wit/` means in Rust. Generated; the world holds all hooks and the host takes each
//! as optional.

wasmtime::component::bindgen!({
    path: "../../wit",
    world: "plugin",
    imports: {
        "damper:plugin/files.stat": async | trappable,
        default: trappable,
    },
    exports: { default: async },
    with: {
        "damper:plugin/types.call": crate::imports::call::CallFacts,
    },
});
