//! `damper plugin test`: case files ask a component in the sandbox that the host has.
//!
//! Owns the format of cases, what is asked where a case says nothing, and how an answer is held
//! against what a case expects. Which limits count and what guests can do is the sandbox's.

mod answer;
mod compare;
mod facts;
mod format;

pub use compare::Difference;

use std::{
    fmt, fs, io,
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use damper_call::{RowId, ToolDefinition};
use damper_wasm::{Grants, Guest, GuestFailure, Hook, Limits, Mode, Plugin, Runtime};
use serde::Serialize;

use self::{
    answer::{Seen, ask},
    format::Case,
};

/// What a text of a case stands for the scratch workspace by.
const WORKSPACE: &str = "$WORKSPACE";

/// The row that cases pretend to be.
const ROW: &str = "test";

/// Where a case stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Place {
    /// The case file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)
    }
}

/// A case that has not been read yet: its workspace is known only when it runs.
#[derive(Debug, Clone)]
pub struct Line {
    /// Where it stands.
    pub place: Place,
    /// Its JSON.
    text: String,
    /// What it is called.
    pub name: String,
}

/// What became of a case.
#[derive(Debug, Clone, Serialize)]
pub struct CaseResult {
    /// Where it stands.
    #[serde(flatten)]
    pub place: Place,
    /// What it is called.
    pub name: String,
    /// The hook that was asked.
    pub hook: Hook,
    /// Whether everything was as expected.
    pub passed: bool,
    /// What was not.
    pub differences: Vec<Difference>,
    /// The time the plugin took, in microseconds.
    pub micros: u64,
    /// What it wrote to its log.
    pub log: String,
}

/// Why cases could not be run.
#[derive(Debug, thiserror::Error)]
pub enum CaseError {
    /// There are none.
    #[error(
        "there are no cases in `{}`; write files `*.jsonl` there, a case a line, for instance {{\"name\": \"…\", \"call\": {{\"tool\": \"bash\", \"command\": \"ls\"}}, \"expect\": {{\"verdict\": \"allow\"}}}}",
        .0.display()
    )]
    None(PathBuf),
    /// A file could not be read or written.
    #[error("cannot use `{}`: {source}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A case makes no sense.
    #[error("{place}: {why}")]
    Case {
        /// Where it stands.
        place: Place,
        /// What is wrong and what would be right.
        why: String,
    },
}

/// Reads the case files of a folder, in the order of their names.
///
/// # Errors
///
/// There are none, one cannot be read, or a line is no case.
pub fn read_cases(folder: &Path) -> Result<Vec<Line>, CaseError> {
    let at = |path: &Path| {
        let path = path.to_owned();
        move |source| CaseError::File { path, source }
    };
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(CaseError::None(folder.to_owned()));
        }
        Err(error) => return Err(at(folder)(error)),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(at(folder))?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "jsonl")
        {
            files.push(path);
        }
    }
    files.sort();
    let mut lines = Vec::new();
    for file in &files {
        let text = fs::read_to_string(file).map_err(at(file))?;
        for (index, text) in text.lines().enumerate() {
            if text.trim().is_empty() {
                continue;
            }
            let place = Place {
                file: file.clone(),
                line: index + 1,
            };
            let case = read_case(&place, text)?;
            lines.push(Line {
                place,
                text: text.to_owned(),
                name: case.name,
            });
        }
    }
    if lines.is_empty() {
        return Err(CaseError::None(folder.to_owned()));
    }
    Ok(lines)
}

fn read_case(place: &Place, text: &str) -> Result<Case, CaseError> {
    serde_json::from_str(text).map_err(|error| CaseError::Case {
        place: place.clone(),
        why: format!("is no case: {error}"),
    })
}

/// Runs a case in the sandbox and holds the answer against what it expects.
///
/// `natives` are the tools that the host itself has.
///
/// # Errors
///
/// The case makes no sense. A plugin that answers otherwise than expected is no error.
pub async fn run_case(
    runtime: &Runtime,
    plugin: &Arc<Plugin>,
    natives: &[ToolDefinition],
    line: &Line,
) -> Result<CaseResult, CaseError> {
    let wrong = |why: String| CaseError::Case {
        place: line.place.clone(),
        why,
    };
    let scratch = tempfile::tempdir().and_then(|folder| {
        let path = folder.path().canonicalize()?;
        Ok((folder, path))
    });
    let (_folder, workspace) = scratch.map_err(|source| CaseError::File {
        path: std::env::temp_dir(),
        source,
    })?;
    // A path may hold what JSON escapes.
    let quoted = serde_json::Value::from(workspace.display().to_string()).to_string();
    let text = line.text.replace(WORKSPACE, quoted.trim_matches('"'));
    let case = read_case(&line.place, &text)?;
    lay_out(&workspace, &case).map_err(wrong)?;
    let hook = hook_of(&case, plugin).map_err(wrong)?;
    let expected = compare::expected(&case.expect, hook).map_err(wrong)?;

    let guest = guest(plugin, &case, hook);
    let own_tools = if hook == Hook::Tool {
        let row: RowId = ROW.parse().map_err(|error| wrong(format!("{error}")))?;
        let answer = runtime.definitions(&guest, &row).await;
        answer
            .result
            .map_err(|failure| wrong(failure.to_string()))?
    } else {
        Vec::new()
    };
    let around = facts::Around {
        workspace: &workspace,
        natives,
        own_tools: &own_tools,
    };
    let asked = facts::asked(&case, hook, &around).map_err(wrong)?;
    // Held until the guest has answered, for the host forgets sessions that nobody holds.
    let tree = facts::tree(&case, &workspace).map_err(wrong)?;
    for session in &tree {
        runtime.around().add_session(session);
    }
    runtime.around().set_modes(modes(&case));
    let seen = match refused_settings(runtime, &guest).await {
        Some(refused) => refused,
        None => ask(runtime, &guest, &case.state, &asked).await,
    };
    let differences = compare::differences(&expected, &seen);
    Ok(CaseResult {
        place: line.place.clone(),
        name: case.name,
        hook,
        passed: differences.is_empty(),
        differences,
        micros: seen.micros,
        log: seen.log,
    })
}

/// Asks as the host does when a row is loaded.
async fn refused_settings(runtime: &Runtime, guest: &Arc<Guest>) -> Option<Seen> {
    let answer = runtime.configure(guest).await;
    let failure = match answer.result {
        Ok(errors) if errors.is_empty() => return None,
        Ok(errors) => {
            let told = errors
                .iter()
                .map(|error| format!("`{}`: {}", error.pointer, error.message));
            GuestFailure::Settings(told.collect::<Vec<_>>().join("; "))
        }
        Err(failure) => failure,
    };
    Some(Seen::failed(&failure, answer.micros, answer.log))
}

fn guest(plugin: &Arc<Plugin>, case: &Case, hook: Hook) -> Arc<Guest> {
    let manifest = &plugin.manifest;
    let given = case.grants.as_ref().unwrap_or(&manifest.grants);
    let defaults = match hook {
        Hook::Tool => &Limits::TOOL,
        Hook::Guard
        | Hook::Catalogue
        | Hook::Preset
        | Hook::Persona
        | Hook::Message
        | Hook::Approval
        | Hook::Result
        | Hook::Session => &Limits::HOOK,
    };
    Arc::new(Guest {
        plugin: Arc::clone(plugin),
        settings: serde_json::Value::Object(case.config.clone())
            .to_string()
            .into(),
        grants: Grants::both(&manifest.grants, given),
        limits: manifest.limits.bounded(defaults),
    })
}

/// Returns the hook that a case is about: the one it names, else the plugin's only one.
fn hook_of(case: &Case, plugin: &Plugin) -> Result<Hook, String> {
    let hooks = &plugin.manifest.hooks;
    let names = || {
        let names: Vec<&str> = hooks.iter().map(|hook| hook.as_str()).collect();
        names.join("`, `")
    };
    match (case.hook, hooks.as_slice()) {
        (Some(hook), _) if hooks.contains(&hook) => Ok(hook),
        (Some(hook), _) => Err(format!(
            "the plugin has no hook `{}`; it has `{}`",
            hook.as_str(),
            names()
        )),
        (None, [hook]) => Ok(*hook),
        (None, _) => Err(format!(
            "the plugin has several hooks; say which with \"hook\": one of `{}`",
            names()
        )),
    }
}

fn modes(case: &Case) -> Vec<Mode> {
    let mode = |id: &String| Mode {
        id: id.clone(),
        name: id.clone(),
        description: String::new(),
        cannot_run: None,
    };
    case.modes.iter().map(mode).collect()
}

/// Puts the files of a case into its workspace.
fn lay_out(workspace: &Path, case: &Case) -> Result<(), String> {
    for (path, text) in &case.files {
        let relative = Path::new(path);
        let stays_inside = relative
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        if !stays_inside || path.is_empty() {
            return Err(format!(
                "the file `{path}` must be relative to the workspace and in it"
            ));
        }
        let file = workspace.join(relative);
        let written = match file.parent() {
            Some(folder) => fs::create_dir_all(folder),
            None => Ok(()),
        };
        written
            .and_then(|()| fs::write(&file, text))
            .map_err(|error| format!("cannot write the file `{path}`: {error}"))?;
    }
    Ok(())
}
