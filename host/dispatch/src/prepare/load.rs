//! One row: from its component's bytes to a plugin that can be asked.

use std::{path::PathBuf, sync::Arc};

use damper_call::{Door, ModeBinding, Role, Session, SessionId, ToolDefinition};
use damper_profile::{Folder, PluginRef, Row, RowKind};
use damper_wasm::{
    FileGrant, FileGrants, Grants, Guest, GuestFailure, Hook, Limits, Plugin, Runtime,
};

use super::{Captured, limits};
use crate::{LoadedMode, arguments::ArgumentCheck, generation::Loaded};

/// Compiles a row's component, checks everything about it and gives it its settings.
pub(super) async fn load(
    runtime: &Runtime,
    row: &Row,
    captured: &Captured,
) -> Result<Loaded, String> {
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
