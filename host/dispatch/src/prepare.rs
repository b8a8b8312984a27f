//! From a composition to a generation: the reload transaction.
//!
//! Everything new is read, compiled, linked, type-checked and given its settings here, before
//! anything old lets go. What is refused leaves its row as it runs.

mod limits;

use std::{collections::HashMap, path::PathBuf, sync::Arc};

use damper_call::{Digest, Door, ModeBinding, Role, RowId, Session, SessionId, ToolDefinition};
use damper_journal::{Change, GuestFailed, RowResult};
use damper_profile::{Composition, Folder, PluginRef, Row, RowKind, Tools};
use damper_tools::NativeTool;
use damper_wasm::{
    FileGrant, FileGrants, Grants, Guest, GuestFailure, Hook, Limits, Plugin, Runtime,
    read_manifest,
};

use crate::{
    LoadedMode,
    arguments::ArgumentCheck,
    counters::RowCounters,
    generation::{Generation, InstalledRow, Loaded, RowState, Running},
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

/// Compiles a row's component, checks everything about it and gives it its settings.
async fn load(runtime: &Runtime, row: &Row, captured: &Captured) -> Result<Loaded, String> {
    let file = captured.path.display();
    if let Some(pinned) = row.digest.filter(|pinned| *pinned != captured.digest) {
        return Err(format!(
            "`{file}` is {}, but the row pins {pinned}",
            captured.digest
        ));
    }
    let announce = || tracing::info!(row = %row.id, file = %file, "compiling");
    let plugin = runtime
        .load(&captured.bytes()?, announce)
        .await
        .map_err(|error| format!("`{file}` {error}"))?;
    if let RowKind::Plugin(PluginRef::Id(id)) = &row.kind
        && *id != plugin.manifest.id
    {
        return Err(format!(
            "`{file}` is the plugin `{}`, not `{id}`",
            plugin.manifest.id
        ));
    }
    let settings: Arc<str> = serde_json::Value::Object(row.config.clone())
        .to_string()
        .into();
    let grants = Grants::both(&plugin.manifest.grants, &given(row)?);
    let guest = |defaults: &Limits| -> Result<Arc<Guest>, String> {
        let limits = limits::resolve(row, &plugin.manifest.limits, defaults, runtime.ceilings())?;
        Ok(Arc::new(Guest {
            plugin: Arc::clone(&plugin),
            settings: Arc::clone(&settings),
            grants: grants.clone(),
            limits,
        }))
    };
    let hook = guest(&Limits::HOOK)?;
    check_settings(runtime, row, &plugin, &hook).await?;
    let is = |hook| plugin.manifest.hooks.contains(&hook);
    let tool = if is(Hook::Tool) {
        Some(guest(&Limits::TOOL)?)
    } else {
        None
    };
    let tools = match &tool {
        Some(tool) => definitions(runtime, row, tool).await?,
        None => Vec::new(),
    };
    let mode = match is(Hook::Preset) {
        true => Some(mode(runtime, row, &hook).await),
        false => None,
    };
    Ok(Loaded {
        plugin,
        hook,
        tool,
        tools,
        mode,
    })
}

/// Asks a preset what its mode is, and tries whether a session could be composed. What goes
/// wrong makes the mode one that cannot run, and no less of the row.
async fn mode(runtime: &Runtime, row: &Row, guest: &Arc<Guest>) -> LoadedMode {
    let mut failures = Vec::new();
    let mut failed = |hook, failure: GuestFailure| {
        let plugin = &guest.plugin.manifest.id;
        let why = format!("the plugin `{plugin}` {failure}");
        failures.push((hook, failure));
        why
    };
    let described = runtime.describe_mode(guest).await.result;
    let description = described.map_err(|failure| failed("preset.describe", failure));
    let mut trial = Session::external(SessionId::unique(), Door::Cli, None, PathBuf::from("/"));
    trial.mode = ModeBinding::Bound(row.id.to_string());
    trial.role = Role::Solo;
    let composed = runtime
        .compose(Arc::clone(guest).into(), &Arc::new(trial))
        .await
        .result;
    let composition = composed
        .map_err(|failure| failed("preset.compose", failure))
        .flatten();
    LoadedMode {
        description,
        composition,
        failures,
    }
}

fn given(row: &Row) -> Result<Grants, String> {
    let http = row.grants.http.iter().map(|host| {
        host.parse().map_err(|error| {
            let position = row.origins.nearest("/grants");
            format!("{position}: {error}")
        })
    });
    let places = |folders: &[Folder]| {
        folders
            .iter()
            .map(|folder| match folder {
                Folder::Workspace => FileGrant::Workspace,
                Folder::Absolute(path) => FileGrant::Folder(path.clone()),
            })
            .collect()
    };
    Ok(Grants {
        files: FileGrants {
            metadata: places(&row.grants.files_metadata),
            read: places(&row.grants.files_read),
        },
        http: http.collect::<Result<_, _>>()?,
        clock: row.grants.clock,
        random: row.grants.random,
        sessions: row.grants.sessions,
        roster: row.grants.roster,
    })
}

/// Lets the plugin's schema and then the plugin itself judge the row's settings. Loads every
/// hook from a real instance on the way, which is what checks their types.
async fn check_settings(
    runtime: &Runtime,
    row: &Row,
    plugin: &Plugin,
    guest: &Arc<Guest>,
) -> Result<(), String> {
    let at = |pointer: &str, message: &str| format!("{}: {message}", row.config_position(pointer));
    if !plugin.manifest.config_schema.is_empty() {
        let schema = serde_json::Value::Object(plugin.manifest.config_schema.clone());
        let validator = jsonschema::options()
            .with_pattern_options(jsonschema::PatternOptions::regex())
            .build(&schema)
            .map_err(|error| format!("the manifest's config schema is no JSON Schema: {error}"))?;
        let config = serde_json::Value::Object(row.config.clone());
        if let Some(error) = validator.iter_errors(&config).next() {
            return Err(at(&place_of(&error), &error.to_string()));
        }
    }
    let answer = runtime.configure(guest).await;
    let errors = answer
        .result
        .map_err(|failure| format!("the plugin {failure} when it was given its settings"))?;
    match errors.first() {
        None => Ok(()),
        Some(error) => Err(at(&error.pointer, &error.message)),
    }
}

/// Returns the JSON pointer to what is wrong: the key itself where it is one too many.
fn place_of(error: &jsonschema::ValidationError<'_>) -> String {
    use jsonschema::error::ValidationErrorKind::AdditionalProperties;
    let mut pointer = error.instance_path().to_string();
    if let AdditionalProperties { unexpected } = error.kind()
        && let Some(key) = unexpected.first()
    {
        pointer.push('/');
        pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
    }
    pointer
}

async fn definitions(
    runtime: &Runtime,
    row: &Row,
    tool: &Arc<Guest>,
) -> Result<Vec<Arc<ToolDefinition>>, String> {
    let answer = runtime.definitions(tool, &row.id).await;
    let definitions = answer
        .result
        .map_err(|failure| format!("the plugin {failure} when asked for its tools"))?;
    for definition in &definitions {
        ArgumentCheck::new(definition)?;
    }
    Ok(definitions.into_iter().map(Arc::new).collect())
}
