//! `damper __shell`: the process between the host and a shell that ends what the shell
//! started.
//!
//! A parent-death signal would reach only the shell, not what runs below it, and it fires
//! when the host's *thread* ends. So the supervisor stays: it holds one end of a socket,
//! and when the other end closes, because the host wants that or because it was killed, it
//! ends the tree. On Linux it is a child subreaper: orphans become its children, even
//! those that left the process group or the session, so that its last `wait` fails
//! exactly when nothing is left. Elsewhere it ends the shell's process group.
//! Being a process of its own without threads of others, it is also where limits and the
//! sandbox can be put on without unsafe code.

use std::{
    ffi::{OsStr, OsString},
    io::{self, Read, Write},
    os::{
        fd::{AsFd, OwnedFd},
        unix::{net::UnixStream, process::CommandExt},
    },
    path::Path,
    process::{Command, ExitCode, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, kill_process_group};
use serde::{Deserialize, Serialize};

use super::processes::{descendants, group_exists};

/// The subcommand under which a launcher runs [`shell_child_main`].
pub const SHELL_SUBCOMMAND: &str = "__shell";

/// How long background processes may live on after their shell: long enough for the last
/// words of `cmd | tee log &`, too short to be noticed.
pub(super) const LINGER: Duration = Duration::from_millis(250);

/// How long to wait before killing again what was forked in between.
const KILL_AGAIN_AFTER: Duration = Duration::from_millis(20);

/// What a supervisor tells the host, one JSON text a line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Message {
    Started {
        shell: i32,
    },
    Failed {
        why: String,
    },
    Ended {
        exit_code: Option<i32>,
        signal: Option<i32>,
        leftovers: u32,
    },
}

/// Returns the program that runs command lines.
pub(super) fn bash() -> &'static str {
    if Path::new("/bin/bash").exists() {
        "/bin/bash"
    } else {
        "bash"
    }
}

/// Runs a shell and ends everything that it started; the host's launcher calls it with the
/// arguments that follow [`SHELL_SUBCOMMAND`].
///
/// Standard input must be the socket that the host made.
pub fn shell_child_main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut host = match io::stdin().as_fd().try_clone_to_owned() {
        Ok(socket) => UnixStream::from(socket),
        Err(_closed) => return ExitCode::FAILURE,
    };
    let ended = match supervise(arguments, &mut host) {
        Ok(ended) => ended,
        Err(error) => Message::Failed {
            why: error.to_string(),
        },
    };
    match tell(&mut host, &ended) {
        Ok(()) => ExitCode::SUCCESS,
        // The host is gone, and nobody else listens.
        Err(_gone) => ExitCode::FAILURE,
    }
}

#[derive(Debug, thiserror::Error)]
enum SuperviseError {
    #[error("this subcommand is for damper itself: __shell GRACE_MS COMMAND")]
    Usage,
    #[error("the supervisor cannot be set up: {0}")]
    SetUp(io::Error),
    #[error("bash cannot be started: {0}")]
    Spawn(io::Error),
    #[error("the host is gone: {0}")]
    Host(io::Error),
    #[error("the shell cannot be waited for: {0}")]
    Wait(io::Error),
}

fn supervise(
    arguments: impl IntoIterator<Item = OsString>,
    host: &mut UnixStream,
) -> Result<Message, SuperviseError> {
    let mut arguments = arguments.into_iter();
    let (Some(grace), Some(command), None) = (arguments.next(), arguments.next(), arguments.next())
    else {
        return Err(SuperviseError::Usage);
    };
    let grace = grace
        .to_str()
        .and_then(|text| text.parse().ok())
        .map(Duration::from_millis)
        .ok_or(SuperviseError::Usage)?;
    leave_terminal();
    adopt_orphans().map_err(SuperviseError::SetUp)?;
    let shell = start(&command).map_err(SuperviseError::Spawn)?;
    let tree = Tree {
        shell,
        grace,
        leftovers: Arc::new(AtomicU32::new(0)),
    };
    tell(
        host,
        &Message::Started {
            shell: shell.as_raw_nonzero().get(),
        },
    )
    .map_err(SuperviseError::Host)
    .and_then(|()| watch_host(host, &tree).map_err(SuperviseError::SetUp))
    .inspect_err(|_error| tree.kill())?;
    let status = tree.wait().map_err(SuperviseError::Wait)?;
    Ok(Message::Ended {
        exit_code: status.and_then(|status| status.exit_status()),
        signal: status.and_then(|status| status.terminating_signal()),
        leftovers: tree.leftovers.load(Ordering::Acquire),
    })
}

/// Gives up the host's terminal, so that nothing below can prompt a person on it.
fn leave_terminal() {
    if let Err(error) = rustix::process::setsid() {
        tracing::debug!(%error, "already the leader of a group");
    }
}

#[cfg(target_os = "linux")]
fn adopt_orphans() -> io::Result<()> {
    Ok(rustix::process::set_child_subreaper(Some(
        rustix::process::getpid(),
    ))?)
}

#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "the same shape as on Linux")]
fn adopt_orphans() -> io::Result<()> {
    Ok(())
}

fn start(command: &OsStr) -> io::Result<Pid> {
    let child = Command::new(bash())
        .args(["-c", "--"])
        .arg(command)
        .stdin(Stdio::null())
        .process_group(0)
        .spawn()?;
    i32::try_from(child.id())
        .ok()
        .and_then(Pid::from_raw)
        .ok_or_else(|| io::Error::other("it has no process id"))
}

/// Ends the tree as soon as the host closes its end of the socket.
fn watch_host(host: &UnixStream, tree: &Tree) -> io::Result<()> {
    let mut host = UnixStream::from(OwnedFd::from(host.try_clone()?));
    let tree = tree.clone();
    thread::Builder::new().spawn(move || {
        // The host never writes: anything but an interruption means that it is over.
        while matches!(host.read(&mut [0]), Err(error) if error.kind() == io::ErrorKind::Interrupted)
        {}
        tree.end();
    })?;
    Ok(())
}

fn tell(host: &mut UnixStream, message: &Message) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    host.write_all(&line)
}

/// A shell and everything that it started.
#[derive(Debug, Clone)]
struct Tree {
    shell: Pid,
    grace: Duration,
    /// Written by the thread that ends what outlives the shell, read by the one that waits.
    leftovers: Arc<AtomicU32>,
}

impl Tree {
    /// Returns how the shell ended, once nothing of the tree is left.
    fn wait(&self) -> io::Result<Option<WaitStatus>> {
        let mut shell_status = None;
        loop {
            match rustix::process::wait(WaitOptions::empty()) {
                Ok(Some((pid, status))) if pid == self.shell => {
                    shell_status = Some(status);
                    self.end_leftovers()?;
                }
                Ok(_adopted) => {}
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::CHILD) => break,
                Err(error) => return Err(error.into()),
            }
        }
        self.wait_for_group();
        Ok(shell_status)
    }

    /// Lets what outlives the shell come to its end, on a thread of its own, for `wait`
    /// notices first when there is nothing.
    fn end_leftovers(&self) -> io::Result<()> {
        let tree = self.clone();
        thread::Builder::new().spawn(move || {
            thread::sleep(LINGER);
            let count = u32::try_from(descendants().len()).unwrap_or(u32::MAX);
            tree.leftovers.store(count, Ordering::Release);
            tree.end();
        })?;
        Ok(())
    }

    /// Where orphans are not adopted, waits for the group instead.
    fn wait_for_group(&self) {
        let exists = || group_exists(self.shell);
        let lingering_ends = Instant::now() + LINGER;
        while exists() && Instant::now() < lingering_ends {
            thread::sleep(KILL_AGAIN_AFTER);
        }
        if !exists() {
            return;
        }
        self.leftovers.fetch_max(1, Ordering::AcqRel);
        self.signal(Signal::TERM);
        let grace_ends = Instant::now() + self.grace;
        while exists() && Instant::now() < grace_ends {
            thread::sleep(KILL_AGAIN_AFTER);
        }
        self.kill();
    }

    /// Ends the tree. Does not return: the process exits when `wait` finds nothing left.
    fn end(&self) {
        self.signal(Signal::TERM);
        thread::sleep(self.grace);
        loop {
            self.kill();
            thread::sleep(KILL_AGAIN_AFTER);
        }
    }

    fn kill(&self) {
        self.signal(Signal::KILL);
    }

    /// Signals groups first, which the kernel does in one step, so that nothing can fork
    /// its way out; then each process, for those that share our own group.
    fn signal(&self, signal: Signal) {
        let ours = rustix::process::getpgrp();
        let found = descendants();
        let mut groups: Vec<Pid> = found
            .iter()
            .map(|process| process.group)
            .filter(|&group| group != ours)
            .collect();
        groups.push(self.shell);
        groups.sort_by_key(|group| group.as_raw_nonzero());
        groups.dedup();
        // What is already gone cannot be signalled, and need not be.
        for group in groups {
            let _gone = kill_process_group(group, signal);
        }
        for process in found {
            let _gone = kill_process(process.pid, signal);
        }
    }
}
