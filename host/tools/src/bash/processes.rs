//! Which processes there are: below this one, and in a group.
//!
//! Linux tells in `/proc`. Elsewhere only groups are known.

use rustix::process::{Pid, test_kill_process_group};

/// A process that runs, or that has ended and was not yet waited for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Process {
    pub(super) pid: Pid,
    pub(super) group: Pid,
}

/// Returns every process below this one.
#[cfg(target_os = "linux")]
pub(super) fn descendants() -> Vec<Process> {
    let mut others: Vec<proc::Stat> = proc::all().collect();
    let mut found: Vec<Process> = Vec::new();
    let mut parents = vec![rustix::process::getpid()];
    while let Some(above) = parents.pop() {
        let (children, rest): (Vec<_>, Vec<_>) =
            others.into_iter().partition(|stat| stat.parent == above);
        parents.extend(children.iter().map(|child| child.process.pid));
        found.extend(children.into_iter().map(|child| child.process));
        others = rest;
    }
    found
}

#[cfg(not(target_os = "linux"))]
pub(super) fn descendants() -> Vec<Process> {
    Vec::new()
}

/// Returns whether a process of the group is running.
///
/// On Linux those that ended do not count: in a container whose first process waits for
/// nobody they would stay for ever.
pub(super) fn group_exists(group: Pid) -> bool {
    test_kill_process_group(group).is_ok() && has_running_member(group)
}

#[cfg(target_os = "linux")]
fn has_running_member(group: Pid) -> bool {
    proc::all().any(|stat| stat.process.group == group && !stat.has_ended)
}

#[cfg(not(target_os = "linux"))]
fn has_running_member(_group: Pid) -> bool {
    true
}

#[cfg(target_os = "linux")]
mod proc {
    use std::path::Path;

    use rustix::process::Pid;

    use super::Process;

    /// What `/proc/PID/stat` says.
    pub(super) struct Stat {
        pub(super) process: Process,
        pub(super) parent: Pid,
        pub(super) has_ended: bool,
    }

    /// Returns all processes but kernel threads and the first one, which have no parent
    /// or group.
    pub(super) fn all() -> impl Iterator<Item = Stat> {
        std::fs::read_dir("/proc")
            .into_iter()
            .flatten()
            .filter_map(|entry| at(&entry.ok()?.path()))
    }

    /// The fields are: pid, name in parentheses (which may contain anything), state,
    /// parent, group.
    fn at(folder: &Path) -> Option<Stat> {
        let pid = folder.file_name()?.to_str()?.parse().ok()?;
        let stat = std::fs::read(folder.join("stat")).ok()?;
        let name_end = stat.iter().rposition(|&byte| byte == b')')?;
        let after_name = std::str::from_utf8(stat.get(name_end + 1..)?).ok()?;
        let mut fields = after_name.split_whitespace();
        let has_ended = matches!(fields.next()?, "Z" | "X");
        let mut number = || fields.next()?.parse().ok().and_then(Pid::from_raw);
        let (parent, group) = (number()?, number()?);
        let pid = Pid::from_raw(pid)?;
        Some(Stat {
            process: Process { pid, group },
            parent,
            has_ended,
        })
    }
}
