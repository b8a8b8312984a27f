//! What a tool is given to work with, and the ways in which it can end.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use damper_call::Output;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// How long processes may take to end themselves after SIGTERM before SIGKILL follows.
///
/// Long enough for a build tool to remove its lock file, short enough that a person who
/// cancelled does not wait.
pub const DEFAULT_GRACE: Duration = Duration::from_secs(1);

/// How many characters of a command's output are kept.
///
/// About 8,000 tokens: what a model can read without losing its thread.
pub const DEFAULT_OUTPUT_CHARS: usize = 30_000;

/// How long a file operation that was told to stop may take to do so. One that hangs
/// longer, on a dead network mount for instance, is left behind on its thread.
const STOP_LATENCY: Duration = Duration::from_secs(1);

/// What a tool may use while it works on one call.
#[derive(Debug, Clone)]
pub struct ToolContext {
    /// The folders that the session works in, absolute. Tools see no file outside.
    pub roots: Vec<PathBuf>,
    /// Where relative paths start and commands run, absolute.
    pub cwd: PathBuf,
    /// The folders that no tool may touch, even inside a root: `DAMPER_HOME`.
    pub hidden: Vec<PathBuf>,
    /// When the tool is stopped, finished or not.
    pub deadline: Instant,
    /// Stops the tool early.
    pub cancel: CancellationToken,
    /// Takes a line now and then about how far the tool is. A full channel loses lines.
    pub progress: Option<mpsc::Sender<String>>,
    /// How long processes may take to end themselves; see [`DEFAULT_GRACE`].
    pub grace: Duration,
    /// How many characters of output are kept; see [`DEFAULT_OUTPUT_CHARS`].
    pub output_chars: usize,
    /// A program whose `__shell` subcommand is [`crate::shell_child_main`]: our own.
    ///
    /// With it, whatever a command starts ends with the command and with the host, even
    /// with a host that is killed. Without it only the command's process group does.
    pub launcher: Option<PathBuf>,
}

/// How a tool ended.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolResult {
    /// It finished, be it with an error that it reports itself.
    Completed(Output),
    /// It was cancelled. The output is what there was by then.
    Cancelled(Output),
    /// It ran out of time. The output is what there was by then.
    TimedOut(Output),
}

impl ToolResult {
    pub(crate) fn error(text: impl Into<String>) -> Self {
        Self::Completed(Output::error(text))
    }
}

/// Why a tool has to stop before it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopReason {
    Cancelled,
    TimedOut,
}

impl StopReason {
    pub(crate) fn result(self, output: Output) -> ToolResult {
        match self {
            Self::Cancelled => ToolResult::Cancelled(output),
            Self::TimedOut => ToolResult::TimedOut(output),
        }
    }

    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Cancelled => "cancelled",
            Self::TimedOut => "out of time",
        }
    }
}

/// The two things that end a tool from outside, cancellation and the clock.
#[derive(Debug, Clone)]
pub(crate) struct Stop {
    cancel: CancellationToken,
    deadline: Instant,
}

impl Stop {
    /// Stops at the call's own deadline, or at `limit` from now if that is earlier.
    pub(crate) fn within(limit: Duration, context: &ToolContext) -> Self {
        let own = Instant::now().checked_add(limit);
        Self {
            cancel: context.cancel.clone(),
            deadline: own.map_or(context.deadline, |own| own.min(context.deadline)),
        }
    }

    /// Returns why to stop now, if there is a reason.
    pub(crate) fn reason(&self) -> Option<StopReason> {
        if self.cancel.is_cancelled() {
            Some(StopReason::Cancelled)
        } else if Instant::now() >= self.deadline {
            Some(StopReason::TimedOut)
        } else {
            None
        }
    }

    /// Returns when there is a reason to stop.
    pub(crate) async fn wait(&self) -> StopReason {
        tokio::select! {
            () = self.cancel.cancelled() => StopReason::Cancelled,
            () = tokio::time::sleep_until(self.deadline.into()) => StopReason::TimedOut,
        }
    }
}

/// Runs file operations on a thread of their own. The work watches `stop` itself.
pub(crate) async fn run_blocking(
    stop: Stop,
    work: impl FnOnce(&Stop) -> ToolResult + Send + 'static,
) -> ToolResult {
    let watched = stop.clone();
    let mut worker = tokio::task::spawn_blocking(move || work(&watched));
    let too_late = async {
        let reason = stop.wait().await;
        tokio::time::sleep(STOP_LATENCY).await;
        reason
    };
    tokio::select! {
        biased;
        joined = &mut worker => joined.unwrap_or_else(|error| {
            tracing::error!(%error, "a native tool panicked");
            ToolResult::error("the tool failed inside the host; this is a bug in damper")
        }),
        reason = too_late => {
            tracing::warn!("a file operation hangs and was left behind");
            reason.result(Output::error(format!(
                "{} while the file system did not answer",
                reason.words()
            )))
        }
    }
}
