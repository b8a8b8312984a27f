//! A session: one conversation, as far as a call needs to know it.

use std::{path::PathBuf, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::{Composed, SessionId};

/// The way a call comes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Door {
    /// The Model Context Protocol.
    Mcp,
    /// The `damper call` command.
    Cli,
}

impl Door {
    /// Returns the name that profiles and plugins use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Mcp => "mcp",
            Self::Cli => "cli",
        }
    }
}

/// The role of a session in its tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Opened by somebody else's agent.
    External,
    /// The root of a mode that only plans and checks, and hands work to workers.
    Coordinator,
    /// A session that was opened to do work for another.
    Worker,
    /// The root of a mode that does everything itself.
    Solo,
}

impl Role {
    /// Returns the name that plugins see.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::External => "external",
            Self::Coordinator => "coordinator",
            Self::Worker => "worker",
            Self::Solo => "solo",
        }
    }
}

/// The mode a session is bound to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModeBinding {
    /// None, as for external sessions.
    None,
    /// The mode with this id.
    Bound(String),
    /// The host cannot tell.
    Unknown,
}

/// What happens to a call that a guard wants asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalPolicy {
    /// A person is asked.
    Ask,
    /// Nobody is asked.
    Never,
}

/// One conversation and the facts about it that guards may judge by.
#[derive(Debug, Clone)]
pub struct Session {
    /// The session's id.
    pub id: SessionId,
    /// The id of the root of its tree; its own id for a root.
    pub root: SessionId,
    /// The session that opened it, for workers.
    pub parent: Option<SessionId>,
    /// The mode it is bound to.
    pub mode: ModeBinding,
    /// The mode it was recorded with when it was opened.
    pub recorded_mode: Option<String>,
    /// What it was composed of; none for external sessions.
    pub composed: Option<Arc<Composed>>,
    /// Its role in the tree.
    pub role: Role,
    /// The kind of worker, for workers.
    pub kind: Option<String>,
    /// How far below its root it is.
    pub depth: u32,
    /// The way it came in.
    pub door: Door,
    /// What the calling agent says it is: unverified text.
    pub agent: Option<String>,
    /// Its own approval policy.
    pub policy: ApprovalPolicy,
    /// The approval policy of its root.
    pub root_policy: ApprovalPolicy,
    /// The permission preset, if it has one.
    pub preset: Option<String>,
    /// The folders it works in, absolute.
    pub roots: Vec<PathBuf>,
    /// Where its commands run, absolute.
    pub cwd: PathBuf,
}

impl Session {
    /// Returns a session of somebody else's agent: no mode, root of its own tree.
    pub fn external(id: SessionId, door: Door, agent: Option<String>, cwd: PathBuf) -> Self {
        Self {
            root: id.clone(),
            id,
            parent: None,
            mode: ModeBinding::None,
            recorded_mode: None,
            composed: None,
            role: Role::External,
            kind: None,
            depth: 0,
            door,
            agent,
            policy: ApprovalPolicy::Ask,
            root_policy: ApprovalPolicy::Ask,
            preset: None,
            roots: vec![cwd.clone()],
            cwd,
        }
    }
}
