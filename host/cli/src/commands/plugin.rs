//! `damper plugin`: what an author of plugins does. Only `dev` needs a host.

mod bindings;
mod build;
mod check;
mod dev;
mod inspect;
mod list;
mod new;
mod test;

pub(crate) use self::list::ListedView;

use std::process::ExitCode;

use crate::arguments::PluginCommand;

pub(super) fn run(command: &PluginCommand) -> anyhow::Result<ExitCode> {
    match command {
        PluginCommand::New(arguments) => new::run(arguments),
        PluginCommand::Build(arguments) => build::run(arguments),
        PluginCommand::Test(arguments) => test::run(arguments),
        PluginCommand::Dev(arguments) => dev::run(arguments),
        PluginCommand::Check(arguments) => check::run(arguments),
        PluginCommand::List(arguments) => list::run(arguments),
        PluginCommand::Inspect(arguments) => inspect::run(arguments),
        PluginCommand::Bindings(command) => bindings::run(command),
    }
}
