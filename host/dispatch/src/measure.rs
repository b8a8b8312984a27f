//! One step of the journey by itself, for benches.

use std::sync::Arc;

use damper_call::{ToolCall, VerdictKind};

use crate::{Dispatcher, Generation, guards::Jury};

/// Asks every guard that covers the call and combines what they say, exactly as the journey
/// does between its records.
pub async fn decide(
    dispatcher: &Dispatcher,
    generation: &Generation,
    call: &Arc<ToolCall>,
) -> VerdictKind {
    let jury = Jury::ask(dispatcher.machinery(), generation, call).await;
    jury.decision().verdict
}
