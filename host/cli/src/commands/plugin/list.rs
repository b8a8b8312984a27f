//! `damper plugin list`

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use damper_profile::RowKind;
use damper_serve::{Home, Layers, Share, component_path, component_paths, compose_layers};
use serde::Serialize;

use crate::{arguments::ListArguments, commands::home, exit, show};

/// How a plugin was found.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Found {
    /// In the home's `plugins`.
    Own,
    /// Among the shipped ones.
    Shipped,
    /// A row names its file.
    Row,
}

impl Found {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Shipped => "shipped",
            Self::Row => "row",
        }
    }
}

/// A plugin that was found.
#[derive(Debug, Serialize)]
pub(crate) struct ListedView {
    pub(crate) id: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) hooks: Vec<String>,
    pub(crate) found: Found,
    pub(crate) file: PathBuf,
    pub(crate) digest: Option<damper_call::Digest>,
    /// The rows of the profile that use it.
    pub(crate) rows: Vec<String>,
    /// Why the host would refuse it.
    pub(crate) refused: Option<String>,
}

pub(super) fn run(arguments: &ListArguments) -> anyhow::Result<ExitCode> {
    let home = home()?;
    let share = Share::find();
    let mut files: BTreeMap<PathBuf, Found> = BTreeMap::new();
    let rows = rows(&home, &share, &arguments.profile)?;
    files.extend(rows.keys().map(|file| (file.clone(), Found::Row)));
    if let Some(shipped) = &share.plugins {
        files.extend(components(shipped).map(|file| (file, Found::Shipped)));
    }
    for owner in entries(&home.plugins()) {
        files.extend(components(&owner).map(|file| (file, Found::Own)));
    }
    let mut views = Vec::with_capacity(files.len());
    for (file, found) in files {
        views.push(view(file, found, &rows)?);
    }
    if arguments.json.json {
        show::json(&views)?;
    } else if views.is_empty() {
        show::line("there are no plugins; `damper plugin new` begins one");
    } else {
        show::plugin::list(&views);
    }
    Ok(ExitCode::from(exit::OK))
}

/// The rows that use each component file.
type Rows = BTreeMap<PathBuf, Vec<String>>;

fn rows(home: &Home, share: &Share, profile: &str) -> anyhow::Result<Rows> {
    let composition = compose_layers(&Layers::read(home, share, profile, &[])?)?;
    let mut rows = Rows::new();
    for row in composition.rows {
        if let RowKind::Plugin(plugin) = &row.kind {
            let file = component_path(&component_paths(home, share, plugin));
            rows.entry(file).or_default().push(row.id.to_string());
        }
    }
    Ok(rows)
}

fn view(file: PathBuf, found: Found, rows: &Rows) -> anyhow::Result<ListedView> {
    let report = damper_kit::check(&file)?;
    let refused = report.findings.iter();
    let refused = refused
        .filter(|finding| finding.weight == damper_kit::Weight::Refused)
        .map(|finding| finding.what.clone())
        .next();
    let manifest = report.manifest;
    Ok(ListedView {
        id: manifest.as_ref().map(|manifest| manifest.id.clone()),
        version: manifest.as_ref().map(|manifest| manifest.version.clone()),
        hooks: manifest.as_ref().map(damper_kit::hooks).unwrap_or_default(),
        found,
        digest: report.digest,
        rows: rows.get(&file).cloned().unwrap_or_default(),
        refused,
        file,
    })
}

fn components(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let is_component = |file: &PathBuf| file.extension().is_some_and(|ending| ending == "wasm");
    entries(folder).into_iter().filter(is_component)
}

/// A folder that is not there holds no plugins.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.flatten().map(|entry| entry.path()).collect()
}
