//! What a plugin says about itself, for the host and for people.
//!
//! `damper plugin build` asks for the manifest once and stores it in the component as
//! the custom section `damper:manifest`. It is the text of one JSON object:
//!
//! ```json
//! {
//!   "id": "damper/file-info",
//!   "version": "0.1.0",
//!   "description": "Tells what paths lead to, without reading anything.",
//!   "api": "1.0.0",
//!   "hooks": ["tool"],
//!   "grants": {"files": {"metadata": ["workspace"]}},
//!   "limits": {"memory_bytes": 1048576, "guest_time_ms": 50},
//!   "config_schema": {"type": "object", "additionalProperties": false}
//! }
//! ```
//!
//! - `hooks` names the exported hooks: `guard`, `tool`.
//! - `grants` is what the plugin asks for; a row gives it or does not. Each entry of
//!   `files.metadata` is `workspace` or an absolute folder. Empty objects are left out.
//! - `limits` holds only what the plugin asks for: `memory_bytes`, `guest_time_ms`,
//!   `wall_time_ms`, `answer_bytes`, `log_bytes`, `host_calls`.
//! - `config_schema` is the JSON Schema (draft 2020-12) of the row's `config`.

use schemars::{JsonSchema, Schema};
use serde::Serialize;

/// The version of the contract in `wit/` that plugins of this SDK are built for.
pub const API_VERSION: &str = "1.0.0";

/// What a plugin asks to be granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Grants {
    /// What it may learn of files.
    #[serde(skip_serializing_if = "FileGrants::is_none")]
    pub files: FileGrants,
}

/// What a plugin asks to learn of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct FileGrants {
    /// Where it may ask what a path leads to: `workspace`, or absolute folders.
    pub metadata: &'static [&'static str],
}

/// The limits a plugin asks for; the host's defaults hold where it asks for none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Limits {
    /// The memory of one call, all memories together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// The time its own code may take in one call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guest_time_ms: Option<u64>,
    /// The time one call may take, host calls included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall_time_ms: Option<u64>,
    /// The size of its answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer_bytes: Option<u64>,
    /// What it may write to its log in one call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_bytes: Option<u64>,
    /// How often it may call the host in one call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_calls: Option<u64>,
}

/// What Cargo knows of the plugin's crate. The export macros fill it in.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct Package {
    pub version: &'static str,
    pub description: &'static str,
}

impl Grants {
    /// Nothing at all.
    pub const NONE: Self = Self {
        files: FileGrants { metadata: &[] },
    };

    /// What paths of the session's workspace lead to.
    pub const WORKSPACE_METADATA: Self = Self {
        files: FileGrants {
            metadata: &["workspace"],
        },
    };
}

impl FileGrants {
    const fn is_none(&self) -> bool {
        self.metadata.is_empty()
    }
}

impl Limits {
    /// The host's defaults.
    pub const DEFAULT: Self = Self {
        memory_bytes: None,
        guest_time_ms: None,
        wall_time_ms: None,
        answer_bytes: None,
        log_bytes: None,
        host_calls: None,
    };
}

#[derive(Serialize)]
struct Manifest {
    id: &'static str,
    version: &'static str,
    description: &'static str,
    api: &'static str,
    hooks: [&'static str; 1],
    grants: Grants,
    limits: Limits,
    config_schema: Schema,
}

/// Returns the text of a manifest.
pub(crate) fn manifest<C: JsonSchema>(
    id: &'static str,
    package: Package,
    hook: &'static str,
    grants: Grants,
    limits: Limits,
) -> String {
    let manifest = Manifest {
        id,
        version: package.version,
        description: package.description,
        api: API_VERSION,
        hooks: [hook],
        grants,
        limits,
        config_schema: schemars::schema_for!(C),
    };
    serde_json::to_string(&manifest).expect("each key of a manifest is a string")
}
