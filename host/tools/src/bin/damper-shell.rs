//! `damper __shell` alone: the launcher that the tests of this crate use.

use std::{env, process::ExitCode};

fn main() -> ExitCode {
    let mut arguments = env::args_os().skip(1);
    if arguments
        .next()
        .is_some_and(|first| first == damper_tools::SHELL_SUBCOMMAND)
    {
        damper_tools::shell_child_main(arguments)
    } else {
        ExitCode::FAILURE
    }
}
