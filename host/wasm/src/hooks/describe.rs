//! `describe.manifest`, asked once, when a component is built.

use std::sync::Arc;

use wasmtime::{Engine, component::Component};

use crate::{
    bindings::exports::damper::plugin::describe,
    engine::code_config,
    grants::Grants,
    limits::Limits,
    runtime::linker,
    state::{About, Endowment, store},
    ticker::Ticker,
};

/// Asks a component for its manifest: the one time that code runs to describe itself, when
/// the component is built. Compiles in this process, so only for one's own components.
pub fn manifest_of(component: &[u8]) -> anyhow::Result<String> {
    describe_in_sandbox(component).map_err(|error| anyhow::anyhow!("{error:#}"))
}

fn describe_in_sandbox(component: &[u8]) -> wasmtime::Result<String> {
    let engine = Engine::new(&code_config())?;
    let ticker = Ticker::start(&engine)?;
    let component = Component::new(&engine, component)?;
    let instance = linker(&engine)?.instantiate_pre(&component)?;
    let indices = describe::GuestIndices::new(&instance)?;
    let endowment = Endowment {
        about: About::default(),
        around: Arc::default(),
        grants: Grants::default(),
        limits: Limits::HOOK,
        settings: "{}".into(),
        state: None,
        seed: [0; 32],
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()?;
    runtime.block_on(async {
        let _ticking = ticker.ticking();
        let mut store = store(&engine, endowment);
        let instance = instance.instantiate_async(&mut store).await?;
        let hook = indices.load(&mut store, &instance)?;
        hook.call_manifest(&mut store).await
    })
}
