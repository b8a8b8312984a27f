//! `damper plugin bindings`

use std::process::ExitCode;

use crate::{arguments::BindingsCommand, exit, show};

pub(super) fn run(command: &BindingsCommand) -> anyhow::Result<ExitCode> {
    let written = match command {
        BindingsCommand::Wit { out } => damper_kit::write_wit(out)?,
        BindingsCommand::C { world, out } => damper_kit::write_c(world, out)?,
    };
    for file in written {
        show::line(&format!("wrote     {}", file.display()));
    }
    Ok(ExitCode::from(exit::OK))
}
