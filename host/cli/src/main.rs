//! The `damper` binary: argument lines become one function each in `commands`.

mod arguments;
mod commands;
mod exit;
mod show;

use std::{io::IsTerminal as _, process::ExitCode};

use clap::Parser as _;

use crate::arguments::{Arguments, Command};

fn main() -> ExitCode {
    // The two hidden children come first: they must start fast and take nothing else along.
    if let Some(code) = commands::hidden::run_if_asked() {
        return code;
    }
    let arguments = Arguments::parse();
    log_to_stderr(&arguments.command);
    match commands::run(arguments) {
        Ok(code) => code,
        Err(error) => exit::report(&error),
    }
}

/// Logs go to stderr: those of a host from `info` on, those of a command from `warn` on.
/// `DAMPER_LOG` takes tracing's filters.
fn log_to_stderr(command: &Command) {
    let default = if matches!(command, Command::Serve(_)) {
        "info"
    } else {
        "warn"
    };
    let filter = tracing_subscriber::EnvFilter::try_from_env("DAMPER_LOG")
        .unwrap_or_else(|_unset| tracing_subscriber::EnvFilter::new(default));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        // A host that nobody watches writes to a file.
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        .init();
}
