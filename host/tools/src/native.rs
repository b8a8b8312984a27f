//! The table of native tools. A tool is added here, with a file of its own beside.

use damper_call::{EffectClass, ToolDefinition, ToolSource};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::{ToolContext, ToolResult, bash, grep, read};

/// A tool that the host itself provides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NativeTool {
    /// Shows lines of a file.
    Read,
    /// Searches files for a regular expression.
    Grep,
    /// Runs a command line.
    Bash,
}

impl NativeTool {
    /// Every native tool, in the order in which they are listed.
    pub const ALL: [Self; 3] = [Self::Read, Self::Grep, Self::Bash];

    /// Returns the tool that agents call by this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// Returns the name by which agents call the tool.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Grep => "grep",
            Self::Bash => "bash",
        }
    }

    /// Returns the tool as agents and guards see it.
    pub fn definition(self) -> ToolDefinition {
        match self {
            Self::Read => read::definition(),
            Self::Grep => grep::definition(),
            Self::Bash => bash::definition(),
        }
    }
}

/// Runs a tool and returns what it answered.
///
/// Arguments that do not fit are answered with an error for the model. When the future
/// is dropped, a command that is running is killed with everything that it started.
pub async fn run(
    tool: NativeTool,
    arguments: &Map<String, Value>,
    context: &ToolContext,
) -> ToolResult {
    match tool {
        NativeTool::Read => with_arguments(arguments, |order| read::run(order, context)).await,
        NativeTool::Grep => with_arguments(arguments, |order| grep::run(order, context)).await,
        NativeTool::Bash => with_arguments(arguments, |order| bash::run(order, context)).await,
    }
}

async fn with_arguments<A: DeserializeOwned, F: Future<Output = ToolResult>>(
    arguments: &Map<String, Value>,
    body: impl FnOnce(A) -> F,
) -> ToolResult {
    match A::deserialize(arguments) {
        Ok(order) => body(order).await,
        Err(error) => ToolResult::error(format!("the arguments do not fit: {error}")),
    }
}

/// Builds the definition of a tool that only reads and has no command line.
pub(crate) fn reading_tool(
    name: &str,
    description: &str,
    schema: Value,
    paths: &[&str],
) -> ToolDefinition {
    ToolDefinition {
        name: name.to_owned(),
        description: description.to_owned(),
        input_schema: object(schema),
        effect: EffectClass::None,
        command: None,
        paths: paths.iter().map(|&path| path.to_owned()).collect(),
        source: ToolSource::Native,
    }
}

/// Returns the members of a value that `json!` made from braces.
pub(crate) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Map::new()
        }
    }
}
