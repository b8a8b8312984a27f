//! What each kind of worker is told: what it is, and how it works and reports.
//!
//! The kind is a fact of the session, so no text carries a mark by which one is told from the
//! other. The section `persona` of the worker's own session is replaced; the coordinator's and
//! everybody else's prompts stay as they are, and so does that of a worker of another kind.
//! Where this plugin fails the worker keeps the short persona of its mode, and the host records
//! the failure.

use damper_guest::{JsonSchema, Persona, Section, Session, export_persona};
use serde::Deserialize;

/// The section that is replaced.
const SECTION: &str = "persona";

/// What is true for all workers.
const COMMON: &str = include_str!("../texts/common.md");

/// The settings of the row.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[schemars(crate = "damper_guest::schemars")]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Text that is appended to the persona of a kind, such as the rules of a house.
    pub extra: Extra,
}

/// Text by kind of worker.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[schemars(crate = "damper_guest::schemars")]
#[serde(deny_unknown_fields, default)]
pub struct Extra {
    /// For the executor that knows its brief.
    pub subagent: String,
    /// For the executor that knows the coordinator's completed turns too.
    pub subagent_fork: String,
    /// For the one that works by programs.
    pub subagent_ptc: String,
    /// For the investigator.
    pub subagent_minimal: String,
}

/// A kind of worker that there is a persona for.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Subagent,
    Fork,
    Program,
    Minimal,
}

/// The plugin that writes the workers' personas.
#[derive(Debug, Clone)]
pub struct WorkerPersona {
    config: Config,
}

impl Persona for WorkerPersona {
    const ID: &'static str = "damper/worker-persona";

    type Config = Config;

    fn new(config: Config) -> Self {
        Self { config }
    }

    fn sections(&self, session: &Session) -> Vec<Section> {
        match Kind::of(session) {
            Some(kind) => vec![Section::new(SECTION, self.text(kind))],
            None => Vec::new(),
        }
    }
}

impl WorkerPersona {
    fn text(&self, kind: Kind) -> String {
        let parts = [kind.text(), COMMON, self.config.extra.of(kind)];
        let parts: Vec<&str> = parts.map(str::trim).into_iter().collect();
        parts.join("\n\n").trim_end().to_owned()
    }
}

impl Kind {
    /// Returns the kind of a worker's session, if it is one of these.
    fn of(session: &Session) -> Option<Self> {
        if session.role() != "worker" {
            return None;
        }
        match session.kind()?.as_str() {
            "subagent" => Some(Self::Subagent),
            "subagent_fork" => Some(Self::Fork),
            "subagent_ptc" => Some(Self::Program),
            "subagent_minimal" => Some(Self::Minimal),
            _ => None,
        }
    }

    const fn text(self) -> &'static str {
        match self {
            Self::Subagent => include_str!("../texts/subagent.md"),
            Self::Fork => include_str!("../texts/subagent_fork.md"),
            Self::Program => include_str!("../texts/subagent_ptc.md"),
            Self::Minimal => include_str!("../texts/subagent_minimal.md"),
        }
    }
}

impl Extra {
    fn of(&self, kind: Kind) -> &str {
        match kind {
            Kind::Subagent => &self.subagent,
            Kind::Fork => &self.subagent_fork,
            Kind::Program => &self.subagent_ptc,
            Kind::Minimal => &self.subagent_minimal,
        }
    }
}

export_persona!(WorkerPersona);
