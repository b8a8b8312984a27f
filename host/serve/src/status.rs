//! What runs, told truthfully: states apart from results, running apart from on disk.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use damper_call::{Digest, EffectClass, Ending};
use damper_dispatch::{HOOKS, InstalledRow, RowState, Running};
use damper_profile::{OnFailure, RowKind, format_size, format_time};
use damper_wasm::Hook;
use serde::{Deserialize, Serialize};

use crate::reload::ReloadReport;

/// The answer to `damper status`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Status {
    /// Damper's version.
    pub version: String,
    /// The host's process.
    pub pid: u32,
    /// When it started, in milliseconds since the Unix epoch.
    pub started_ms: u64,
    /// `DAMPER_HOME`.
    pub home: PathBuf,
    /// The control socket.
    pub socket: PathBuf,
    /// The profile's name.
    pub profile: String,
    /// Whether the first generation is complete; before, calls wait.
    pub ready: bool,
    /// The generation that the next call gets.
    pub generation: u64,
    /// The HTTP door, if it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<HttpView>,
    /// The rows, in the order of the profile.
    pub rows: Vec<RowView>,
    /// The files that the profile is made of.
    pub layers: Vec<LayerView>,
    /// What is wrong in those files, as of the last look.
    pub problems: Vec<ProblemView>,
    /// What a person should know although nothing was refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What the last edit did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_edit: Option<ReloadReport>,
    /// How edits are noticed: `events` or `polling`, with the reason.
    pub watcher: String,
    /// Whether somebody is attached to answer approvals.
    pub attended: bool,
    /// The approvals that wait.
    pub approvals_waiting: usize,
    /// The calls under way.
    pub calls_in_flight: usize,
    /// What no row can go above.
    pub ceilings: BTreeMap<String, String>,
    /// Calls that an earlier host left open, and the end they were given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recovered: Vec<RecoveredView>,
}

/// The HTTP door.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpView {
    /// Its address for MCP clients.
    pub url: String,
    /// The file of the token that they must show.
    pub token_file: PathBuf,
}

/// Whether a row runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowStateView {
    /// As written.
    Running,
    /// In its last good form.
    RunningLastGood,
    /// Not at all, although it should.
    Failed,
    /// Switched off.
    Disabled,
}

impl RowStateView {
    /// Returns the word that people see.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::RunningLastGood => "running-last-good",
            Self::Failed => "failed",
            Self::Disabled => "disabled",
        }
    }
}

/// A row.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RowView {
    /// Its id.
    pub id: String,
    /// What it brings in.
    pub brings: String,
    /// Whether it runs.
    pub state: RowStateView,
    /// Why it does not run as written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What a failed guard counts as, for a guard that does not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vote: Option<String>,
    /// The component that runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest_running: Option<Digest>,
    /// The component that the profile names now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest_on_disk: Option<Digest>,
    /// The plugin's version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The hooks it answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<String>,
    /// The tools it provides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// What it is granted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grants: Vec<String>,
    /// The limits in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<LimitsView>,
    /// What it did.
    pub counters: CountersView,
}

/// Limits in force, with their units.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitsView {
    /// Linear memory of a call.
    pub memory: String,
    /// Time in guest code.
    pub guest_time: String,
    /// Time to the answer.
    pub wall_time: String,
    /// Size of an answer.
    pub answer: String,
    /// Size of the log of a call.
    pub log: String,
    /// Calls to the host.
    pub host_calls: u64,
    /// Size of the arguments.
    pub arguments: String,
    /// Bytes that it keeps for one session.
    #[serde(default)]
    pub state: String,
}

/// What a row did since the host started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountersView {
    /// Times it was asked.
    pub calls: u64,
    /// Verdicts: allow.
    pub allow: u64,
    /// Verdicts: ask.
    pub ask: u64,
    /// Verdicts: deny.
    pub deny: u64,
    /// Time spent, in microseconds.
    pub micros: u64,
    /// The most memory that one call used, in bytes.
    pub memory_high_water: u64,
    /// Failures by kind.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failures: BTreeMap<String, u64>,
}

/// A file that the profile is made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerView {
    /// The file.
    pub file: String,
    /// Whether what it says is what runs, as of the last look.
    pub applied: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Something wrong in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProblemView {
    /// `file:line:column: what`.
    pub text: String,
    /// The row it is about, if that can be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row: Option<String>,
}

/// A call that an earlier host left open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecoveredView {
    /// The call.
    pub call: String,
    /// The end it was given.
    pub ending: Ending,
    /// What its tool may have done, if it was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<EffectClass>,
    /// What its caller is told.
    pub text: String,
}

impl From<damper_journal::Recovered> for RecoveredView {
    fn from(recovered: damper_journal::Recovered) -> Self {
        Self {
            call: recovered.call.to_string(),
            ending: recovered.ending,
            started: recovered.started,
            text: recovered.text,
        }
    }
}

impl RowView {
    pub(crate) fn of(row: &InstalledRow) -> Self {
        let (state, reason) = match &row.state {
            RowState::Running => (RowStateView::Running, None),
            RowState::LastGood(why) => (RowStateView::RunningLastGood, Some(why.clone())),
            RowState::Failed(why) => (RowStateView::Failed, Some(why.clone())),
            RowState::Disabled => (RowStateView::Disabled, None),
        };
        let vote = matches!(row.state, RowState::Failed(_)).then(|| vote(row.row.on_failure));
        let mut view = Self {
            id: row.id.to_string(),
            brings: brings(&row.row.kind),
            state,
            reason,
            vote,
            digest_running: row.digest(),
            digest_on_disk: row.on_disk,
            version: None,
            hooks: Vec::new(),
            tools: Vec::new(),
            grants: Vec::new(),
            limits: None,
            counters: CountersView::of(row),
        };
        match &row.running {
            Running::Nothing => {}
            Running::Native(tools) => {
                view.tools = tools.iter().map(|tool| tool.name().to_owned()).collect()
            }
            Running::Plugin(loaded) => view.describe(loaded),
        }
        view
    }

    fn describe(&mut self, loaded: &damper_dispatch::Loaded) {
        self.version = Some(loaded.plugin.manifest.version.clone());
        let hooks = &loaded.plugin.manifest.hooks;
        let asked = HOOKS.iter().filter(|entry| hooks.contains(&entry.hook));
        self.hooks = asked.map(|entry| entry.name.to_owned()).collect();
        self.tools = loaded.tools.iter().map(|tool| tool.name.clone()).collect();
        // A plugin that does nothing but run tools has the limits of tools.
        let guest = match (hooks.as_slice(), &loaded.tool) {
            ([Hook::Tool], Some(tool)) => tool,
            (_, _) => &loaded.hook,
        };
        self.limits = Some(LimitsView::of(&guest.limits));
        self.grants = guest.grants.lines();
    }
}

fn brings(kind: &RowKind) -> String {
    match kind {
        RowKind::Plugin(plugin) => format!("plugin {plugin}"),
        RowKind::Tools(damper_profile::Tools::Set(set)) => format!("tools {set}"),
        RowKind::Tools(damper_profile::Tools::Names(names)) => {
            format!("tools {}", names.join(", "))
        }
    }
}

fn vote(on_failure: OnFailure) -> String {
    on_failure.as_str().to_owned()
}

impl CountersView {
    fn of(row: &InstalledRow) -> Self {
        let counted = row.counters.counted();
        Self {
            calls: counted.calls,
            allow: counted.allow,
            ask: counted.ask,
            deny: counted.deny,
            micros: counted.micros,
            memory_high_water: counted.memory_high_water,
            failures: counted
                .failures
                .into_iter()
                .map(|(kind, count)| (kind.to_owned(), count))
                .collect(),
        }
    }
}

impl LimitsView {
    fn of(limits: &damper_wasm::Limits) -> Self {
        Self {
            memory: format_size(limits.memory),
            guest_time: format_time(limits.guest_time),
            wall_time: format_time(limits.wall_time),
            answer: format_size(limits.answer),
            log: format_size(limits.log),
            host_calls: limits.host_calls,
            arguments: format_size(limits.arguments),
            state: format_size(limits.state),
        }
    }
}

/// Returns the ceilings with their units.
pub(crate) fn ceilings(ceilings: &damper_wasm::Ceilings) -> BTreeMap<String, String> {
    let time = |time: Duration| format_time(time);
    BTreeMap::from([
        ("memory".to_owned(), format_size(ceilings.memory)),
        ("calls".to_owned(), ceilings.calls.to_string()),
        ("queue".to_owned(), ceilings.queue.to_string()),
        ("queue_time".to_owned(), time(ceilings.queue_time)),
    ])
}
