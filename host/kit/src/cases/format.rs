//! The format of cases: one JSON object a line. `docs/testing-plugins.md` tells it with examples.

use std::{collections::BTreeMap, path::PathBuf};

use damper_call::{
    ApprovalPolicy, Dialect, Door, EffectClass, Ending, Role, ToolFilter, VerdictKind,
};
use damper_wasm::{Grants, Hook};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One case: what is asked, what is around, and what is expected.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    /// What it shows.
    pub(super) name: String,
    /// The hook that is asked; not needed where the plugin has only one.
    pub(super) hook: Option<Hook>,
    /// The `config` of the row.
    #[serde(default)]
    pub(super) config: Map<String, Value>,
    /// What the row grants; all that the manifest asks for if it is not there.
    pub(super) grants: Option<Grants>,
    /// The files of the workspace, by relative path.
    #[serde(default)]
    pub(super) files: BTreeMap<String, String>,
    /// What the plugin kept before, by key, as JSON.
    #[serde(default)]
    pub(super) state: BTreeMap<String, Value>,
    /// The modes there are, by id, for the grant `roster`.
    #[serde(default)]
    pub(super) modes: Vec<String>,
    /// Further live sessions, for the grant `sessions`.
    #[serde(default)]
    pub(super) tree: Vec<Session>,
    /// The session, for every hook but `message`.
    #[serde(default)]
    pub(super) session: Session,
    /// The call, for the hooks `guard`, `tool`, `result` and `approval`.
    pub(super) call: Option<Call>,
    /// What the tool answered, for the hook `result`.
    pub(super) answer: Option<Answered>,
    /// The question that would be put, for the hook `approval`.
    #[serde(default)]
    pub(super) question: Question,
    /// The tools there are, for the hook `catalogue`; those of the host if it is not there.
    pub(super) tools: Option<Vec<ListedTool>>,
    /// The message, for the hook `message`.
    pub(super) mail: Option<Message>,
    /// What is expected.
    pub(super) expect: Expect,
}

/// The facts of a session.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Session {
    /// Its id; `session` if it is not there.
    pub(super) id: Option<String>,
    /// The id of the root of its tree; its own if it is not there.
    pub(super) root: Option<String>,
    /// The id of the session that opened it.
    pub(super) parent: Option<String>,
    /// The mode it is bound to.
    pub(super) mode: Option<String>,
    /// Whether the host cannot tell the mode.
    #[serde(default)]
    pub(super) mode_is_unknown: bool,
    /// The mode it was recorded with.
    pub(super) recorded_mode: Option<String>,
    /// Its role; `external` without a mode and `solo` with one if it is not there.
    pub(super) role: Option<Role>,
    /// The kind of worker.
    pub(super) kind: Option<String>,
    /// How far below its root it is.
    #[serde(default)]
    pub(super) depth: u32,
    /// The way it came in; `mcp` if it is not there.
    pub(super) door: Option<Door>,
    /// What the agent says it is.
    pub(super) agent: Option<String>,
    /// Its approval policy; `ask` if it is not there.
    pub(super) policy: Option<ApprovalPolicy>,
    /// That of its root; its own if it is not there.
    pub(super) root_policy: Option<ApprovalPolicy>,
    /// Its permission preset.
    pub(super) preset: Option<String>,
    /// Its workspace roots; the scratch workspace if they are not there.
    pub(super) roots: Option<Vec<PathBuf>>,
    /// Its working directory; the scratch workspace if it is not there.
    pub(super) cwd: Option<PathBuf>,
    /// The tools that its mode keeps for a coordinator.
    #[serde(default)]
    pub(super) keep: Vec<String>,
}

/// The facts of a call.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Call {
    /// The tool's name.
    pub(super) tool: String,
    /// Its id; `call` if it is not there.
    pub(super) id: Option<String>,
    /// The arguments.
    #[serde(default)]
    pub(super) arguments: Map<String, Value>,
    /// The command line; that of the arguments for tools of the host if it is not there.
    pub(super) command: Option<String>,
    /// The language of the command line; `bash` if it is not there.
    pub(super) dialect: Option<Dialect>,
    /// The paths that it names; those of the arguments for tools that declare them if they are
    /// not there.
    pub(super) paths: Option<Vec<String>>,
    /// Where it runs; where its session works if it is not there.
    pub(super) cwd: Option<PathBuf>,
    /// What running the tool may do; what the tool says, else `once`, if it is not there.
    pub(super) effect: Option<EffectClass>,
    /// The row of the plugin that provides the tool; the host itself if it is not there.
    pub(super) plugin: Option<String>,
    /// When it arrived, in milliseconds since the Unix epoch.
    #[serde(default)]
    pub(super) started_ms: u64,
}

/// What a tool answered.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Answered {
    /// The text.
    #[serde(default)]
    pub(super) text: String,
    /// The value for programs.
    pub(super) structured: Option<Value>,
    /// Whether the tool says that it failed.
    #[serde(default)]
    pub(super) is_error: bool,
    /// How the call ended; `completed` if it is not there.
    pub(super) ending: Option<Ending>,
    /// The time it took, in microseconds.
    #[serde(default)]
    pub(super) micros: u64,
}

/// The question to a person.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Question {
    /// Its id; `question` if it is not there.
    pub(super) id: Option<String>,
    /// The rules that matched.
    #[serde(default)]
    pub(super) rules: Vec<String>,
    /// Why it is asked.
    #[serde(default)]
    pub(super) reason: String,
    /// Whether somebody is attached who could answer.
    #[serde(default)]
    pub(super) attended: bool,
}

/// A tool that a session could have.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListedTool {
    /// Its name.
    pub(super) name: String,
    /// What running it may do; `once` if it is not there.
    pub(super) effect: Option<EffectClass>,
    /// The row of the plugin that provides it; the host itself if it is not there.
    pub(super) plugin: Option<String>,
}

/// A message between sessions.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Message {
    /// The text.
    pub(super) text: String,
    /// Who sends it; its id is `sender` if it has none.
    #[serde(default)]
    pub(super) sender: Session,
    /// Who it is for; its id is `recipient` if it has none.
    #[serde(default)]
    pub(super) recipient: Session,
    /// Whether the recipient is in the middle of a turn.
    #[serde(default)]
    pub(super) recipient_is_busy: bool,
}

/// What is expected. What is not named may be anything; texts are parts of the text that comes.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Expect {
    /// Guard: the verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) verdict: Option<VerdictKind>,
    /// Guard: all rules that matched, in order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) rules: Option<Vec<String>>,
    /// Guard: a part of the reason. Approval: a part of why nobody is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
    /// Guard: what the call would do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) effect: Option<String>,
    /// Guard: the text that its span covers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) span: Option<String>,
    /// Tool: a part of the answer. Result: a part of the note, or of the reason for withholding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<String>,
    /// Tool: the whole value for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) structured: Option<Value>,
    /// Tool: a part of its own word that it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
    /// Catalogue: all names that are withheld.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) withheld: Option<std::collections::BTreeSet<String>>,
    /// Preset: the role, `coordinator` or `solo`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) role: Option<Role>,
    /// Preset: the tools, `"all"`, `{"only": […]}` or `{"all-but": […]}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tools: Option<ToolFilter>,
    /// Preset: the tools that a coordinator keeps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) keep: Option<Vec<String>>,
    /// Preset: the names of the kinds of workers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) kinds: Option<Vec<String>>,
    /// Preset: a part of why the mode cannot run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cannot_run: Option<String>,
    /// Preset and persona: a part of each section's text by id; null where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sections: Option<BTreeMap<String, Option<String>>>,
    /// Message: `deliver` or `interrupt-first`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) delivery: Option<damper_call::Delivery>,
    /// Approval: `default-path`, `own-session`, `root-session` or `nobody`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) route: Option<String>,
    /// Result: `keep`, `annotate` or `withhold`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) disposition: Option<String>,
    /// Session: a part of each notice, in order; there are as many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) notices: Option<Vec<String>>,
    /// Session: the preflights, `writable FOLDER` or `program NAME`, in order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) preflights: Option<Vec<String>>,
    /// Any: all that the plugin has kept afterwards, by key, as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) state: Option<BTreeMap<String, Value>>,
    /// Any: a part of what it writes to its log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) log: Option<String>,
    /// Any: how it fails: `limit`, `trap`, `exit`, `nonsense` or `settings`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) failure: Option<String>,
}

/// Returns what can be expected of a hook's answer, besides `state`, `log` and `failure`.
pub(super) const fn keys_of(hook: Hook) -> &'static [&'static str] {
    match hook {
        Hook::Guard => &["verdict", "rules", "reason", "effect", "span"],
        Hook::Catalogue => &["withheld"],
        Hook::Preset => &["role", "tools", "keep", "kinds", "cannot_run", "sections"],
        Hook::Persona => &["sections"],
        Hook::Tool => &["text", "structured", "error"],
        Hook::Message => &["delivery"],
        Hook::Approval => &["route", "reason"],
        Hook::Result => &["disposition", "text"],
        Hook::Session => &["notices", "preflights"],
    }
}
