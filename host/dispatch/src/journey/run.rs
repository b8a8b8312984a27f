//! Running the tool, once everything is decided and recorded.

use std::{
    process::Stdio,
    sync::Arc,
    time::{Duration, Instant},
};

use damper_call::{EffectClass, Ending, Outcome, Output, ToolCall, ToolSource};
use damper_tools::{DEFAULT_GRACE, DEFAULT_OUTPUT_CHARS, NativeTool, ToolContext, ToolResult};
use damper_wasm::{Asked, GuestFailure, LimitKey, Runtime};
use serde_json::{Map, Value};

use super::Traveller;
use crate::{
    Loaded, Running,
    approvals::Pending,
    asking::{Asking, ask},
    generation::ToolEntry,
    outcome,
};

/// The longest a native tool may run. Tools have shorter limits of their own.
const NATIVE_TIME: Duration = Duration::from_secs(3600);

impl Traveller {
    /// Runs the tool of a call that may run and returns its outcome, not yet recorded.
    pub(super) async fn run(
        &self,
        call: &Arc<ToolCall>,
        arguments: &Map<String, Value>,
        entry: &ToolEntry,
    ) -> Outcome {
        if self.cancel().is_cancelled() {
            return outcome::cancelled(&self.id);
        }
        if let Err(outcome) = self.record_started(call.tool.effect).await {
            return outcome;
        }
        match (&call.tool.source, entry.native(), &entry.row.running) {
            (ToolSource::Native, Some(tool), _) => self.run_native(tool, call, arguments).await,
            (ToolSource::Plugin(_), _, Running::Plugin(loaded)) => {
                self.run_plugin(loaded, call, entry).await
            }
            _ => outcome::failed(
                &self.id,
                Ending::Failed,
                "the tool is gone; this is a bug in damper".to_owned(),
            ),
        }
    }

    async fn run_native(
        &self,
        tool: NativeTool,
        call: &ToolCall,
        arguments: &Map<String, Value>,
    ) -> Outcome {
        let machinery = &self.shared.machinery;
        let context = ToolContext {
            roots: call.session.roots.clone(),
            cwd: call.cwd.clone(),
            hidden: machinery.hidden.clone(),
            deadline: Instant::now() + NATIVE_TIME,
            cancel: self.cancel().clone(),
            progress: self.request.progress.clone(),
            grace: DEFAULT_GRACE,
            output_chars: DEFAULT_OUTPUT_CHARS,
            launcher: machinery.launcher.clone(),
        };
        let (ending, output) = match damper_tools::run(tool, arguments, &context).await {
            ToolResult::Completed(output) => (Ending::Completed, output),
            ToolResult::Cancelled(output) => (Ending::Cancelled, output),
            ToolResult::TimedOut(output) => (Ending::TimedOut, output),
        };
        Outcome {
            call: self.id.clone(),
            ending,
            output,
        }
    }

    async fn run_plugin(
        &self,
        loaded: &Loaded,
        call: &Arc<ToolCall>,
        entry: &ToolEntry,
    ) -> Outcome {
        let Some(guest) = &loaded.tool else {
            return outcome::failed(
                &self.id,
                Ending::Failed,
                "the plugin provides no tools".to_owned(),
            );
        };
        let machinery = &self.shared.machinery;
        let asking = Asking {
            row: &entry.row,
            loaded,
            guest,
            hook: "tool.run",
            session: &call.session.id,
            call: Some(&self.id),
            input: Runtime::digest(call.arguments.as_bytes()),
            may_repeat: call.tool.effect != EffectClass::Once,
        };
        let question = |asked: Asked| machinery.runtime.run(asked, call);
        let answered = tokio::select! {
            answered = ask(machinery, asking, question) => answered,
            () = self.cancel().cancelled() => {
                let text = "the call was cancelled while its plugin ran; the plugin was stopped".to_owned();
                return outcome::failed(&self.id, Ending::Cancelled, text);
            }
        };
        match answered {
            Ok(output) => Outcome {
                call: self.id.clone(),
                ending: Ending::Completed,
                output,
            },
            Err(failure) => {
                let plugin = &loaded.plugin.manifest.id;
                let text = format!("the plugin `{plugin}` of row `{}` {failure}", entry.row.id);
                Outcome {
                    call: self.id.clone(),
                    ending: ending_of(&failure),
                    output: Output::error(text),
                }
            }
        }
    }
}

fn ending_of(failure: &GuestFailure) -> Ending {
    match failure {
        GuestFailure::Limit(hit) if matches!(hit.key, LimitKey::WallTime | LimitKey::GuestTime) => {
            Ending::TimedOut
        }
        GuestFailure::Cancelled => Ending::Cancelled,
        GuestFailure::Limit(_)
        | GuestFailure::Trap(_)
        | GuestFailure::Exit(_)
        | GuestFailure::Nonsense(_)
        | GuestFailure::Settings(_)
        | GuestFailure::Overload { .. }
        | GuestFailure::Host(_) => Ending::Failed,
    }
}

/// Starts the profile's `notify` command for a question, with what it is about in the
/// environment. Nobody waits for it.
pub(super) fn notify(command: &[String], pending: &Pending) {
    let Some((program, arguments)) = command.split_first() else {
        return;
    };
    let started = tokio::process::Command::new(program)
        .args(arguments)
        .env("DAMPER_APPROVAL", pending.id.as_str())
        .env("DAMPER_CALL", pending.call.as_str())
        .env("DAMPER_TOOL", &pending.tool)
        .env("DAMPER_SUBJECT", &pending.subject)
        .env("DAMPER_REASON", &pending.reason)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    match started {
        Ok(mut child) => {
            tokio::spawn(async move {
                if let Err(error) = child.wait().await {
                    tracing::warn!(%error, "cannot await the notify command");
                }
            });
        }
        Err(error) => tracing::warn!(%error, program, "the notify command does not start"),
    }
}
