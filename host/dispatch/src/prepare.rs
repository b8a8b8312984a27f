//! From a composition to a generation: the reload transaction.
//!
//! Everything new is read, compiled, linked, type-checked and given its settings here, before
//! anything old lets go. What is refused leaves its row as it runs.

mod limits;
mod load;

use std::{collections::HashMap, path::PathBuf, sync::Arc};

use damper_call::{Digest, RowId, ToolDefinition};
use damper_journal::{Change, GuestFailed, RowResult};
use damper_profile::{Composition, PluginRef, Row, RowKind, Tools};
use damper_tools::NativeTool;
use damper_wasm::{Hook, Runtime, read_manifest};

use self::load::load;
use crate::{
    arguments::ArgumentCheck,
    counters::RowCounters,
    generation::{Generation, InstalledRow, RowState, Running},
};

/// A component's file as it was found: the bytes that are hashed are the bytes that run.
#[derive(Debug, Clone)]
pub struct Captured {
    /// Where it was found.
    pub path: PathBuf,
    /// The digest of its content.
    pub digest: Digest,
    /// Its content; `None` for a file that is known by its digest and was not read again.
    pub bytes: Option<Arc<[u8]>>,
}

impl Captured {
    /// Returns the content, read now if it was not read before. Fails if it cannot be read or
    /// is no longer what the digest says.
    pub fn bytes(&self) -> Result<Arc<[u8]>, String> {
        if let Some(bytes) = &self.bytes {
            return Ok(Arc::clone(bytes));
        }
        let bytes = std::fs::read(&self.path)
            .map_err(|error| format!("`{}` cannot be read: {error}", self.path.display()))?;
        if Runtime::digest(&bytes) == self.digest {
            Ok(bytes.into())
        } else {
            let path = self.path.display();
            Err(format!(
                "`{path}` is no longer what it was when it was looked at"
            ))
        }
    }
}

/// What the plugins that a composition names were found to be.
#[derive(Debug, Clone, Default)]
pub struct Components(pub HashMap<PluginRef, Result<Captured, String>>);

/// What ran last, for a start with a broken profile or plugin.
#[derive(Debug, Clone, Default)]
pub struct Fallback(pub HashMap<RowId, (Row, Option<Captured>)>);

/// A generation that is ready to be installed, and what became of each row.
#[derive(Debug)]
pub struct Prepared {
    /// The generation.
    pub generation: Generation,
    /// One result a row, removed ones included.
    pub results: Vec<RowResult>,
    /// What plugins failed at that did not cost them their row, to be journalled.
    pub failures: Vec<GuestFailed>,
}

/// Prepares the generation that follows `previous`. Never fails: a row that cannot be had as
/// written runs on as it was, or stands as failed.
pub async fn prepare(
    runtime: &Runtime,
    previous: &Generation,
    composition: &Composition,
    components: &Components,
    fallback: &Fallback,
) -> Prepared {
    let preparation = Preparation {
        runtime,
        previous,
        composition,
        components,
        fallback,
    };
    let mut rows = Vec::new();
    let mut results = Vec::new();
    let mut failures = Vec::new();
    for row in &composition.rows {
        let (installed, result) = preparation.row(row).await;
        if matches!(result.change, Change::Installed | Change::Updated) {
            failures.extend(installed.mode_failures());
        }
        rows.push(installed);
        results.push(result);
    }
    let gone = previous
        .rows
        .iter()
        .filter(|row| composition.row(&row.id).is_none());
    for row in gone {
        match preparation.refused_edit(&row.id) {
            // Its entry is there but was refused, so that nothing says that it should go.
            Some(why) => {
                rows.push(Arc::clone(row));
                results.push(result(&row.id, Change::Rejected, row.digest(), Some(why)));
            }
            None => results.push(result(&row.id, Change::Removed, None, None)),
        }
    }
    let notify = composition
        .notify
        .as_ref()
        .map(|notify| notify.value.clone())
        .unwrap_or_default();
    let checks = |tool: &ToolDefinition| preparation.check(tool);
    let generation = Generation::new(previous.number + 1, rows, notify, &checks);
    Prepared {
        generation,
        results,
        failures,
    }
}

struct Preparation<'a> {
    runtime: &'a Runtime,
    previous: &'a Generation,
    composition: &'a Composition,
    components: &'a Components,
    fallback: &'a Fallback,
}

impl Preparation<'_> {
    async fn row(&self, row: &Row) -> (Arc<InstalledRow>, RowResult) {
        let before = self.previous.row(&row.id);
        if let Some(why) = self.refused_edit(&row.id) {
            return self.refuse(row, before, None, why).await;
        }
        if row.disabled {
            return self.settle(
                row,
                before,
                RowState::Disabled,
                Running::Nothing,
                self.on_disk(row),
            );
        }
        match &row.kind {
            RowKind::Tools(tools) => match native_tools(tools) {
                Ok(tools) => {
                    self.settle(row, before, RowState::Running, Running::Native(tools), None)
                }
                Err(why) => {
                    let position = row.position();
                    self.refuse(row, before, None, format!("{position}: {why}"))
                        .await
                }
            },
            RowKind::Plugin(plugin) => self.plugin(row, before, plugin).await,
        }
    }

    async fn plugin(
        &self,
        row: &Row,
        before: Option<&Arc<InstalledRow>>,
        plugin: &PluginRef,
    ) -> (Arc<InstalledRow>, RowResult) {
        let captured = match self.components.0.get(plugin) {
            Some(Ok(captured)) => captured,
            Some(Err(why)) => return self.refuse(row, before, None, why.clone()).await,
            None => {
                return self
                    .refuse(row, before, None, format!("`{plugin}` was not looked up"))
                    .await;
            }
        };
        if let Some(running) = before.filter(|before| before.runs(row, captured.digest)) {
            return self.settle(
                row,
                before,
                RowState::Running,
                running.running.clone(),
                Some(captured.digest),
            );
        }
        match load(self.runtime, row, captured).await {
            Ok(loaded) => {
                let running = Running::Plugin(Arc::new(loaded));
                self.settle(
                    row,
                    before,
                    RowState::Running,
                    running,
                    Some(captured.digest),
                )
            }
            Err(why) => self.refuse(row, before, Some(captured.digest), why).await,
        }
    }

    /// Installs a row as it is written.
    fn settle(
        &self,
        row: &Row,
        before: Option<&Arc<InstalledRow>>,
        state: RowState,
        running: Running,
        on_disk: Option<Digest>,
    ) -> (Arc<InstalledRow>, RowResult) {
        let declared = self.declared(row, &state);
        let installed = InstalledRow {
            id: row.id.clone(),
            row: row.clone(),
            state,
            running,
            on_disk,
            declared,
            counters: before.map_or_else(Arc::default, |before| Arc::clone(&before.counters)),
        };
        let change = match before {
            None => Change::Installed,
            Some(before) if before.same_as(&installed) => Change::Unchanged,
            Some(_) => Change::Updated,
        };
        let result = result(&row.id, change, installed.digest(), None);
        (Arc::new(installed), result)
    }

    /// Keeps a row as it runs, or as it last ran well, because what is written was refused.
    async fn refuse(
        &self,
        row: &Row,
        before: Option<&Arc<InstalledRow>>,
        on_disk: Option<Digest>,
        why: String,
    ) -> (Arc<InstalledRow>, RowResult) {
        let (good_row, running) = match before {
            Some(before) if self.stays(row, before) => (before.row.clone(), before.running.clone()),
            _ => self.fall_back(row).await,
        };
        let state = match &running {
            // A row that was switched off stays off, whatever is written now.
            Running::Nothing if good_row.disabled => RowState::Disabled,
            Running::Nothing => RowState::Failed(why.clone()),
            Running::Native(_) | Running::Plugin(_) => RowState::LastGood(why.clone()),
        };
        let known = before.is_some_and(|before| before.state == state);
        let declared = self.declared(row, &state);
        let installed = InstalledRow {
            id: row.id.clone(),
            row: good_row,
            state,
            running,
            on_disk,
            declared,
            counters: before.map_or_else(
                || Arc::new(RowCounters::default()),
                |before| Arc::clone(&before.counters),
            ),
        };
        let change = if known {
            Change::Unchanged
        } else {
            Change::Rejected
        };
        let result = result(&row.id, change, installed.digest(), Some(why));
        (Arc::new(installed), result)
    }

    /// Returns whether what runs is what a refused row is left as. A row that is switched on and
    /// cannot run is none: it should run, so that it has failed and votes.
    fn stays(&self, row: &Row, before: &InstalledRow) -> bool {
        let is_switched_on =
            before.row.disabled && !row.disabled && self.refused_edit(&row.id).is_none();
        !matches!(before.state, RowState::Failed(_)) && !is_switched_on
    }

    /// Returns the row as it last ran well in an earlier process.
    async fn fall_back(&self, row: &Row) -> (Row, Running) {
        let Some((good_row, captured)) = self.fallback.0.get(&row.id) else {
            return (row.clone(), Running::Nothing);
        };
        match (&good_row.kind, captured) {
            (RowKind::Plugin(_), Some(captured)) => {
                match load(self.runtime, good_row, captured).await {
                    Ok(loaded) => (good_row.clone(), Running::Plugin(Arc::new(loaded))),
                    Err(why) => {
                        tracing::warn!(row = %row.id, why, "the last good form of the row does not load either");
                        (row.clone(), Running::Nothing)
                    }
                }
            }
            (RowKind::Tools(tools), _) => match native_tools(tools) {
                Ok(tools) => (good_row.clone(), Running::Native(tools)),
                Err(_unknown) => (row.clone(), Running::Nothing),
            },
            (RowKind::Plugin(_), None) => (row.clone(), Running::Nothing),
        }
    }

    /// Returns why the newest edit of a row was refused, if it was.
    fn refused_edit(&self, row: &RowId) -> Option<String> {
        let refused = self
            .composition
            .rejected
            .iter()
            .rev()
            .find(|rejected| rejected.row.as_ref() == Some(row))?;
        Some(refused.to_string())
    }

    /// Returns the hooks that the component of a failed row says it has. A row that runs says so
    /// itself.
    fn declared(&self, row: &Row, state: &RowState) -> Option<Vec<Hook>> {
        let (RowKind::Plugin(plugin), RowState::Failed(_)) = (&row.kind, state) else {
            return None;
        };
        let captured = self.components.0.get(plugin)?.as_ref().ok()?;
        let bytes = captured.bytes().ok()?;
        Some(read_manifest(&bytes).ok()?.hooks)
    }

    fn on_disk(&self, row: &Row) -> Option<Digest> {
        let RowKind::Plugin(plugin) = &row.kind else {
            return None;
        };
        self.components
            .0
            .get(plugin)?
            .as_ref()
            .ok()
            .map(|captured| captured.digest)
    }

    /// Returns the argument check of a tool, the one of the generation before where the tool
    /// has not changed: compiling a schema takes longer than all the rest.
    fn check(&self, tool: &ToolDefinition) -> Arc<ArgumentCheck> {
        let same = self
            .previous
            .tools
            .get(&tool.name)
            .filter(|entry| *entry.definition == *tool);
        if let Some(entry) = same {
            return Arc::clone(&entry.check);
        }
        Arc::new(ArgumentCheck::new(tool).unwrap_or_else(|why| {
            tracing::error!(why, "a schema that was checked before does not compile");
            ArgumentCheck::nothing_fits()
        }))
    }
}

impl InstalledRow {
    /// Counts what a preset failed at when it was loaded, and returns the records of it.
    fn mode_failures(&self) -> Vec<GuestFailed> {
        let Some(loaded) = self.plugin(Hook::Preset) else {
            return Vec::new();
        };
        let failures = loaded.mode.iter().flat_map(|mode| &mode.failures);
        let records = failures.map(|(hook, failure)| {
            self.counters.failed(failure);
            GuestFailed {
                row: self.id.clone(),
                plugin: loaded.plugin.manifest.id.clone(),
                digest: loaded.plugin.digest,
                hook: (*hook).to_owned(),
                failure: failure.to_string(),
                input_digest: Runtime::digest(loaded.hook.settings.as_bytes()),
                call: None,
            }
        });
        records.collect()
    }

    /// Returns the digest of what runs.
    pub fn digest(&self) -> Option<Digest> {
        match &self.running {
            Running::Plugin(loaded) => Some(loaded.plugin.digest),
            Running::Nothing | Running::Native(_) => None,
        }
    }

    /// Returns whether exactly this row runs exactly this component.
    fn runs(&self, row: &Row, digest: Digest) -> bool {
        self.row == *row && self.digest() == Some(digest)
    }

    fn same_as(&self, other: &Self) -> bool {
        self.row == other.row && self.state == other.state && self.digest() == other.digest()
    }
}

fn result(
    row: &RowId,
    change: Change,
    digest: Option<Digest>,
    reason: Option<String>,
) -> RowResult {
    RowResult {
        row: row.clone(),
        change,
        digest,
        reason,
    }
}

fn native_tools(tools: &Tools) -> Result<Vec<NativeTool>, String> {
    match tools {
        Tools::Set(name) if name == "all" => Ok(NativeTool::ALL.to_vec()),
        Tools::Set(name) => by_name(name).map(|tool| vec![tool]),
        Tools::Names(names) => names.iter().map(|name| by_name(name)).collect(),
    }
}

fn by_name(name: &str) -> Result<NativeTool, String> {
    NativeTool::by_name(name).ok_or_else(|| {
        let known: Vec<&str> = NativeTool::ALL.iter().map(|tool| tool.name()).collect();
        format!(
            "there is no native tool `{name}`; there are `all`, `{}`",
            known.join("`, `")
        )
    })
}
