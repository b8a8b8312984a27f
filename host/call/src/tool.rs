//! Tools and the calls of them.

use std::{path::PathBuf, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{CallId, RowId, Session};

/// What running a tool may do, and so what may follow when its outcome is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EffectClass {
    /// Changes nothing; may be repeated at will.
    None,
    /// Changes something; a second run leaves the same state as the first.
    Idempotent,
    /// Must not be run twice.
    Once,
}

/// The language of a command line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dialect {
    /// bash and other POSIX shells.
    Bash,
    /// PowerShell.
    Powershell,
    /// The Windows command interpreter.
    Cmd,
    /// Any other, by name.
    Other(String),
}

/// The argument of a tool that holds a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandArgument {
    /// The argument's name.
    pub name: String,
    /// The language of the command line.
    pub dialect: Dialect,
}

/// Where a tool comes from.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolSource {
    /// The host itself.
    Native,
    /// The plugin of this row.
    Plugin(RowId),
}

/// One tool as agents see it, with the facts guards need.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDefinition {
    /// The name: 1 to 64 characters of `A-Z a-z 0-9 _ -`.
    pub name: String,
    /// What it does, for the model that chooses it.
    pub description: String,
    /// The JSON Schema of its arguments, always of type `object`.
    pub input_schema: Map<String, Value>,
    /// What running it may do.
    pub effect: EffectClass,
    /// The argument that holds a command line.
    pub command: Option<CommandArgument>,
    /// The arguments that hold a path or a list of paths.
    pub paths: Vec<String>,
    /// Where it comes from.
    pub source: ToolSource,
}

impl ToolDefinition {
    /// Returns whether the name is one that agents accept everywhere.
    pub fn is_valid_name(name: &str) -> bool {
        (1..=64).contains(&name.len())
            && name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
    }
}

/// One call of a tool, frozen: each guard sees exactly this.
#[derive(Debug, Clone)]
pub struct ToolCall {
    /// The call's id.
    pub id: CallId,
    /// The session it belongs to.
    pub session: Arc<Session>,
    /// The tool as it is when called.
    pub tool: Arc<ToolDefinition>,
    /// The arguments: the text of one JSON object.
    pub arguments: Arc<str>,
    /// The command line it would execute.
    pub command: Option<String>,
    /// The paths that it names in arguments declared to be paths.
    pub paths: Vec<String>,
    /// Where it runs, absolute.
    pub cwd: PathBuf,
    /// When it arrived, in milliseconds since the Unix epoch.
    pub received_at_ms: u64,
}

impl ToolCall {
    /// Returns the command line and the paths that `arguments` hold for `tool`.
    pub fn facts(
        tool: &ToolDefinition,
        arguments: &Map<String, Value>,
    ) -> (Option<String>, Vec<String>) {
        let command = tool
            .command
            .as_ref()
            .and_then(|argument| arguments.get(&argument.name))
            .and_then(Value::as_str)
            .map(str::to_owned);
        let paths = tool
            .paths
            .iter()
            .filter_map(|name| arguments.get(name))
            .flat_map(|value| match value {
                Value::String(path) => vec![path.clone()],
                Value::Array(paths) => paths
                    .iter()
                    .filter_map(Value::as_str)
                    .map(str::to_owned)
                    .collect(),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
            })
            .collect();
        (command, paths)
    }
}
