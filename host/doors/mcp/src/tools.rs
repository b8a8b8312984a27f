//! Tools and outcomes in the words of MCP.

use std::sync::Arc;

use damper_call::{EffectClass, Outcome, ToolDefinition};
use damper_dispatch::Dispatcher;
use rmcp::model::{CallToolResult, ContentBlock, MetaObject, Tool, ToolAnnotations};
use serde_json::Value;
use tokio::sync::watch;

use crate::conversation::Conversation;

/// The key in a result's `_meta` under which the call's id stands, for `damper explain`.
const CALL_ID_KEY: &str = "damper/call";

/// Returns a tool as clients see it.
pub(crate) fn wire_tool(tool: &ToolDefinition) -> Tool {
    Tool::new(
        tool.name.clone(),
        tool.description.clone(),
        tool.input_schema.clone(),
    )
    .with_annotations(annotations(tool.effect))
}

/// Returns what an effect class says in MCP's hints.
fn annotations(effect: EffectClass) -> ToolAnnotations {
    let hints = ToolAnnotations::new();
    match effect {
        EffectClass::None => hints.read_only(true).destructive(false).idempotent(true),
        // A class says what repeating a tool means, not what it overwrites, so the
        // protocol's worst case stays for everything that changes something.
        EffectClass::Idempotent => hints.read_only(false).destructive(true).idempotent(true),
        EffectClass::Once => hints.read_only(false).destructive(true).idempotent(false),
    }
}

/// Returns the answer to a call as clients see it.
pub(crate) fn wire_result(outcome: Outcome) -> CallToolResult {
    let content = vec![ContentBlock::text(outcome.output.text)];
    let mut result = if outcome.output.is_error {
        CallToolResult::error(content)
    } else {
        CallToolResult::success(content)
    };
    result.structured_content = outcome.output.structured;
    let mut meta = MetaObject::new();
    meta.0
        .insert(CALL_ID_KEY.to_owned(), Value::String(outcome.call.into()));
    result.with_meta(Some(meta))
}

/// The tools of a conversation, watched for changes.
pub(crate) struct ToolList {
    dispatcher: Dispatcher,
    conversation: Arc<Conversation>,
    generations: watch::Receiver<u64>,
    seen: Vec<Arc<ToolDefinition>>,
}

impl ToolList {
    pub(crate) async fn new(dispatcher: Dispatcher, conversation: Arc<Conversation>) -> Self {
        // The receiver comes before the list: a generation in between is then
        // compared once too often instead of being missed.
        let generations = dispatcher.generations();
        let seen = conversation.tools(&dispatcher).await;
        Self {
            dispatcher,
            conversation,
            generations,
            seen,
        }
    }

    /// Waits until the list differs from what it was. Returns false when it never will,
    /// because the host is on its way out.
    pub(crate) async fn changed(&mut self) -> bool {
        while self.generations.changed().await.is_ok() {
            let now = self.conversation.tools(&self.dispatcher).await;
            if now != self.seen {
                self.seen = now;
                return true;
            }
        }
        false
    }
}
