//! From a core module to a component with its manifest inside.

use anyhow::{Context, Result};
use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER,
};
use wit_component::ComponentEncoder;

/// What a component is made with besides its module, so that a new adapter remakes it.
pub(crate) const ADAPTER: &[u8] = WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER;

/// Returns the module as a component, without a manifest.
pub(crate) fn componentize(module: &[u8]) -> Result<Vec<u8>> {
    ComponentEncoder::default()
        .module(module)
        .context("it does not say what it imports and exports, as guest SDKs make modules do")?
        .adapter(WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, ADAPTER)
        .context("the adapter for WASI preview 1 does not fit")?
        .validate(true)
        .encode()
        .context("it does not become a component")
}

/// Returns the component as one that says what it is.
///
/// It is asked for its manifest in the sandbox, once and for all: a running host reads the
/// copy.
pub(crate) fn with_manifest(component: &[u8]) -> Result<Vec<u8>> {
    let manifest =
        damper_wasm::describe(component).context("it does not answer with its manifest")?;
    damper_wasm::append_manifest(component, manifest.as_bytes())
        .context("its manifest is not accepted")
}
