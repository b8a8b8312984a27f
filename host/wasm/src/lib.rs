//! damper-wasm
