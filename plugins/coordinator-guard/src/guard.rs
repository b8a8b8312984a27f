//! The guard: from a session and its tools to the names that are withheld.

use damper_guest::{Catalogue, JsonSchema, ListedTool, Session, log, state};
use serde::Deserialize;

use crate::ownership::{Ownership, is_ours};

/// What a coordinator keeps whose mode does not say: to read, to hand out work and look after
/// it, to talk to people, and to keep track.
pub const BUILT_IN_KEEP: [&str; 24] = [
    "read",
    "grep",
    "glob",
    "file_info",
    "subagent",
    "subagent_fork",
    "subagent_ptc",
    "subagent_minimal",
    "subagent_preset",
    "send_message",
    "interrupt_agent",
    "list_agents",
    "job_list",
    "job_output",
    "job_kill",
    "workflow",
    "ask_user_question",
    "todo_write",
    "create_goal",
    "get_goal",
    "update_goal",
    "exit_plan_mode",
    "present",
    "skill",
];

/// The transport that programs are called by. Without it a session that works through
/// programs has no tools at all.
const TRANSPORT: &str = "run_code";

/// Where it is noted that a session was warned about, once.
const WARNED: &str = "warned";

/// The settings of the row.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[schemars(crate = "damper_guest::schemars")]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The ids of the modes whose main sessions are narrowed: those of their presets' rows.
    pub modes: Vec<String>,
    /// Tools that stay besides those that the mode keeps.
    pub keep: Vec<String>,
    /// Tools that go in any case, even when they are kept.
    pub extra_deny: Vec<String>,
    /// Whether anything is withheld. Switch it off to find out what the guard changes.
    pub guard_enabled: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            modes: vec!["multitask".to_owned()],
            keep: Vec::new(),
            extra_deny: Vec::new(),
            guard_enabled: true,
        }
    }
}

/// The guard that leaves the work to workers.
#[derive(Debug, Clone)]
pub struct CoordinatorGuard {
    config: Config,
}

impl Catalogue for CoordinatorGuard {
    const ID: &'static str = "damper/coordinator-guard";

    type Config = Config;

    fn new(config: Config) -> Self {
        Self { config }
    }

    fn withhold(&self, session: &Session, tools: &[ListedTool]) -> Vec<String> {
        self.withhold_from(is_ours(&self.config.modes, session), session, tools)
    }
}

impl CoordinatorGuard {
    /// Returns what is withheld from a session of which it is known whose it is.
    pub fn withhold_from(
        &self,
        ownership: Ownership,
        session: &Session,
        tools: &[ListedTool],
    ) -> Vec<String> {
        match ownership {
            Ownership::Ours if self.config.guard_enabled => self.all_but_kept(session, tools),
            Ownership::Ours | Ownership::OtherMode | Ownership::Child => Vec::new(),
            Ownership::Unknown => {
                warn_once();
                Vec::new()
            }
        }
    }

    fn all_but_kept(&self, session: &Session, tools: &[ListedTool]) -> Vec<String> {
        let declared = session.keep();
        let is_kept = |name: &str| match declared.as_slice() {
            [] => BUILT_IN_KEEP.contains(&name),
            declared => declared.iter().any(|kept| kept == name),
        };
        let has = |names: &[String], name: &str| names.iter().any(|listed| listed == name);
        let mut withheld: Vec<String> = tools
            .iter()
            .map(|tool| &tool.name)
            .filter(|name| *name != TRANSPORT)
            .filter(|name| {
                has(&self.config.extra_deny, name)
                    || !(is_kept(name) || has(&self.config.keep, name))
            })
            .cloned()
            .collect();
        withheld.sort();
        withheld
    }
}

/// Warns, but not again in the same session. Where nothing can be kept it warns each time:
/// too often is better than never.
fn warn_once() {
    let has_warned = matches!(state::read(WARNED), Ok(Some(true)));
    if has_warned {
        return;
    }
    log::warn("the mode of this session is not known, so no tools are withheld from it for now");
    if let Err(error) = state::write(WARNED, &true) {
        log::warn(format!("the warning may come again: {error}"));
    }
}
