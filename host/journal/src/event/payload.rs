//! What each kind of event holds.

use std::path::PathBuf;

use damper_call::{
    ApprovalId, CallId, Composed, Delivery, Digest, Door, EffectClass, Ending, LocalizedText,
    RowId, SessionId, VerdictKind,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A session came in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionOpened {
    /// The way it came in.
    pub door: Door,
    /// What the calling agent says it is: unverified text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Where its commands run.
    pub cwd: PathBuf,
    /// The folders it works in.
    pub roots: Vec<PathBuf>,
    /// What it was composed of, if it is bound to a mode. Removing the mode's plugin leaves it
    /// whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub composed: Option<Composed>,
    /// What there was to say to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
}

/// A plugin withholds other tools from a session than before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolsWithheld {
    /// The plugin's row.
    pub row: RowId,
    /// The names, sorted; none means that nothing is withheld any more.
    pub tools: Vec<String>,
}

/// A hook answered and kept something.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StateKept {
    /// The plugin's row.
    pub row: RowId,
    /// The plugin's id.
    pub plugin: String,
    /// The hook that was asked.
    pub hook: String,
    /// The keys that were written or removed.
    pub keys: Vec<String>,
    /// The call it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
}

/// How a plugin wants a message delivered that is not simply delivered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MailRouted {
    /// The plugin's row.
    pub row: RowId,
    /// Who the message is for.
    pub recipient: SessionId,
    /// How it is delivered.
    pub delivery: Delivery,
}

/// What a plugin made of a tool's answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reviewed {
    /// The plugin's row.
    pub row: RowId,
    /// Whether the caller does not get the answer.
    pub withheld: bool,
    /// The note, or why it is withheld.
    pub text: String,
}

/// A call arrived.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallReceived {
    /// The call.
    pub call: CallId,
    /// The tool's name, as the caller gave it.
    pub tool: String,
    /// The arguments, with secrets already taken out.
    pub arguments: Value,
    /// Where it would run.
    pub cwd: PathBuf,
    /// The generation that judges and runs it.
    pub generation: u64,
}

/// One guard's answer to a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opinion {
    /// The guard's row.
    pub row: RowId,
    /// The plugin's id, `host` for a rule of the host itself.
    pub plugin: String,
    /// The component that answered; none for a rule of the host or a guard that did not load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// What it said, or what its `on_failure` says in its stead.
    pub verdict: VerdictKind,
    /// The rules that matched, the most specific first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What the call would do, in a few words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<String>,
    /// How long it took, in microseconds.
    pub micros: u64,
    /// Why it did not answer itself: the trap or the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// The guards have answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallDecided {
    /// The call.
    pub call: CallId,
    /// The most restrictive of the opinions.
    pub verdict: VerdictKind,
    /// Every guard's answer.
    pub opinions: Vec<Opinion>,
}

/// The call's tool is about to run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallStarted {
    /// The call.
    pub call: CallId,
    /// What running it may do.
    pub effect: EffectClass,
}

/// The call has its outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallFinished {
    /// The call.
    pub call: CallId,
    /// How it ended.
    pub ending: Ending,
    /// The answer as the tool gave it.
    pub text: String,
    /// The answer as a value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured: Option<Value>,
    /// Whether the caller was told of a failure.
    pub is_error: bool,
    /// Whether `text` is less than what the tool answered.
    #[serde(default, skip_serializing_if = "is_false")]
    pub truncated: bool,
    /// The whole answer, where it was kept beside `text`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Digest>,
    /// What plugins made of the answer before the caller got it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reviews: Vec<Reviewed>,
    /// How long the call took, in microseconds.
    pub micros: u64,
}

/// A person is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApprovalRaised {
    /// The question.
    pub approval: ApprovalId,
    /// The call it is about.
    pub call: CallId,
    /// The session on which it is asked, where a plugin says which.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<SessionId>,
    /// Why it is asked.
    pub reason: String,
    /// What the person is shown, by language.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub display: Vec<LocalizedText>,
}

/// What was answered to an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The call may run.
    Allowed,
    /// It must not.
    Denied,
}

/// The question has its answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApprovalAnswered {
    /// The question.
    pub approval: ApprovalId,
    /// The call it is about.
    pub call: CallId,
    /// The answer.
    pub answer: Answer,
    /// Who or what answered.
    pub by: String,
    /// Why, if anybody said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// The host began to serve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostStarted {
    /// Damper's version.
    pub version: String,
    /// The process.
    pub pid: u32,
    /// The profile's name.
    pub profile: String,
}

/// The host stopped serving of its own accord.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostStopped {
    /// Why.
    pub reason: String,
}

/// What an edit did to a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// Runs for the first time.
    Installed,
    /// Runs in another form than before.
    Updated,
    /// Runs no more.
    Removed,
    /// Runs as before.
    Unchanged,
    /// Could not be done; the row runs as before.
    Rejected,
}

/// What became of one row of an edit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RowResult {
    /// The row.
    pub row: RowId,
    /// What was done.
    pub change: Change,
    /// The component that runs now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// Why it was rejected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// An edit of the profile was taken, wholly or in part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProfileApplied {
    /// The generation that runs from now on.
    pub generation: u64,
    /// What became of each row.
    pub results: Vec<RowResult>,
    /// What is wrong with files and entries that belong to no row, as `file:line:column: text`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// A plugin's hook did not answer as it should.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GuestFailed {
    /// The plugin's row.
    pub row: RowId,
    /// The plugin's id.
    pub plugin: String,
    /// The component.
    pub digest: Digest,
    /// The hook that was asked.
    pub hook: String,
    /// The trap, or the limit and its value.
    pub failure: String,
    /// The SHA-256 of what the hook was asked about.
    pub input_digest: Digest,
    /// The call it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands a reference to the field"
)]
fn is_false(value: &bool) -> bool {
    !value
}
