//! `bash`: one command line, from its start until nothing of it is left.

mod capture;
mod environment;
mod processes;
mod shell;
mod supervisor;

use std::time::{Duration, Instant};

use damper_call::{CommandArgument, Dialect, EffectClass, Output, ToolDefinition, ToolSource};
use serde::Deserialize;
use serde_json::json;
use tokio::{sync::mpsc, time::MissedTickBehavior};

use self::{
    capture::Capture,
    shell::{Report, Shell},
};
use crate::{
    ToolContext, ToolResult,
    context::{Stop, StopReason},
    native::object,
    reach::Reach,
};

pub use self::supervisor::{SHELL_SUBCOMMAND, shell_child_main};

/// How long a command may take when the caller does not say, as in the harness whose
/// habits carry over.
const DEFAULT_TIMEOUT_MS: u64 = 60_000;

/// How long a command may take at most. What takes longer should be a background job.
const MAX_TIMEOUT_MS: u64 = 600_000;

/// How often the caller hears of a running command.
const PROGRESS_EVERY: Duration = Duration::from_secs(1);

/// What `bash` is asked for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Order {
    command: String,
    /// For the person who is asked about the call, who sees all arguments.
    #[serde(rename = "description")]
    _description: Option<String>,
    #[serde(rename = "timeoutMs")]
    timeout_ms: Option<u64>,
    workdir: Option<String>,
}

pub(crate) fn definition() -> ToolDefinition {
    ToolDefinition {
        name: "bash".into(),
        description: "Runs a command line with bash and returns what it prints (standard \
                      output and standard error in one text) and its exit code. Each call is \
                      a new shell: variables and `cd` do not carry over. There is no standard \
                      input and no terminal. Long output is kept at its beginning and end. \
                      When the command ends or runs out of time, every process it started is \
                      killed, those in the background too. Use read and grep rather than \
                      cat, grep or find."
            .into(),
        input_schema: object(json!({
            "type": "object",
            "properties": {
                "command": {
                    "type": "string",
                    "minLength": 1,
                    "description": "The command line, as in `bash -c`."
                },
                "description": {
                    "type": "string",
                    "description": "What the command does, in five to ten words, for the \
                                    person who may be asked about it."
                },
                "timeoutMs": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": MAX_TIMEOUT_MS,
                    "description": "After how many milliseconds the command is killed. \
                                    Default: 60000."
                },
                "workdir": {
                    "type": "string",
                    "minLength": 1,
                    "description": "The folder to run in, inside the folders of the session. \
                                    Default: the working folder. Prefer it to `cd`."
                }
            },
            "required": ["command"],
            "additionalProperties": false
        })),
        effect: EffectClass::Once,
        command: Some(CommandArgument {
            name: "command".into(),
            dialect: Dialect::Bash,
        }),
        paths: vec!["workdir".into()],
        source: ToolSource::Native,
    }
}

pub(crate) async fn run(order: Order, context: &ToolContext) -> ToolResult {
    let asked = order.timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS);
    let stop = Stop::within(
        Duration::from_millis(asked.clamp(1, MAX_TIMEOUT_MS)),
        context,
    );
    if order.command.contains('\0') {
        return ToolResult::error("the command contains a NUL character, which bash cannot take");
    }
    let folder = match Reach::new(context).locate_folder(order.workdir.as_deref().unwrap_or(".")) {
        Ok(folder) => folder,
        Err(refusal) => return ToolResult::error(format!("workdir: {refusal}")),
    };
    if let Some(reason) = stop.reason() {
        let text = format!("{} before the command was started", reason.words());
        return reason.result(Output::error(text));
    }
    let started = Instant::now();
    let mut shell = match Shell::start(&order.command, &folder, context) {
        Ok(shell) => shell,
        Err(error) => return ToolResult::error(error.to_string()),
    };
    let mut capture = Capture::new(context.output_chars);
    let stopped = watch(&mut shell, &mut capture, &stop, context.progress.as_ref()).await;
    let report = match stopped {
        None => shell.settle(&mut capture).await,
        Some(_) => shell.stop(&mut capture).await,
    };
    let ending = Ending {
        report,
        stopped,
        took: started.elapsed(),
        folder: order
            .workdir
            .is_some()
            .then(|| folder.display().to_string()),
    };
    ending.answer(&capture)
}

/// Takes output until the shell exits, or returns why it has to be stopped before.
async fn watch(
    shell: &mut Shell,
    capture: &mut Capture,
    stop: &Stop,
    progress: Option<&mpsc::Sender<String>>,
) -> Option<StopReason> {
    let mut ticks =
        tokio::time::interval_at(tokio::time::Instant::now() + PROGRESS_EVERY, PROGRESS_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut told = 0;
    let stopped = stop.wait();
    tokio::pin!(stopped);
    loop {
        tokio::select! {
            () = shell.output.take(capture) => {}
            _ = shell.child.wait() => return None,
            reason = &mut stopped => return Some(reason),
            _ = ticks.tick(), if progress.is_some() => {
                if capture.total_bytes() > told {
                    told = capture.total_bytes();
                    tell(progress, capture.last_line());
                }
            }
        }
    }
}

/// Sends a line, unless the listener is slow or gone: progress is a courtesy.
fn tell(progress: Option<&mpsc::Sender<String>>, line: Option<String>) {
    if let (Some(progress), Some(line)) = (progress, line)
        && let Err(error) = progress.try_send(line)
    {
        tracing::trace!(%error, "a line of progress was dropped");
    }
}

/// All there is to say about a command that is over.
struct Ending {
    report: Report,
    stopped: Option<StopReason>,
    took: Duration,
    folder: Option<String>,
}

impl Ending {
    fn answer(&self, capture: &Capture) -> ToolResult {
        let (mut text, truncated) = capture.render();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        for note in self.notes() {
            text.push_str(&format!("[{note}]\n"));
        }
        let output = Output {
            text,
            structured: Some(json!({
                "exit_code": self.report.exit_code,
                "signal": self.report.signal,
                "timed_out": self.stopped == Some(StopReason::TimedOut),
                "truncated": truncated,
            })),
            is_error: self.stopped.is_some() || self.report.exit_code != Some(0),
        };
        match self.stopped {
            Some(reason) => reason.result(output),
            None => ToolResult::Completed(output),
        }
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let took = shown(self.took);
        let place = self
            .folder
            .as_ref()
            .map_or(String::new(), |folder| format!(" in {folder}"));
        notes.push(match (self.stopped, &self.report) {
            (Some(StopReason::TimedOut), _) => format!(
                "timed out after {took}{place}; the command and all it started was killed. If it \
                 needs longer, pass a larger timeoutMs, at most {MAX_TIMEOUT_MS}"
            ),
            (Some(StopReason::Cancelled), _) => {
                format!("cancelled after {took}{place}; the command and all it started was killed")
            }
            (
                None,
                Report {
                    failure: Some(why), ..
                },
            ) => format!("{why} (after {took}{place})"),
            (
                None,
                Report {
                    exit_code: Some(code),
                    ..
                },
            ) => {
                format!("exit code {code} after {took}{place}")
            }
            (
                None,
                Report {
                    signal: Some(signal),
                    ..
                },
            ) => {
                format!("killed by signal {signal} after {took}{place}")
            }
            (None, _) => format!("ended after {took}{place}; how is not known"),
        });
        if self.stopped.is_none() && self.report.leftovers > 0 {
            notes.push(format!(
                "processes still running in the background when the shell exited, now killed: {}",
                self.report.leftovers
            ));
        }
        if self.report.survivors {
            notes.push("some processes did not end even when killed".into());
        }
        notes
    }
}

fn shown(time: Duration) -> String {
    if time < Duration::from_secs(1) {
        format!("{} ms", time.as_millis())
    } else {
        format!("{:.1} s", time.as_secs_f64())
    }
}
