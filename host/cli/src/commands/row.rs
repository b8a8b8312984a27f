//! `damper row`: edits the user's patch and waits for what the host makes of it.

use std::{fs, io, path::Path, process::ExitCode};

use anyhow::Context as _;
use damper_call::RowId;
use damper_profile::{Source, overridden_by, set_disabled};
use damper_serve::{
    ClientError, Home, Layers, ProblemView, ReloadReport, Request, Share, Status, compose_layers,
    connect,
};

use super::home;
use crate::{
    arguments::{RowArguments, RowCommand},
    exit, show,
};

pub(super) async fn run(command: RowCommand) -> anyhow::Result<ExitCode> {
    match command {
        RowCommand::List(json) => {
            let status: Status = connect(&home()?).await?.ask(&Request::Status).await?;
            if json.json {
                show::json(&status.rows)?;
            } else {
                show::rows(&status.rows);
            }
            Ok(ExitCode::from(exit::OK))
        }
        RowCommand::Enable(arguments) => switch(arguments, false).await,
        RowCommand::Disable(arguments) => switch(arguments, true).await,
    }
}

async fn switch(arguments: RowArguments, disabled: bool) -> anyhow::Result<ExitCode> {
    let home = home()?;
    let row: RowId = arguments.row.parse()?;
    let status: Option<Status> = match connect(&home).await {
        Ok(client) => Some(client.ask(&Request::Status).await?),
        Err(ClientError::NotRunning(_)) => None,
        Err(error) => return Err(error.into()),
    };
    let profile = status
        .as_ref()
        .map_or(arguments.profile, |status| status.profile.clone());
    home.prepare()?;
    let patch = home.patch(&profile);
    let before = read(&patch)?;
    if let Some(unknown) = unknown_row(&home, &profile, &row)? {
        show::error(&unknown);
        return Ok(ExitCode::from(exit::NOT_FOUND));
    }
    let after = set_disabled(&Source::at(&patch, before.as_bytes()), &row, disabled)?;
    write(&patch, &after)?;
    if let Some(position) = overriding_line(&home, &profile, &row, &patch)? {
        show::error(&format!(
            "{position} sets `disabled` of `{row}` later and wins"
        ));
    }
    let what = if disabled { "disabled" } else { "enabled" };
    if status.is_none() {
        show::line(&format!(
            "`{row}` is {what} in {}; no host is running, so the next one will obey",
            patch.display()
        ));
        return Ok(ExitCode::from(exit::OK));
    }
    let report: ReloadReport = connect(&home).await?.ask(&Request::Reload).await?;
    if arguments.json.json {
        show::json(&report)?;
    }
    let refused = report
        .results
        .iter()
        .find(|result| result.row == row && result.reason.is_some());
    if let Some(refused) = refused {
        let why = refused.reason.as_deref();
        show::error(&format!(
            "`{row}`: {}",
            why.unwrap_or("the host refused the edit")
        ));
        return Ok(ExitCode::from(exit::REFUSED));
    }
    let is_about_it = |problem: &&ProblemView| match &problem.row {
        Some(other) => *other == row.as_str(),
        None => true,
    };
    if let Some(problem) = report.problems.iter().find(is_about_it) {
        show::error(&problem.text);
        return Ok(ExitCode::from(exit::REFUSED));
    }
    if !arguments.json.json {
        show::line(&format!(
            "`{row}` is {what} (generation {})",
            report.generation
        ));
    }
    Ok(ExitCode::from(exit::OK))
}

pub(super) fn read(patch: &Path) -> anyhow::Result<String> {
    match fs::read_to_string(patch) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(error).with_context(|| format!("cannot read `{}`", patch.display())),
    }
}

/// Replaces the patch in one step, through the link if it is one.
pub(super) fn write(patch: &Path, text: &str) -> anyhow::Result<()> {
    let target = fs::canonicalize(patch).unwrap_or_else(|_absent| patch.to_owned());
    let failed = || format!("cannot write `{}`", target.display());
    let folder = target.parent().with_context(failed)?;
    let mut draft = tempfile::NamedTempFile::new_in(folder).with_context(failed)?;
    io::Write::write_all(&mut draft, text.as_bytes()).with_context(failed)?;
    if let Ok(metadata) = fs::metadata(&target) {
        draft
            .as_file()
            .set_permissions(metadata.permissions())
            .with_context(failed)?;
    }
    draft.as_file().sync_all().with_context(failed)?;
    draft.persist(&target).with_context(failed)?;
    Ok(())
}

/// Returns what to say of a row that the profile does not have, before anything is written.
fn unknown_row(home: &Home, profile: &str, row: &RowId) -> anyhow::Result<Option<String>> {
    let composition = compose_layers(&Layers::read(home, &Share::find(), profile, &[])?)?;
    if composition.row(row).is_some() {
        return Ok(None);
    }
    let known: Vec<&str> = composition.rows.iter().map(|row| row.id.as_str()).collect();
    Ok(Some(format!(
        "profile `{profile}` has no row `{row}`; it has `{}`",
        known.join("`, `")
    )))
}

fn overriding_line(
    home: &Home,
    profile: &str,
    row: &RowId,
    patch: &Path,
) -> anyhow::Result<Option<String>> {
    let composition = compose_layers(&Layers::read(home, &Share::find(), profile, &[])?)?;
    let name = patch.display().to_string();
    Ok(overridden_by(&composition, row, "disabled", &name).map(ToString::to_string))
}
