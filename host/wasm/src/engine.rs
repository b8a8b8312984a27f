//! How the engine is set up: what guests may contain and how many run at once.

use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, Strategy,
    WasmFeatures,
};

use crate::limits::Ceilings;

/// Elements of all tables of one instance together. Rust guests need a few hundred, a
/// JavaScript engine some thousands.
pub(crate) const MAX_TABLE_ELEMENTS: usize = 100_000;

/// Core modules in one component. A component that wit-component makes has four, one that
/// componentize-qjs makes over ten.
const MAX_CORE_INSTANCES: u32 = 32;

/// Memories in one component. One is usual; componentize-qjs makes three.
const MAX_MEMORIES: u32 = 8;

/// Tables in one component. Two are usual.
const MAX_TABLES: u32 = 8;

/// Places beyond the calls at once, for instances that are being dropped or probed.
const SPARE: u32 = 16;

/// Bytes of a slot that stay mapped between two calls, so that they need no page fault.
const KEEP_RESIDENT: usize = 1 << 20;

/// Returns the configuration that shapes compiled code, the same for the compiling child
/// and the loading host.
///
/// Proposals that no shipped toolchain needs are off: each is attack surface. Component
/// model async is off with `concurrency_support`, which also makes calls cheaper.
///
/// Multi-memory is on: in a component made of components, what copies from one to the other
/// is code between two memories. The pool lets a module define one memory, and a component
/// [`MAX_MEMORIES`].
pub(crate) fn code_config() -> Config {
    let mut config = Config::new();
    config
        .strategy(Strategy::Cranelift)
        .epoch_interruption(true)
        .concurrency_support(false)
        .wasm_backtrace_max_frames(None)
        .generate_address_map(false)
        .native_unwind_info(false)
        .wasm_features(WasmFeatures::MEMORY64, false)
        .wasm_features(WasmFeatures::TAIL_CALL, false)
        .wasm_features(WasmFeatures::RELAXED_SIMD, false)
        .wasm_features(WasmFeatures::CUSTOM_PAGE_SIZES, false);
    config
}

/// Returns the engine that runs guests, with pooled instances.
pub(crate) fn engine(ceilings: &Ceilings) -> wasmtime::Result<Engine> {
    let mut config = code_config();
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool(ceilings)));
    Engine::new(&config)
}

fn pool(ceilings: &Ceilings) -> PoolingAllocationConfig {
    let places = ceilings.calls + SPARE;
    let mut pool = PoolingAllocationConfig::new();
    // As many as all places can need: else calls of a plugin with many memories would take
    // the places of others. What is not used is address space alone.
    pool.total_component_instances(places)
        .total_core_instances(places * MAX_CORE_INSTANCES)
        .total_memories(places * MAX_MEMORIES)
        .total_tables(places * MAX_TABLES)
        .total_stacks(places)
        .max_core_instances_per_component(MAX_CORE_INSTANCES)
        .max_memories_per_component(MAX_MEMORIES)
        .max_memories_per_module(1)
        .max_tables_per_component(MAX_TABLES)
        .table_elements(MAX_TABLE_ELEMENTS)
        .max_memory_size(usize::try_from(ceilings.memory).unwrap_or(usize::MAX));
    // Without the page map scan, keeping pages resident means clearing all of them at
    // each drop, which costs more than it saves.
    if has_pagemap_scan() {
        pool.pagemap_scan(Enabled::Yes)
            .linear_memory_keep_resident(KEEP_RESIDENT)
            .table_keep_resident(64 << 10);
    }
    pool
}

/// Returns whether the kernel can tell which pages a guest touched (Linux 6.7 and later).
fn has_pagemap_scan() -> bool {
    cfg!(target_os = "linux") && kernel_version().is_some_and(|version| version >= (6, 7))
}

fn kernel_version() -> Option<(u32, u32)> {
    let uname = rustix::system::uname();
    let release = uname.release().to_str().ok()?;
    let mut numbers = release
        .split(['.', '-'])
        .map_while(|part| part.parse().ok());
    Some((numbers.next()?, numbers.next()?))
}
