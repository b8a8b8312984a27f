//! The host's side of a running shell: how it is started, heard and ended.
//!
//! There are two ways. With a launcher the shell runs below a supervisor (see
//! `supervisor`), and closing our end of a socket, be it by dying, ends all of it.
//! Without one the shell is our own child and its process group is all we can kill.

use std::{
    io::{self, Read},
    net::Shutdown,
    os::{fd::OwnedFd, unix::net::UnixStream, unix::process::ExitStatusExt},
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::{
    io::AsyncReadExt,
    net::unix::pipe,
    process::{Child, Command},
    time::timeout,
};

use super::{
    capture::Capture,
    environment::scrubbed,
    processes::group_exists,
    supervisor::{LINGER, Message, SHELL_SUBCOMMAND, bash},
};
use crate::ToolContext;

/// How long after SIGKILL we wait for processes to be gone. Those that are still there
/// hang inside the kernel, and waiting longer would not help.
const KILL_PATIENCE: Duration = Duration::from_secs(3);

/// How often a process group is asked whether it still exists.
const POLL_EVERY: Duration = Duration::from_millis(20);

/// Why a command could not be started.
#[derive(Debug, thiserror::Error)]
pub(super) enum StartError {
    #[error("the command is too long for the system; write it to a file and run that file: {0}")]
    TooLong(io::Error),
    #[error("`{program}` cannot be started: {source}")]
    Spawn { program: PathBuf, source: io::Error },
    #[error("no pipe for the command's output: {0}")]
    Pipe(io::Error),
}

/// How a shell ended.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) exit_code: Option<i32>,
    pub(super) signal: Option<i32>,
    /// How many processes were left in the background when the shell exited.
    pub(super) leftovers: u32,
    /// Whether some of its processes could not be killed.
    pub(super) survivors: bool,
    /// What went wrong with running the shell at all.
    pub(super) failure: Option<String>,
}

/// A running shell. Dropping it kills everything that it started.
#[derive(Debug)]
pub(super) struct Shell {
    pub(super) child: Child,
    pub(super) output: OutputPipe,
    hold: Hold,
    grace: Duration,
}

#[derive(Debug)]
enum Hold {
    Supervisor(UnixStream),
    Group(Group),
}

/// The process group of a shell, killed when dropped.
#[derive(Debug)]
struct Group {
    id: Pid,
    /// Set once nothing is left of it: its number may soon be another's.
    is_gone: bool,
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.is_gone {
            signal(self.id, Signal::KILL);
        }
    }
}

/// The one pipe that takes both standard output and standard error, in their order.
#[derive(Debug)]
pub(super) struct OutputPipe {
    /// Nothing once the end was seen.
    receiver: Option<pipe::Receiver>,
    buffer: Box<[u8]>,
}

impl OutputPipe {
    fn new(end: OwnedFd) -> io::Result<Self> {
        Ok(Self {
            receiver: Some(pipe::Receiver::from_owned_fd(end)?),
            buffer: vec![0; 64 * 1024].into(),
        })
    }

    /// Takes one portion of output. Never returns after the end; nothing is lost when the
    /// future is dropped.
    pub(super) async fn take(&mut self, capture: &mut Capture) {
        let Some(receiver) = &mut self.receiver else {
            return std::future::pending().await;
        };
        match receiver.read(&mut self.buffer).await {
            Ok(0) => self.receiver = None,
            Ok(length) => capture.push(&self.buffer[..length]),
            Err(error) => {
                tracing::warn!(%error, "the output of a command cannot be read on");
                self.receiver = None;
            }
        }
    }

    /// Takes output until its end.
    async fn drain(&mut self, capture: &mut Capture) {
        while self.receiver.is_some() {
            self.take(capture).await;
        }
    }
}

impl Shell {
    /// Starts a command line in `folder`.
    pub(super) fn start(
        command: &str,
        folder: &Path,
        context: &ToolContext,
    ) -> Result<Self, StartError> {
        let (ours, theirs) = io::pipe().map_err(StartError::Pipe)?;
        let output = OutputPipe::new(ours.into()).map_err(StartError::Pipe)?;
        let errors = theirs.try_clone().map_err(StartError::Pipe)?;
        let (program, mut process, lifeline) = match &context.launcher {
            Some(launcher) => {
                let (ours, theirs) = UnixStream::pair().map_err(StartError::Pipe)?;
                ours.set_nonblocking(true).map_err(StartError::Pipe)?;
                let mut process = Command::new(launcher);
                process
                    .arg(SHELL_SUBCOMMAND)
                    .arg(context.grace.as_millis().to_string())
                    .arg(command)
                    .stdin(OwnedFd::from(theirs));
                (launcher.clone(), process, Some(ours))
            }
            None => {
                let mut process = Command::new(bash());
                process
                    .args(["-c", "--", command])
                    .stdin(Stdio::null())
                    .process_group(0);
                (bash().into(), process, None)
            }
        };
        process
            .current_dir(folder)
            .env_clear()
            .envs(scrubbed(std::env::vars_os()))
            .stdout(theirs)
            .stderr(errors);
        let child = process.spawn().map_err(|source| {
            if source.kind() == io::ErrorKind::ArgumentListTooLong {
                return StartError::TooLong(source);
            }
            let program = program.clone();
            StartError::Spawn { program, source }
        })?;
        let hold = match lifeline {
            Some(lifeline) => Hold::Supervisor(lifeline),
            None => {
                let id = pid_of(&child).ok_or_else(|| StartError::Spawn {
                    program,
                    source: io::Error::other("it has no process id"),
                })?;
                Hold::Group(Group { id, is_gone: false })
            }
        };
        Ok(Self {
            child,
            output,
            hold,
            grace: context.grace,
        })
    }

    /// Ends what a shell that has exited left behind, and returns how it ended.
    pub(super) async fn settle(mut self, capture: &mut Capture) -> Report {
        let mut report = self.report().await;
        match &mut self.hold {
            // Its supervisor is gone and so is all the rest, unless that was attacked.
            Hold::Supervisor(_) => {
                let ended = timeout(LINGER, self.output.drain(capture)).await;
                report.survivors = ended.is_err();
            }
            Hold::Group(group) => {
                let id = group.id;
                let ended = timeout(LINGER, self.output.drain(capture)).await.is_ok();
                group.is_gone = ended && !group_exists(id);
                if !group.is_gone {
                    report.leftovers = 1;
                    report.survivors = self.end_group(id, capture).await;
                }
            }
        }
        report
    }

    /// Ends a running shell and all it started, first gently, then by force.
    pub(super) async fn stop(mut self, capture: &mut Capture) -> Report {
        let survivors = match &self.hold {
            Hold::Group(group) => {
                let id = group.id;
                self.end_group(id, capture).await
            }
            Hold::Supervisor(_) => self.end_supervised(capture).await,
        };
        // Nothing to report by now means that it is still there.
        let report = timeout(Duration::ZERO, self.report()).await;
        let mut report = report.unwrap_or_default();
        report.survivors |= survivors;
        report
    }

    /// Returns whether the supervisor, and so perhaps something below it, is still there.
    async fn end_supervised(&mut self, capture: &mut Capture) -> bool {
        let Hold::Supervisor(lifeline) = &self.hold else {
            return false;
        };
        if let Err(error) = lifeline.shutdown(Shutdown::Write) {
            tracing::debug!(%error, "the supervisor of a shell has already gone");
        }
        let supervisor = pid_of(&self.child);
        let (child, output) = (&mut self.child, &mut self.output);
        let mut ended = async || {
            let (status, ()) = tokio::join!(child.wait(), output.drain(capture));
            status
        };
        // The command may have stopped its supervisor.
        wake(supervisor);
        if timeout(self.grace + KILL_PATIENCE, ended()).await.is_ok() {
            return false;
        }
        // Or it does so again and again, which ends with its group.
        for message in messages(lifeline) {
            if let Message::Started { shell } = message
                && let Some(group) = Pid::from_raw(shell)
            {
                signal(group, Signal::KILL);
            }
        }
        wake(supervisor);
        timeout(self.grace + KILL_PATIENCE, ended()).await.is_err()
    }

    /// Returns whether something of the group is still there.
    async fn end_group(&mut self, group: Pid, capture: &mut Capture) -> bool {
        signal(group, Signal::TERM);
        let (child, output) = (&mut self.child, &mut self.output);
        let mut ended = async || {
            let (status, (), ()) =
                tokio::join!(child.wait(), output.drain(capture), until_gone(group));
            status
        };
        let mut is_gone = timeout(self.grace, ended()).await.is_ok();
        if !is_gone {
            signal(group, Signal::KILL);
            is_gone = timeout(KILL_PATIENCE, ended()).await.is_ok();
        }
        if let Hold::Group(group) = &mut self.hold {
            group.is_gone = is_gone;
        }
        !is_gone
    }

    /// Waits for the process that we started and returns what it said.
    async fn report(&mut self) -> Report {
        let status = match self.child.wait().await {
            Ok(status) => status,
            Err(error) => {
                return Report {
                    failure: Some(format!("the shell cannot be waited for: {error}")),
                    ..Report::default()
                };
            }
        };
        match &self.hold {
            Hold::Group(_) => Report {
                exit_code: status.code(),
                signal: status.signal(),
                ..Report::default()
            },
            Hold::Supervisor(lifeline) => told(lifeline, status),
        }
    }
}

/// Returns what a supervisor that has exited told about its shell.
fn told(lifeline: &UnixStream, status: ExitStatus) -> Report {
    let mut group = None;
    for message in messages(lifeline) {
        match message {
            Message::Started { shell } => group = Pid::from_raw(shell),
            Message::Failed { why } => {
                return Report {
                    failure: Some(why),
                    ..Report::default()
                };
            }
            Message::Ended {
                exit_code,
                signal,
                leftovers,
            } => {
                return Report {
                    exit_code,
                    signal,
                    leftovers,
                    ..Report::default()
                };
            }
        }
    }
    // Somebody killed the supervisor, most likely the command itself.
    if let Some(group) = group {
        signal(group, Signal::KILL);
    }
    Report {
        failure: Some(format!(
            "the process that watches over the shell ended before it ({status}), and the shell \
             was killed"
        )),
        ..Report::default()
    }
}

/// Returns what lies ready; a supervisor says little and then exits.
fn messages(mut lifeline: &UnixStream) -> Vec<Message> {
    let mut text = Vec::new();
    if let Err(error) = lifeline.read_to_end(&mut text) {
        tracing::debug!(%error, "a supervisor's report ends early");
    }
    text.split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty())
        .map_while(|line| serde_json::from_slice(line).ok())
        .collect()
}

fn pid_of(child: &Child) -> Option<Pid> {
    child
        .id()
        .and_then(|id| i32::try_from(id).ok())
        .and_then(Pid::from_raw)
}

async fn until_gone(group: Pid) {
    while group_exists(group) {
        tokio::time::sleep(POLL_EVERY).await;
    }
}

/// Lets a process go on that was stopped. It is our child, so its number is still its own.
fn wake(process: Option<Pid>) {
    if let Some(process) = process
        && let Err(error) = kill_process(process, Signal::CONT)
    {
        tracing::trace!(%error, "a process is gone");
    }
}

/// Signals a group; one that is gone is what we want.
fn signal(group: Pid, signal: Signal) {
    if let Err(error) = kill_process_group(group, signal) {
        tracing::trace!(%error, "a process group is gone");
    }
}
