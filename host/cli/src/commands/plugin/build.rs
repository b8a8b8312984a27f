//! `damper plugin build`

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use damper_kit::{BuildError, Report, Step, target_folder};
use serde::Serialize;

use crate::{arguments::BuildArguments, exit, show};

/// A component that was built, for programs.
#[derive(Serialize)]
struct BuiltView {
    name: String,
    changed: bool,
    hooks: Vec<String>,
    grants: Vec<String>,
    limits: Vec<String>,
    #[serde(flatten)]
    report: Report,
}

pub(super) fn run(arguments: &BuildArguments) -> anyhow::Result<ExitCode> {
    let workspace = arguments.path.as_deref().or(arguments.workspace.as_deref());
    let workspace = workspace.unwrap_or(Path::new("."));
    let out = arguments.out.clone();
    let out = out.unwrap_or_else(|| default_out(workspace));
    let is_json = arguments.json.json;
    let mut progress = |step: Step| {
        if is_json {
            show::error(&step.to_string());
        } else {
            show::line(&step.to_string());
        }
    };
    let built = match damper_kit::build(workspace, &out, &mut progress) {
        Ok(built) => built,
        Err(error @ BuildError::Refused { .. }) => {
            show::error(&error.to_string());
            return Ok(ExitCode::from(exit::REFUSED));
        }
        Err(error) => return Err(error.into()),
    };
    let mut views = Vec::with_capacity(built.len());
    for component in built {
        let report = damper_kit::check(&component.path)?;
        let manifest = report.manifest.as_ref();
        views.push(BuiltView {
            name: component.name,
            changed: component.changed,
            hooks: manifest.map(damper_kit::hooks).unwrap_or_default(),
            grants: manifest.map(damper_kit::asked_grants).unwrap_or_default(),
            limits: manifest.map(damper_kit::asked_limits).unwrap_or_default(),
            report,
        });
    }
    if is_json {
        show::json(&views)?;
    } else {
        for view in &views {
            let what = if view.changed { "made" } else { "unchanged" };
            show::line(&format!("{what:<9} {}", view.report.file.display()));
            show::plugin::summary(&view.report);
        }
    }
    let is_refused = views.iter().any(|view| view.report.is_refused());
    Ok(ExitCode::from(if is_refused {
        exit::REFUSED
    } else {
        exit::OK
    }))
}

/// Relative where the project is named so, for an author reads it.
pub(super) fn default_out(workspace: &Path) -> PathBuf {
    let target = target_folder(workspace).join("damper");
    match target.strip_prefix(".") {
        Ok(short) => short.to_owned(),
        Err(_elsewhere) => target,
    }
}
