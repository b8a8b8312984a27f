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
//! - `hooks` names the exported hooks: `guard`, `catalogue`, `preset`, `persona`, `tool`,
//!   `message`, `approval`, `result`, `session`.
//! - `grants` is what the plugin asks for; a row gives it or does not: `files.metadata`,
//!   `files.read`, `http`, `clock`, `random`, `sessions`, `roster`. What it does not ask
//!   for is left out.
//! - `limits` holds only what the plugin asks for: `memory_bytes`, `guest_time_ms`,
//!   `wall_time_ms`, `answer_bytes`, `log_bytes`, `state_bytes`, `host_calls`.
//! - `config_schema` is the JSON Schema (draft 2020-12) of the row's `config`.

use std::collections::BTreeSet;

use schemars::{JsonSchema, Schema};
use serde::Serialize;

/// The version of the contract in `wit/` that plugins of this SDK are built for.
pub const API_VERSION: &str = "1.0.0";

/// What a plugin asks to be granted.
///
/// ```
/// use damper_guest::Grants;
///
/// const GRANTS: Grants = Grants {
///     http: &["api.example.com", "api.example.com:8443"],
///     clock: true,
///     ..Grants::WORKSPACE_METADATA
/// };
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grants {
    /// What it may learn of files.
    pub files: FileGrants,
    /// The hosts it may speak to, with a port where it is not that of the scheme.
    pub http: &'static [&'static str],
    /// What time it is.
    pub clock: bool,
    /// Randomness that differs for the same call.
    pub random: bool,
    /// The other sessions of the tree.
    pub sessions: bool,
    /// Which modes there are.
    pub roster: bool,
}

/// What a plugin asks to learn of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileGrants {
    /// Where it may ask what a path leads to: `workspace`, or absolute folders.
    pub metadata: &'static [&'static str],
    /// Where it may read files: `workspace`, or absolute folders.
    pub read: &'static [&'static str],
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
    /// What it may keep for one session, keys and values together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state_bytes: Option<u64>,
    /// How often it may call the host in one call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_calls: Option<u64>,
}

impl Grants {
    /// Nothing at all.
    pub const NONE: Self = Self {
        files: FileGrants::NONE,
        http: &[],
        clock: false,
        random: false,
        sessions: false,
        roster: false,
    };

    /// What paths of the session's workspace lead to.
    pub const WORKSPACE_METADATA: Self = Self {
        files: FileGrants {
            metadata: &["workspace"],
            read: &[],
        },
        ..Self::NONE
    };

    /// What paths of the session's workspace lead to, and what its files hold.
    pub const WORKSPACE_READ: Self = Self {
        files: FileGrants {
            metadata: &["workspace"],
            read: &["workspace"],
        },
        ..Self::NONE
    };
}

impl FileGrants {
    /// Nothing at all.
    pub const NONE: Self = Self {
        metadata: &[],
        read: &[],
    };
}

impl Limits {
    /// The host's defaults.
    pub const DEFAULT: Self = Self {
        memory_bytes: None,
        guest_time_ms: None,
        wall_time_ms: None,
        answer_bytes: None,
        log_bytes: None,
        state_bytes: None,
        host_calls: None,
    };

    /// Returns the larger of each limit that either asks for.
    fn or_larger(self, other: Self) -> Self {
        Self {
            memory_bytes: self.memory_bytes.max(other.memory_bytes),
            guest_time_ms: self.guest_time_ms.max(other.guest_time_ms),
            wall_time_ms: self.wall_time_ms.max(other.wall_time_ms),
            answer_bytes: self.answer_bytes.max(other.answer_bytes),
            log_bytes: self.log_bytes.max(other.log_bytes),
            state_bytes: self.state_bytes.max(other.state_bytes),
            host_calls: self.host_calls.max(other.host_calls),
        }
    }
}

/// What Cargo knows of the plugin's crate. The export macros fill it in.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct Package {
    pub version: &'static str,
    pub description: &'static str,
}

/// One hook of a plugin, for the export macros.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct Part {
    hook: &'static str,
    id: &'static str,
    grants: Grants,
    limits: Limits,
    config_schema: fn() -> Schema,
}

impl Part {
    pub(crate) const fn new<C: JsonSchema>(
        hook: &'static str,
        id: &'static str,
        grants: Grants,
        limits: Limits,
    ) -> Self {
        Self {
            hook,
            id,
            grants,
            limits,
            config_schema: || schemars::schema_for!(C),
        }
    }

    /// Stops the compiler where parts are not one plugin.
    pub const fn check(parts: &[Self]) {
        let mut index = 1;
        while index < parts.len() {
            assert!(
                is_same(parts[0].id, parts[index].id),
                "the parts of a plugin have one ID"
            );
            let mut earlier = 0;
            while earlier < index {
                assert!(
                    !is_same(parts[earlier].hook, parts[index].hook),
                    "a plugin has each hook once"
                );
                earlier += 1;
            }
            index += 1;
        }
    }

    /// Returns the text of the manifest of a plugin with these parts, of which there is
    /// one at least.
    pub fn manifest(parts: &[Self], package: Package) -> String {
        let grants = |asked: fn(&Grants) -> &'static [&'static str]| -> BTreeSet<&'static str> {
            parts
                .iter()
                .flat_map(|part| asked(&part.grants))
                .copied()
                .collect()
        };
        let any = |asked: fn(&Grants) -> bool| parts.iter().any(|part| asked(&part.grants));
        let manifest = Manifest {
            id: parts[0].id,
            version: package.version,
            description: package.description,
            api: API_VERSION,
            hooks: parts.iter().map(|part| part.hook).collect(),
            grants: AllGrants {
                files: AllFileGrants {
                    metadata: grants(|asked| asked.files.metadata),
                    read: grants(|asked| asked.files.read),
                },
                http: grants(|asked| asked.http),
                clock: any(|asked| asked.clock),
                random: any(|asked| asked.random),
                sessions: any(|asked| asked.sessions),
                roster: any(|asked| asked.roster),
            },
            limits: parts
                .iter()
                .fold(Limits::DEFAULT, |all, part| all.or_larger(part.limits)),
            config_schema: (parts[0].config_schema)(),
        };
        serde_json::to_string(&manifest).expect("each key of a manifest is a string")
    }
}

const fn is_same(left: &str, right: &str) -> bool {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    if left.len() != right.len() {
        return false;
    }
    let mut index = 0;
    while index < left.len() {
        if left[index] != right[index] {
            return false;
        }
        index += 1;
    }
    true
}

#[derive(Serialize)]
struct Manifest {
    id: &'static str,
    version: &'static str,
    description: &'static str,
    api: &'static str,
    hooks: Vec<&'static str>,
    grants: AllGrants,
    limits: Limits,
    config_schema: Schema,
}

/// The grants of all parts.
#[derive(Serialize)]
struct AllGrants {
    #[serde(skip_serializing_if = "AllFileGrants::is_none")]
    files: AllFileGrants,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    http: BTreeSet<&'static str>,
    #[serde(skip_serializing_if = "is_not_asked")]
    clock: bool,
    #[serde(skip_serializing_if = "is_not_asked")]
    random: bool,
    #[serde(skip_serializing_if = "is_not_asked")]
    sessions: bool,
    #[serde(skip_serializing_if = "is_not_asked")]
    roster: bool,
}

#[derive(Serialize)]
struct AllFileGrants {
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    metadata: BTreeSet<&'static str>,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    read: BTreeSet<&'static str>,
}

impl AllFileGrants {
    fn is_none(&self) -> bool {
        self.metadata.is_empty() && self.read.is_empty()
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes fields by reference"
)]
const fn is_not_asked(grant: &bool) -> bool {
    !*grant
}
