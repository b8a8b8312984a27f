//! `damper plugin`

use std::process::ExitCode;

use crate::{
    arguments::{BindingsCommand, BuildArguments},
    exit, show,
};

pub(super) fn build(arguments: &BuildArguments) -> anyhow::Result<ExitCode> {
    let built = damper_kit::build(&arguments.workspace, &arguments.out, &mut |step| {
        show::line(&step.to_string())
    })?;
    for component in built {
        let what = if component.changed {
            "made"
        } else {
            "unchanged"
        };
        show::line(&format!("{what:<9} {}", component.path.display()));
    }
    Ok(ExitCode::from(exit::OK))
}

pub(super) fn bindings(command: &BindingsCommand) -> anyhow::Result<ExitCode> {
    let written = match command {
        BindingsCommand::Wit { out } => damper_kit::write_wit(out)?,
        BindingsCommand::C { world, out } => damper_kit::write_c(world, out)?,
    };
    for file in written {
        show::line(&format!("wrote     {}", file.display()));
    }
    Ok(ExitCode::from(exit::OK))
}
