//! `damper plugin inspect`

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use damper_kit::{Report, Setting};
use damper_profile::PluginRef;
use damper_serve::{Share, component_path, component_paths};
use serde::Serialize;

use crate::{arguments::InspectArguments, commands::home, exit, show};

/// What a plugin says about itself, for programs.
#[derive(Serialize)]
struct InspectView {
    settings: Vec<Setting>,
    #[serde(flatten)]
    report: Report,
}

pub(super) fn run(arguments: &InspectArguments) -> anyhow::Result<ExitCode> {
    let file = find(&arguments.plugin)?;
    if !file.exists() {
        show::error(&format!(
            "there is no plugin `{}`: no `{}`; `damper plugin list` lists those that are there",
            arguments.plugin,
            file.display()
        ));
        return Ok(ExitCode::from(exit::NOT_FOUND));
    }
    let report = damper_kit::check(&file)?;
    let is_refused = report.is_refused();
    let settings = report.manifest.as_ref().map(damper_kit::settings);
    let view = InspectView {
        settings: settings.unwrap_or_default(),
        report,
    };
    if arguments.json.json {
        show::json(&view)?;
    } else {
        show::plugin::whole(&view.report, &view.settings);
    }
    Ok(ExitCode::from(if is_refused {
        exit::REFUSED
    } else {
        exit::OK
    }))
}

/// A file of that name goes first; else it is an id, as rows name plugins.
fn find(plugin: &str) -> anyhow::Result<PathBuf> {
    let path = Path::new(plugin);
    let looks_like_file = path.extension().is_some_and(|ending| ending == "wasm");
    if path.is_file() || looks_like_file {
        return Ok(path.to_owned());
    }
    let paths = component_paths(&home()?, &Share::find(), &PluginRef::Id(plugin.to_owned()));
    Ok(component_path(&paths))
}
