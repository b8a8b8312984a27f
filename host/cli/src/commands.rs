//! One function a command.

pub(crate) mod hidden;

mod approvals;
mod call;
mod explain;
mod log;
mod mcp;
mod modes;
mod plugin;
mod profile;
mod row;
mod serve;
mod status;

pub(crate) use self::plugin::ListedView;

use std::{env, future::Future, path::PathBuf, process::ExitCode};

use anyhow::Context as _;
use damper_serve::Home;

use crate::arguments::{Arguments, Command, LogCommand, ProfileCommand};

/// Runs the command and returns its exit code.
pub(crate) fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    match arguments.command {
        Command::Serve(arguments) => serve::run(arguments),
        Command::Status(json) => on_runtime(status::run(json)),
        Command::Stop => on_runtime(status::stop()),
        Command::Call(arguments) => on_runtime(call::run(arguments)),
        Command::Explain(arguments) => on_runtime(explain::run(arguments)),
        Command::Approvals(command) => on_runtime(approvals::run(command)),
        Command::Row(command) => on_runtime(row::run(command)),
        Command::Profile(ProfileCommand::Show) => on_runtime(profile::show()),
        Command::Profile(ProfileCommand::Check(arguments)) => profile::check(&arguments),
        Command::Profile(ProfileCommand::Schema) => profile::schema(),
        Command::Log(LogCommand::Tail(arguments)) => on_runtime(log::tail(arguments)),
        Command::Log(LogCommand::Content { digest }) => on_runtime(log::content(digest)),
        Command::Mcp(arguments) => on_runtime(mcp::run(arguments)),
        Command::Modes(json) => on_runtime(modes::run(json)),
        Command::Plugin(command) => plugin::run(&command),
    }
}

/// Runs a command that waits for the host: one thread is enough.
fn on_runtime(command: impl Future<Output = anyhow::Result<ExitCode>>) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let result = runtime.block_on(command);
    // A thread may still be reading a terminal; nobody waits for it.
    runtime.shutdown_background();
    result
}

fn home() -> anyhow::Result<Home> {
    Ok(Home::from_environment()?)
}

/// Returns an absolute folder: the one that was named, or the current one.
fn folder(named: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    let here = env::current_dir().context("cannot tell the current folder; name one with --cwd")?;
    let folder = named.map_or_else(|| here.clone(), |named| here.join(named));
    std::fs::canonicalize(&folder)
        .with_context(|| format!("cannot use the folder `{}`", folder.display()))
}
