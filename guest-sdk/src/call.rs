//! The one tool call a plugin is asked about.

use serde::de::DeserializeOwned;

use crate::{EffectClass, ToolError, read_config, resource::resource};

resource! {
    /// A tool call as it arrived, immutable, the same for each guard.
    Call, made from CallFacts {
        /// The call's id, unique for ever; `damper explain` takes it.
        id: String,
        /// The tool's name as the session knows it, for instance `bash`.
        tool: String,
        /// Where the tool comes from.
        source: ToolSource,
        /// The arguments: the text of one JSON object, at most 1 MiB.
        arguments: String,
        /// The command line the call would execute, for tools that execute one.
        command: Option<Command>,
        /// The paths the call names in arguments that the tool declares to be paths.
        paths: Vec<String>,
        /// The workspace roots of the session. May be empty.
        roots: Vec<String>,
        /// The working directory of the call.
        cwd: String,
        /// The home directory of the user, if there is one.
        home: Option<String>,
        /// The folders for temporary files.
        temp_roots: Vec<String>,
        /// The operating system: `linux`, `macos` or `windows`.
        platform: String,
        /// The id of the session.
        session: String,
        /// The id of the session's root, equal to `session` for a root.
        root_session: String,
        /// The mode the session is bound to.
        mode: ModeBinding,
        /// The role of the session: `external`, `coordinator`, `worker` or `solo`.
        role: String,
        /// The kind of worker, for workers.
        kind: Option<String>,
        /// How far below its root the session is; 0 for a root.
        depth: u32,
        /// The way the call came in: `mcp`, `hook`, `cli` and others to come.
        door: String,
        /// What the calling agent says it is. Unverified text.
        agent: Option<String>,
        /// The session's own approval policy.
        policy: ApprovalPolicy,
        /// The approval policy of the session's root.
        root_policy: ApprovalPolicy,
        /// The permission preset of the session, if it has one.
        preset: Option<String>,
        /// What running the tool may do.
        effect: EffectClass,
    }
}

/// A command line that the call would execute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The whole text, exactly as the caller wrote it.
    pub text: String,
    /// The language of the text.
    pub dialect: Dialect,
}

/// The language a command text is written in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dialect {
    /// bash, sh, zsh and other POSIX shells.
    Bash,
    /// PowerShell, Windows' or the portable one.
    Powershell,
    /// The Windows command interpreter.
    Cmd,
    /// A dialect this version of the contract does not name.
    Other(String),
}

/// Where the called tool comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolSource {
    /// A tool of the host itself.
    Native,
    /// A tool that the plugin of this profile row provides.
    Plugin(String),
    /// A tool of the upstream server of this profile row.
    Upstream(String),
    /// A tool of the agent itself, which the host judges and does not run.
    Agent,
}

/// The mode a session is bound to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModeBinding {
    /// The session has no mode, as sessions of other people's agents.
    None,
    /// The session is bound to the mode with this id.
    Bound(String),
    /// The host cannot tell, for instance while a session is being restored.
    Unknown,
}

/// What happens to a call that a guard wants asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalPolicy {
    /// A person is asked.
    Ask,
    /// Nobody is asked; the gate's row decides what that means.
    Never,
}

impl Call<'_> {
    /// Reads the arguments, for a tool that is run.
    ///
    /// # Errors
    ///
    /// `InvalidArguments`, with the place and what would be right.
    pub fn read_arguments<T: DeserializeOwned>(&self) -> Result<T, ToolError> {
        read_config(&self.arguments()).map_err(|error| {
            ToolError::InvalidArguments(match &*error.pointer {
                "" => error.message,
                pointer => format!("{pointer}: {}", error.message),
            })
        })
    }
}

/// Calls for native tests.
#[cfg(not(target_arch = "wasm32"))]
impl Call<'static> {
    /// Returns a call of a native tool by an external agent, in `/workspace`.
    pub fn new(tool: &str) -> Self {
        CallFacts {
            tool: tool.to_owned(),
            ..CallFacts::default()
        }
        .into()
    }

    /// Makes the call execute a command line, in bash.
    #[must_use]
    pub fn with_command(self, text: &str) -> Self {
        self.with_command_in(text, Dialect::Bash)
    }

    /// Makes the call execute a command line.
    #[must_use]
    pub fn with_command_in(self, text: &str, dialect: Dialect) -> Self {
        let command = Command {
            text: text.to_owned(),
            dialect,
        };
        self.with(|facts| {
            facts.arguments = serde_json::json!({ "command": command.text }).to_string();
            facts.command = Some(command);
        })
    }

    /// Gives the call its arguments.
    #[must_use]
    pub fn with_arguments(self, arguments: &serde_json::Value) -> Self {
        self.with(|facts| facts.arguments = arguments.to_string())
    }

    /// Makes it a call of this session, with what a call knows of one.
    #[must_use]
    pub fn of_session(self, session: &crate::Session) -> Self {
        self.with(|facts| {
            facts.session = session.id();
            facts.root_session = session.root();
            facts.roots = session.roots();
            facts.cwd = session.cwd();
            facts.home = session.home();
            facts.temp_roots = session.temp_roots();
            facts.platform = session.platform();
            facts.mode = session.mode();
            facts.role = session.role();
            facts.kind = session.kind();
            facts.depth = session.depth();
            facts.door = session.door();
            facts.agent = session.agent();
            facts.policy = session.policy();
            facts.root_policy = session.root_policy();
            facts.preset = session.preset();
        })
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl Default for CallFacts {
    fn default() -> Self {
        Self {
            id: "call-1".to_owned(),
            tool: "bash".to_owned(),
            source: ToolSource::Native,
            arguments: "{}".to_owned(),
            command: None,
            paths: Vec::new(),
            roots: vec!["/workspace".to_owned()],
            cwd: "/workspace".to_owned(),
            home: Some("/home/user".to_owned()),
            temp_roots: vec!["/tmp".to_owned()],
            platform: "linux".to_owned(),
            session: "session-1".to_owned(),
            root_session: "session-1".to_owned(),
            mode: ModeBinding::None,
            role: "external".to_owned(),
            kind: None,
            depth: 0,
            door: "mcp".to_owned(),
            agent: None,
            policy: ApprovalPolicy::Ask,
            root_policy: ApprovalPolicy::Ask,
            preset: None,
            effect: EffectClass::Once,
        }
    }
}
