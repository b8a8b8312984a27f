//! `damper plugin new`

use std::{path::PathBuf, process::ExitCode};

use damper_kit::{Kind, NewError, PluginName, new_plugin};

use crate::{
    arguments::{KindArgument, NewArguments},
    exit, show,
};

pub(super) fn run(arguments: &NewArguments) -> anyhow::Result<ExitCode> {
    let made = PluginName::parse(&arguments.name).and_then(|name| {
        let folder = arguments.path.clone();
        let folder = folder.unwrap_or_else(|| PathBuf::from(name.name()));
        new_plugin(&name, kind(arguments.kind), &folder)?;
        Ok((name, folder))
    });
    let (name, folder) = match made {
        Ok(made) => made,
        Err(error @ (NewError::Name { .. } | NewError::Exists(_))) => {
            show::error(&error.to_string());
            return Ok(ExitCode::from(exit::REFUSED));
        }
        Err(error) => return Err(error.into()),
    };
    let folder = folder.display();
    show::line(&format!(
        "made the {} {name} in {folder}\n",
        kind(arguments.kind).name()
    ));
    show::line("  src/lib.rs               the plugin and its native tests");
    let cases = format!("cases/{}.jsonl", name.name());
    show::line(&format!("  {cases:<24} what it is asked and should answer"));
    show::line("  vendor/                  the SDK and the contract that it is written with\n");
    show::line(&format!(
        "next:\n  cd {folder}\n  cargo test\n  damper plugin build"
    ));
    Ok(ExitCode::from(exit::OK))
}

const fn kind(argument: KindArgument) -> Kind {
    match argument {
        KindArgument::Guard => Kind::Guard,
        KindArgument::Preset => Kind::Preset,
        KindArgument::Persona => Kind::Persona,
        KindArgument::Tool => Kind::Tool,
    }
}
