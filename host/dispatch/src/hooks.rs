//! The table of hooks: everything plugins are asked, when, and what failure means.
//!
//! Documentation, SDK, contract and tests are checked against this table, so that a hook
//! cannot be added by halves.

/// One hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HookEntry {
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
pub const HOOKS: [HookEntry; 3] = [
    HookEntry {
        name: "guard.check",
        sdk_trait: "Guard",
        asked: "before each call of a session that the row covers",
        answer: "a verdict: allow, ask or deny, with rules, reason and span",
        edit_reaches: "the next call",
        failure: "the row's on_failure: ask (default), deny or pass",
        hostile_guest: "hostile-loop",
    },
    HookEntry {
        name: "tool.definitions",
        sdk_trait: "Tool",
        asked: "when the row is loaded",
        answer: "the tools of the plugin",
        edit_reaches: "the next call and the next list",
        failure: "the edit is rejected; the row's last good tools stay",
        hostile_guest: "slow-tool",
    },
    HookEntry {
        name: "tool.run",
        sdk_trait: "Tool",
        asked: "when a call of one of its tools has been allowed",
        answer: "the tool's result",
        edit_reaches: "the next call",
        failure: "the call fails as a guest fault that names the limit or the trap",
        hostile_guest: "slow-tool",
    },
];
