//! `damper profile`

use std::process::ExitCode;

use damper_serve::{Layers, Request, Share, compose_layers, connect};

use super::home;
use crate::{arguments::ProfileArguments, exit, show};

pub(super) async fn show() -> anyhow::Result<ExitCode> {
    let text: String = connect(&home()?).await?.ask(&Request::ProfileShow).await?;
    show::line(text.trim_end());
    Ok(ExitCode::from(exit::OK))
}

pub(super) fn schema() -> anyhow::Result<ExitCode> {
    show::json(&damper_profile::schema())?;
    Ok(ExitCode::from(exit::OK))
}

pub(super) fn check(arguments: &ProfileArguments) -> anyhow::Result<ExitCode> {
    let layers = Layers::read(
        &home()?,
        &Share::find(),
        &arguments.profile,
        &arguments.patch,
    )?;
    let composition = match compose_layers(&layers) {
        Ok(composition) => composition,
        Err(error) => {
            show::error(&error.to_string());
            return Ok(ExitCode::from(exit::REFUSED));
        }
    };
    let broken = composition
        .layers
        .iter()
        .filter_map(|layer| layer.parsed.as_ref().err())
        .map(ToString::to_string);
    let problems: Vec<String> = broken
        .chain(composition.rejected.iter().map(ToString::to_string))
        .collect();
    for problem in &problems {
        show::error(problem);
    }
    if !problems.is_empty() {
        return Ok(ExitCode::from(exit::REFUSED));
    }
    show::line(&format!(
        "profile `{}` is fine: {} rows",
        composition.name.value,
        composition.rows.len()
    ));
    Ok(ExitCode::from(exit::OK))
}
