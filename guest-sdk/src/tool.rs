//! The hook `tool`: what a tool says about itself, and what it answers.

use serde_json::Value;
use thiserror::Error;

use crate::{Call, Dialect, plugin::hook};

hook! { "tool":
    /// A plugin that provides tools.
    pub trait Tool: Sized + 'static {
        /// Returns the tools, the same at each call for the same settings.
        fn definitions(&self) -> Vec<Definition>;

        /// Runs the tool that the call names.
        ///
        /// # Errors
        ///
        /// What the caller did wrong, what was not granted, or what failed.
        fn run(&self, call: &Call) -> Result<Output, ToolError>;
    }
}

/// One tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    /// The name: 1 to 64 characters of `A-Z a-z 0-9 _ -`.
    pub name: String,
    /// What the tool does, for the model that chooses it.
    pub description: String,
    /// The JSON Schema of the arguments, of type `object`.
    pub input_schema: Value,
    /// What running the tool may do.
    pub effect: EffectClass,
    /// The argument that holds a command line, so that guards can judge it.
    pub command: Option<CommandArgument>,
    /// The arguments that hold a path or a list of paths.
    pub paths: Vec<String>,
}

/// What running a tool may do, and so what may follow when its outcome is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EffectClass {
    /// Changes nothing; may be repeated at will.
    None,
    /// Changes something; a second run leaves the same state as the first.
    Idempotent,
    /// Must not be run twice.
    Once,
}

/// The argument of a tool that holds a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandArgument {
    /// The argument's name.
    pub name: String,
    /// The language of the command line.
    pub dialect: Dialect,
}

/// What a tool answers.
#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    /// The answer as text, for the model.
    pub text: String,
    /// The answer as one JSON value, for programs.
    pub structured: Option<Value>,
}

/// Why a tool could not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ToolError {
    /// The arguments are wrong; the text tells what would be right.
    #[error("invalid arguments: {0}")]
    InvalidArguments(String),
    /// The tool was not granted something it needs.
    #[error("denied: {0}")]
    Denied(String),
    /// Anything else.
    #[error("{0}")]
    Failed(String),
}

impl Output {
    /// Returns an answer that is text alone.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            structured: None,
        }
    }
}
