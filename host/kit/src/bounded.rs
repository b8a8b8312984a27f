//! Commands that must end in time.

use std::{
    io,
    process::{Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

/// How often a running command is looked at: unnoticed by people, and cheap.
const GLANCE: Duration = Duration::from_millis(20);

/// How a bounded command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It ended by itself.
    Exited(ExitStatus),
    /// It was killed, because its time was up.
    TimedOut,
}

/// Runs a command without input and output, and kills it when its time is up.
///
/// Errors of the command itself are shown, since they say more than its status.
pub(crate) fn run_bounded(command: &mut Command, limit: Duration) -> io::Result<Ending> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
    let deadline = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Ending::Exited(status));
        }
        if Instant::now() >= deadline {
            child.kill()?;
            child.wait()?;
            return Ok(Ending::TimedOut);
        }
        thread::sleep(GLANCE);
    }
}

#[cfg(test)]
mod tests {
    use std::{process::Command, time::Duration};

    use super::{Ending, run_bounded};

    #[test]
    fn a_command_that_hangs_is_killed() {
        let ending = run_bounded(Command::new("sleep").arg("3600"), Duration::ZERO);
        assert_eq!(ending.expect("it starts"), Ending::TimedOut);
    }

    #[test]
    fn a_command_that_ends_keeps_its_status() {
        let ending = run_bounded(
            Command::new("sh").args(["-c", "exit 3"]),
            Duration::from_secs(60),
        );
        match ending.expect("it starts") {
            Ending::Exited(status) => assert_eq!(status.code(), Some(3)),
            Ending::TimedOut => panic!("a minute is enough to exit"),
        }
    }

    #[test]
    fn a_command_that_is_not_there_is_an_error() {
        run_bounded(&mut Command::new("no-such-command"), Duration::ZERO)
            .expect_err("there is none");
    }
}
