//! A generation: one complete, checked set of rows. Calls in flight keep theirs alive.

use std::{collections::BTreeMap, sync::Arc};

use damper_call::{Digest, RowId, Session, ToolDefinition, ToolSource};
use damper_profile::{Coverage, OnFailure, Row};
use damper_tools::NativeTool;
use damper_wasm::{Guest, Hook, Plugin};

use crate::{LoadedMode, arguments::ArgumentCheck, counters::RowCounters};

/// One complete, checked set of rows.
#[derive(Debug)]
pub struct Generation {
    /// Counts up with each edit that changed something.
    pub number: u64,
    /// The rows, in the order of the profile.
    pub rows: Vec<Arc<InstalledRow>>,
    /// The command to run when an approval is raised; empty for none.
    pub notify: Vec<String>,
    /// What a person should know although nothing was refused.
    pub notes: Vec<String>,
    pub(crate) tools: BTreeMap<String, ToolEntry>,
}

/// A row of a generation: what it should do, and what really runs.
#[derive(Debug)]
pub struct InstalledRow {
    /// The row's id.
    pub id: RowId,
    /// The row as it runs. Where the state is last-good, not the row as it is written.
    pub row: Row,
    /// Whether it runs.
    pub state: RowState,
    /// What runs.
    pub running: Running,
    /// The digest of the component that the profile names now, if it can be read.
    pub on_disk: Option<Digest>,
    /// The hooks in the manifest of that component, if the row failed and it can be read.
    pub declared: Option<Vec<Hook>>,
    /// What it did so far.
    pub counters: Arc<RowCounters>,
}

/// Whether a row runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowState {
    /// As written.
    Running,
    /// In its last good form, because what is written was refused.
    LastGood(String),
    /// Not at all. A guard's failure counts as a vote.
    Failed(String),
    /// Switched off.
    Disabled,
}

/// What a row runs.
#[derive(Debug, Clone)]
pub enum Running {
    /// Nothing: it is switched off or failed.
    Nothing,
    /// Native tools.
    Native(Vec<NativeTool>),
    /// A plugin.
    Plugin(Arc<Loaded>),
}

/// A plugin with all its hooks ready to be asked.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The plugin.
    pub plugin: Arc<Plugin>,
    /// How it is asked every hook but to run a tool.
    pub hook: Arc<Guest>,
    /// How it is asked to run a tool, which may take longer; none if it provides none.
    pub tool: Option<Arc<Guest>>,
    /// The tools it provides.
    pub tools: Vec<Arc<ToolDefinition>>,
    /// The mode it declares, if it is a preset.
    pub mode: Option<LoadedMode>,
}

/// One tool of a generation.
#[derive(Debug, Clone)]
pub(crate) struct ToolEntry {
    pub(crate) definition: Arc<ToolDefinition>,
    pub(crate) check: Arc<ArgumentCheck>,
    pub(crate) row: Arc<InstalledRow>,
}

/// How a guard row takes part in a decision.
#[derive(Debug, Clone)]
pub(crate) enum GuardVote {
    /// Its plugin is asked.
    Ask(Arc<Loaded>),
    /// It does not run although it should; this is why.
    Failed(String),
}

impl Generation {
    /// Returns the generation before the first: nothing runs, every tool is unknown.
    pub fn empty() -> Self {
        Self {
            number: 0,
            rows: Vec::new(),
            notify: Vec::new(),
            notes: Vec::new(),
            tools: BTreeMap::new(),
        }
    }

    /// Makes a generation of rows. Where two rows provide a tool of one name, the earlier row
    /// keeps it.
    pub(crate) fn new(
        number: u64,
        rows: Vec<Arc<InstalledRow>>,
        notify: Vec<String>,
        checks: &dyn Fn(&ToolDefinition) -> Arc<ArgumentCheck>,
    ) -> Self {
        let mut tools = BTreeMap::new();
        let mut notes = Vec::new();
        for row in &rows {
            for definition in row.definitions() {
                let name = definition.name.clone();
                if tools.contains_key(&name) {
                    notes.push(format!(
                        "row `{}`: the tool `{name}` exists already and is left out",
                        row.id
                    ));
                    continue;
                }
                let check = checks(&definition);
                tools.insert(
                    name,
                    ToolEntry {
                        definition,
                        check,
                        row: Arc::clone(row),
                    },
                );
            }
        }
        let mut generation = Self {
            number,
            rows,
            notify,
            notes,
            tools,
        };
        let for_no_mode = generation.rows_for_no_mode();
        generation.notes.extend(for_no_mode);
        generation
    }

    /// Returns the row with this id.
    pub fn row(&self, id: &RowId) -> Option<&Arc<InstalledRow>> {
        self.rows.iter().find(|row| row.id == *id)
    }

    /// Returns the rows whose plugin is asked a hook for a session, in the order of the profile.
    pub(crate) fn asked(&self, hook: Hook, session: &Session) -> Vec<Arc<InstalledRow>> {
        self.rows
            .iter()
            .filter(|row| covers(&row.row.covers, session) && row.plugin(hook).is_some())
            .cloned()
            .collect()
    }

    /// Returns the guard rows that cover a session, in the order of the profile.
    pub(crate) fn guards(&self, session: &Session) -> Vec<(Arc<InstalledRow>, GuardVote)> {
        self.rows
            .iter()
            .filter(|row| covers(&row.row.covers, session))
            .filter_map(|row| Some((Arc::clone(row), row.guard_vote()?)))
            .collect()
    }
}

impl InstalledRow {
    /// Returns what this row says to a failure of its guard.
    pub(crate) const fn on_failure(&self) -> OnFailure {
        self.row.on_failure
    }

    fn definitions(&self) -> Vec<Arc<ToolDefinition>> {
        match &self.running {
            Running::Nothing => Vec::new(),
            Running::Native(tools) => tools
                .iter()
                .map(|tool| Arc::new(tool.definition()))
                .collect(),
            Running::Plugin(loaded) => loaded.tools.clone(),
        }
    }

    /// Returns the row's plugin if it runs and has a hook.
    pub(crate) fn plugin(&self, hook: Hook) -> Option<&Loaded> {
        match &self.running {
            Running::Plugin(loaded) if loaded.plugin.manifest.hooks.contains(&hook) => {
                Some(loaded.as_ref())
            }
            Running::Plugin(_) | Running::Native(_) | Running::Nothing => None,
        }
    }

    /// Returns whether the component that the row names says that it has a hook.
    pub(crate) fn declares(&self, hook: Hook) -> bool {
        let declared = self.declared.as_ref();
        declared.is_some_and(|declared| declared.contains(&hook))
    }

    /// Returns how the row votes; `None` if it is no guard or switched off.
    ///
    /// A row that failed before it could tell what it is counts as a guard: better a needless
    /// question than a guard that silently vanished.
    fn guard_vote(&self) -> Option<GuardVote> {
        match (&self.running, &self.state) {
            (Running::Plugin(loaded), _) => {
                let is_guard = self.plugin(Hook::Guard).is_some();
                is_guard.then(|| GuardVote::Ask(Arc::clone(loaded)))
            }
            (Running::Nothing, RowState::Failed(_))
                if self.declared.is_some() && !self.declares(Hook::Guard) =>
            {
                None
            }
            (Running::Native(_), _) | (Running::Nothing, RowState::Disabled) => None,
            (Running::Nothing, RowState::Failed(why) | RowState::LastGood(why)) => {
                Some(GuardVote::Failed(why.clone()))
            }
            (Running::Nothing, RowState::Running) => None,
        }
    }
}

impl ToolEntry {
    /// Returns the native tool behind the entry, if it is one.
    pub(crate) fn native(&self) -> Option<NativeTool> {
        match self.definition.source {
            ToolSource::Native => NativeTool::by_name(&self.definition.name),
            ToolSource::Plugin(_) => None,
        }
    }
}

/// Returns whether a row's `for` covers a session: each list that is not empty must name it.
pub(crate) fn covers(coverage: &Coverage, session: &Session) -> bool {
    let mode = match &session.mode {
        damper_call::ModeBinding::Bound(mode) => Some(mode.as_str()),
        damper_call::ModeBinding::None => None,
        // A guard for some modes must not be lost because the mode cannot be told.
        damper_call::ModeBinding::Unknown => return covers_door(coverage, session),
    };
    let named = |list: &[String], value: Option<&str>| {
        list.is_empty() || value.is_some_and(|value| list.iter().any(|entry| entry == value))
    };
    named(&coverage.mode, mode)
        && named(&coverage.kind, session.kind.as_deref())
        && covers_door(coverage, session)
}

fn covers_door(coverage: &Coverage, session: &Session) -> bool {
    coverage.door.is_empty() || coverage.door.contains(&session.door)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use damper_call::{Door, ModeBinding, SessionId};

    use super::*;

    #[test]
    fn each_list_that_is_not_empty_must_name_the_session() {
        let mut session =
            Session::external(SessionId::unique(), Door::Mcp, None, PathBuf::from("/w"));
        let mode = |mode: &str| ModeBinding::Bound(mode.to_owned());
        let none = || ModeBinding::None;
        let unknown = || ModeBinding::Unknown;
        type Row = (
            ModeBinding,
            Option<&'static str>,
            &'static [&'static str],
            &'static [&'static str],
            &'static [Door],
            bool,
        );
        let table: [Row; 13] = [
            (none(), None, &[], &[], &[], true),
            (none(), None, &["plan"], &[], &[], false),
            (mode("plan"), None, &["plan"], &[], &[], true),
            (mode("solo"), None, &["plan"], &[], &[], false),
            (mode("solo"), None, &["plan", "solo"], &[], &[], true),
            (unknown(), None, &["plan"], &[], &[], true),
            (unknown(), None, &["plan"], &[], &[Door::Cli], false),
            (none(), Some("subagent"), &[], &["subagent"], &[], true),
            (none(), Some("subagent"), &[], &["minimal"], &[], false),
            (none(), None, &[], &["minimal"], &[], false),
            (none(), None, &[], &[], &[Door::Mcp], true),
            (none(), None, &[], &[], &[Door::Cli], false),
            (
                mode("plan"),
                Some("a"),
                &["plan"],
                &["b"],
                &[Door::Mcp],
                false,
            ),
        ];
        for (bound, kind, modes, kinds, doors, expected) in table {
            session.mode = bound;
            session.kind = kind.map(str::to_owned);
            let text = |list: &[&str]| list.iter().map(|entry| (*entry).to_owned()).collect();
            let coverage = Coverage {
                mode: text(modes),
                kind: text(kinds),
                door: doors.to_vec(),
            };
            assert_eq!(
                covers(&coverage, &session),
                expected,
                "{:?} {coverage:?}",
                session.mode
            );
        }
    }
}
