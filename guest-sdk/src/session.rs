//! The conversation a plugin is asked about.

use crate::{ApprovalPolicy, ModeBinding, resource::resource};

resource! {
    /// One conversation.
    Session, made from SessionFacts {
        /// The session's id, unique for ever.
        id: String,
        /// The id of the root of its tree; its own id for a root.
        root: String,
        /// The id of the session that opened it, for workers.
        parent: Option<String>,
        /// The mode it is bound to now.
        mode: ModeBinding,
        /// The mode it was recorded with when it was opened. Counts only while the live
        /// binding is unknown.
        recorded_mode: Option<String>,
        /// Its role: `external`, `coordinator`, `worker` or `solo`.
        role: String,
        /// The kind of worker, for workers.
        kind: Option<String>,
        /// How far below its root it is; 0 for a root.
        depth: u32,
        /// The way it came in: `mcp`, `hook`, `cli` and others to come.
        door: String,
        /// What the agent says it is. Unverified text.
        agent: Option<String>,
        /// Its own approval policy.
        policy: ApprovalPolicy,
        /// The approval policy of its root.
        root_policy: ApprovalPolicy,
        /// Its permission preset, if it has one.
        preset: Option<String>,
        /// Its workspace roots. May be empty.
        roots: Vec<String>,
        /// Its working directory.
        cwd: String,
        /// The home directory of the user, if there is one.
        home: Option<String>,
        /// The folders for temporary files.
        temp_roots: Vec<String>,
        /// The operating system: `linux`, `macos` or `windows`.
        platform: String,
        /// The tools that its mode keeps for a coordinator. Empty if the mode names none.
        keep: Vec<String>,
    }
}

impl Session<'_> {
    /// Returns the id of the mode it is in: the one it is bound to, and while that is
    /// unknown the one it was recorded with.
    pub fn mode_id(&self) -> Option<String> {
        match self.mode() {
            ModeBinding::Bound(id) => Some(id),
            ModeBinding::None => None,
            ModeBinding::Unknown => self.recorded_mode(),
        }
    }

    /// Returns whether it is the root of its tree.
    pub fn is_root(&self) -> bool {
        self.depth() == 0
    }
}

/// Sessions for native tests.
#[cfg(not(target_arch = "wasm32"))]
impl Session<'static> {
    /// Returns the session `session-1` of an external agent, a root in `/workspace`
    /// without a mode.
    #[expect(
        clippy::new_without_default,
        reason = "there is no default session, only one that is easy to start from"
    )]
    pub fn new() -> Self {
        SessionFacts::default().into()
    }

    /// Gives it another id, and as long as it is a root also another root.
    #[must_use]
    pub fn called(self, id: &str) -> Self {
        self.with(|facts| {
            id.clone_into(&mut facts.id);
            if facts.depth == 0 {
                id.clone_into(&mut facts.root);
            }
        })
    }

    /// Binds it to a mode, which it is recorded with too. An external session becomes
    /// `solo`.
    #[must_use]
    pub fn bound_to(self, mode: &str) -> Self {
        self.with(|facts| {
            facts.mode = ModeBinding::Bound(mode.to_owned());
            facts.recorded_mode = Some(mode.to_owned());
            if facts.role == "external" {
                "solo".clone_into(&mut facts.role);
            }
        })
    }

    /// Makes it a coordinator, whose mode keeps these tools for it.
    #[must_use]
    pub fn coordinator<T: Into<String>>(self, keep: impl IntoIterator<Item = T>) -> Self {
        self.with(|facts| {
            "coordinator".clone_into(&mut facts.role);
            facts.keep = keep.into_iter().map(Into::into).collect();
        })
    }

    /// Makes it a worker of this kind, which the session it was has opened.
    #[must_use]
    pub fn worker(self, kind: &str) -> Self {
        self.with(|facts| {
            let parent = std::mem::take(&mut facts.id);
            facts.id = format!("{parent}-{kind}");
            facts.parent = Some(parent);
            facts.depth += 1;
            "worker".clone_into(&mut facts.role);
            facts.kind = Some(kind.to_owned());
            facts.keep = Vec::new();
        })
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl Default for SessionFacts {
    fn default() -> Self {
        Self {
            id: "session-1".to_owned(),
            root: "session-1".to_owned(),
            parent: None,
            mode: ModeBinding::None,
            recorded_mode: None,
            role: "external".to_owned(),
            kind: None,
            depth: 0,
            door: "mcp".to_owned(),
            agent: None,
            policy: ApprovalPolicy::Ask,
            root_policy: ApprovalPolicy::Ask,
            preset: None,
            roots: vec!["/workspace".to_owned()],
            cwd: "/workspace".to_owned(),
            home: Some("/home/user".to_owned()),
            temp_roots: vec!["/tmp".to_owned()],
            platform: "linux".to_owned(),
            keep: Vec::new(),
        }
    }
}
