//! One step of the journey by itself, for benches.

use std::sync::Arc;

use damper_call::{ToolCall, VerdictKind};
use damper_wasm::Runtime;

use crate::{Generation, guards};

/// Asks every guard that covers the call and combines what they say, exactly as the journey
/// does between its records.
pub async fn decide(
    runtime: &Runtime,
    generation: &Generation,
    call: &Arc<ToolCall>,
) -> VerdictKind {
    guards::decide(runtime, generation, call).await.verdict
}
