//! The table of hooks: everything plugins are asked, when, and what failure means.
//!
//! Documentation, SDK, contract and tests are checked against this table, so that a hook
//! cannot be added by halves.

use damper_wasm::Hook;

/// One hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HookEntry {
    /// The interface that it belongs to.
    pub hook: Hook,
    /// Its name: the interface and the function in `wit/`.
    pub name: &'static str,
    /// The trait of the guest SDK that a plugin implements.
    pub sdk_trait: &'static str,
    /// When it is asked.
    pub asked: &'static str,
    /// What it answers.
    pub answer: &'static str,
    /// From when on an edit of the profile counts.
    pub edit_reaches: &'static str,
    /// What it means when it traps, times out or answers nonsense.
    pub failure: &'static str,
    /// The folder in `tests/guests` of the guest that proves it.
    pub hostile_guest: &'static str,
}

/// All hooks.
pub const HOOKS: [HookEntry; 11] = [
    HookEntry {
        hook: Hook::Guard,
        name: "guard.check",
        sdk_trait: "Guard",
        asked: "before each call of a session that the row covers",
        answer: "a verdict: allow, ask or deny, with rules, reason and span",
        edit_reaches: "the next call",
        failure: "the row's on_failure: ask (default), deny or pass",
        hostile_guest: "hostile-loop",
    },
    HookEntry {
        hook: Hook::Catalogue,
        name: "catalogue.withhold",
        sdk_trait: "Catalogue",
        asked: "when the tools of a session with a mode are listed or one is called",
        answer: "the names of the tools to withhold, from all there are",
        edit_reaches: "the next call; the list by list_changed",
        failure: "its last good answer for the session; none yet: nothing is withheld, loudly, and a limited worker has only tools that change nothing",
        hostile_guest: "hostile-hooks",
    },
    HookEntry {
        hook: Hook::Preset,
        name: "preset.describe",
        sdk_trait: "Preset",
        asked: "when the row is loaded",
        answer: "the mode's name, description and place in lists",
        edit_reaches: "the next look at the modes",
        failure: "the mode is shown as CANNOT RUN",
        hostile_guest: "hostile-hooks",
    },
    HookEntry {
        hook: Hook::Preset,
        name: "preset.compose",
        sdk_trait: "Preset",
        asked: "when the row is loaded, as a trial, and when a session of the mode is opened",
        answer: "the session's tools, what a coordinator keeps, kinds of workers, sections of the prompt",
        edit_reaches: "sessions opened later",
        failure: "the mode is shown as CANNOT RUN and the session is not opened",
        hostile_guest: "hostile-hooks",
    },
    HookEntry {
        hook: Hook::Persona,
        name: "persona.sections",
        sdk_trait: "Persona",
        asked: "when a session with a mode is opened",
        answer: "sections that replace, remove or follow those of the prompt",
        edit_reaches: "sessions opened later",
        failure: "the prompt does without, and the record says so",
        hostile_guest: "hostile-hooks",
    },
    HookEntry {
        hook: Hook::Tool,
        name: "tool.definitions",
        sdk_trait: "Tool",
        asked: "when the row is loaded",
        answer: "the tools of the plugin",
        edit_reaches: "the next call and the next list; sessions with a mode keep the tools they had",
        failure: "the edit is rejected; the row's last good tools stay",
        hostile_guest: "slow-tool",
    },
    HookEntry {
        hook: Hook::Tool,
        name: "tool.run",
        sdk_trait: "Tool",
        asked: "when a call of one of its tools has been allowed",
        answer: "the tool's result",
        edit_reaches: "the next call",
        failure: "the call fails as a guest fault that names the limit or the trap",
        hostile_guest: "slow-tool",
    },
    HookEntry {
        hook: Hook::Message,
        name: "message.before-send",
        sdk_trait: "Message",
        asked: "before a message between sessions is delivered",
        answer: "deliver, or interrupt the recipient first",
        edit_reaches: "the next message",
        failure: "the message is delivered",
        hostile_guest: "hostile-hooks",
    },
    HookEntry {
        hook: Hook::Approval,
        name: "approval.route",
        sdk_trait: "Approval",
        asked: "when a verdict raises an approval",
        answer: "whom to ask: the default, the session, its root, or nobody, which denies",
        edit_reaches: "the next approval",
        failure: "the default path, which ends in deny",
        hostile_guest: "hostile-hooks",
    },
    HookEntry {
        hook: Hook::Result,
        name: "result.review",
        sdk_trait: "Review",
        asked: "when a tool has run, before the caller is told",
        answer: "keep, annotate or withhold",
        edit_reaches: "the next call",
        failure: "the answer stays as it is",
        hostile_guest: "hostile-hooks",
    },
    HookEntry {
        hook: Hook::Session,
        name: "session.opened",
        sdk_trait: "Welcome",
        asked: "when a session is opened",
        answer: "notices, and what the host should look at",
        edit_reaches: "sessions opened later",
        failure: "nothing is said",
        hostile_guest: "hostile-hooks",
    },
];
