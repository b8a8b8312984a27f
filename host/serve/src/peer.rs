//! Who may talk to the control socket: the same user, and nothing that a tool started.

use std::fs;

/// Why a connection is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refused {
    #[error("the control socket serves user {ours} only, not user {theirs}")]
    User { ours: u32, theirs: u32 },
    #[error("process {pid} was started by a tool call; agents do not reach the controls")]
    Descendant { pid: i32 },
}

/// Says whether a process may use the control socket.
///
/// `parent` tells a process's parent. What cannot be told is let through for the same user:
/// without `/proc` this check has nothing to go by, which the threat model says.
pub(crate) fn may_connect(
    (our_user, our_pid): (u32, i32),
    (their_user, their_pid): (u32, Option<i32>),
    parent: &dyn Fn(i32) -> Option<i32>,
) -> Result<(), Refused> {
    if our_user != their_user {
        return Err(Refused::User {
            ours: our_user,
            theirs: their_user,
        });
    }
    let Some(pid) = their_pid else { return Ok(()) };
    let mut ancestor = pid;
    // No process tree is this deep; a loop would mean that `parent` lies.
    for _ in 0..1024 {
        match parent(ancestor) {
            Some(up) if up == our_pid => return Err(Refused::Descendant { pid }),
            Some(up) if up > 1 => ancestor = up,
            _ => return Ok(()),
        }
    }
    Err(Refused::Descendant { pid })
}

/// Returns a process's parent from `/proc`.
pub(crate) fn parent_of(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The command's name stands in parentheses and may hold anything, parentheses included.
    let after_name = stat.rsplit_once(") ")?.1;
    after_name.split(' ').nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_user_and_nothing_below_the_host() {
        // 1 is init, 10 the host, 20 a tool, 30 below the tool, 40 a terminal, 50 a loop.
        let parent = |pid: i32| match pid {
            10 | 40 => Some(1),
            20 => Some(10),
            30 => Some(20),
            50 => Some(51),
            51 => Some(50),
            _ => None,
        };
        let table = [
            (1000, Some(40), true),
            (1000, Some(10), true),
            (1000, Some(20), false),
            (1000, Some(30), false),
            (1000, Some(50), false),
            (1000, Some(99), true),
            (1000, None, true),
            (0, Some(40), false),
            (1001, Some(40), false),
        ];
        for (user, pid, allowed) in table {
            let found = may_connect((1000, 10), (user, pid), &parent);
            assert_eq!(found.is_ok(), allowed, "{user} {pid:?}: {found:?}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn reads_the_parent_of_this_process() {
        let pid = i32::try_from(std::process::id()).unwrap();
        assert_eq!(
            parent_of(pid),
            rustix::process::getppid().map(|parent| parent.as_raw_nonzero().get())
        );
    }
}
