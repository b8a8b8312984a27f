//! The one tool call a plugin is asked about.
//!
//! Inside a component each fact is fetched from the host when it is asked for. In a
//! native test the call is made from [`Facts`]; plugins cannot tell the difference.

use std::{collections::BTreeMap, marker::PhantomData};

use serde_json::Value;

use crate::{EffectClass, FileError, Metadata};

/// A tool call as it arrived, immutable, the same for each guard.
#[derive(Debug)]
pub struct Call<'host> {
    from: From<'host>,
}

#[derive(Debug)]
enum From<'host> {
    #[cfg(target_arch = "wasm32")]
    Host(&'host crate::glue::types::Call),
    Made(Box<Facts>, PhantomData<&'host ()>),
}

/// The facts of a call that a test makes. Field names are those of the accessors.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "each is described at the accessor of its name")]
pub struct Facts {
    pub id: String,
    pub tool: String,
    pub source: ToolSource,
    pub arguments: String,
    pub command: Option<Command>,
    pub paths: Vec<String>,
    pub roots: Vec<String>,
    pub cwd: String,
    pub home: Option<String>,
    pub temp_roots: Vec<String>,
    pub platform: String,
    pub session: String,
    pub root_session: String,
    pub mode: ModeBinding,
    pub role: String,
    pub kind: Option<String>,
    pub depth: u32,
    pub door: String,
    pub agent: Option<String>,
    pub policy: ApprovalPolicy,
    pub root_policy: ApprovalPolicy,
    pub preset: Option<String>,
    pub effect: EffectClass,
    /// What [`Call::stat`] answers, by absolute path. Nothing is at any other path.
    pub files: BTreeMap<String, Result<Metadata, FileError>>,
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

macro_rules! accessors {
    ($($(#[doc = $doc:literal])* $name:ident -> $type:ty;)*) => {
        impl Call<'_> {
            $(
                $(#[doc = $doc])*
                pub fn $name(&self) -> $type {
                    match &self.from {
                        #[cfg(target_arch = "wasm32")]
                        From::Host(call) => call.$name().into(),
                        From::Made(facts, _) => facts.$name.clone(),
                    }
                }
            )*
        }
    };
}

accessors! {
    /// The call's id, unique for ever; `damper explain` takes it.
    id -> String;
    /// The tool's name as the session knows it, for instance `bash`.
    tool -> String;
    /// Where the tool comes from.
    source -> ToolSource;
    /// The arguments: the text of one JSON object, at most 1 MiB.
    arguments -> String;
    /// The paths the call names in arguments that the tool declares to be paths.
    paths -> Vec<String>;
    /// The workspace roots of the session. May be empty.
    roots -> Vec<String>;
    /// The working directory of the call.
    cwd -> String;
    /// The home directory of the user, if there is one.
    home -> Option<String>;
    /// The folders for temporary files.
    temp_roots -> Vec<String>;
    /// The operating system: `linux`, `macos` or `windows`.
    platform -> String;
    /// The id of the session.
    session -> String;
    /// The id of the session's root, equal to `session` for a root.
    root_session -> String;
    /// The mode the session is bound to.
    mode -> ModeBinding;
    /// The role of the session: `external`, `coordinator`, `worker` or `solo`.
    role -> String;
    /// The kind of worker, for workers.
    kind -> Option<String>;
    /// How far below its root the session is; 0 for a root.
    depth -> u32;
    /// The way the call came in: `mcp`, `hook`, `cli` and others to come.
    door -> String;
    /// What the calling agent says it is. Unverified text.
    agent -> Option<String>;
    /// The session's own approval policy.
    policy -> ApprovalPolicy;
    /// The approval policy of the session's root.
    root_policy -> ApprovalPolicy;
    /// The permission preset of the session, if it has one.
    preset -> Option<String>;
    /// What running the tool may do.
    effect -> EffectClass;
}

impl Call<'_> {
    /// The command line the call would execute, for tools that execute one.
    pub fn command(&self) -> Option<Command> {
        match &self.from {
            #[cfg(target_arch = "wasm32")]
            From::Host(call) => call.command().map(Into::into),
            From::Made(facts, _) => facts.command.clone(),
        }
    }

    /// Returns what a path leads to, relative paths taken from the call's cwd.
    ///
    /// Needs the grant `files.metadata`. Symbolic links are followed; where they lead
    /// must be covered too.
    ///
    /// # Errors
    ///
    /// Why nothing is known of the path.
    pub fn stat(&self, path: &str) -> Result<Metadata, FileError> {
        match &self.from {
            #[cfg(target_arch = "wasm32")]
            From::Host(_) => crate::glue::stat(path),
            From::Made(facts, _) => facts.stat(path),
        }
    }
}

#[cfg(target_arch = "wasm32")]
impl<'host> Call<'host> {
    pub(crate) const fn of_host(call: &'host crate::glue::types::Call) -> Self {
        Self {
            from: From::Host(call),
        }
    }
}

/// Calls for tests.
impl Call<'static> {
    /// Returns a call of a native tool by an external agent, in `/workspace`.
    pub fn new(tool: &str) -> Self {
        Facts {
            tool: tool.to_owned(),
            ..Facts::default()
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
    pub fn with_arguments(self, arguments: &Value) -> Self {
        self.with(|facts| facts.arguments = arguments.to_string())
    }

    /// Puts something at an absolute path.
    #[must_use]
    pub fn with_file(self, path: &str, answer: Result<Metadata, FileError>) -> Self {
        self.with(|facts| {
            facts.files.insert(path.to_owned(), answer);
        })
    }

    /// Changes the facts of the call.
    #[must_use]
    pub fn with(self, change: impl FnOnce(&mut Facts)) -> Self {
        match self.from {
            #[cfg(target_arch = "wasm32")]
            From::Host(_) => self,
            From::Made(mut facts, _) => {
                change(&mut facts);
                (*facts).into()
            }
        }
    }
}

impl std::convert::From<Facts> for Call<'static> {
    fn from(facts: Facts) -> Self {
        Self {
            from: From::Made(Box::new(facts), PhantomData),
        }
    }
}

impl Facts {
    fn stat(&self, path: &str) -> Result<Metadata, FileError> {
        let absolute = if path.starts_with('/') {
            path.to_owned()
        } else {
            format!("{}/{path}", self.cwd)
        };
        self.files
            .get(&absolute)
            .cloned()
            .unwrap_or(Err(FileError::NotFound))
    }
}

impl Default for Facts {
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
            files: BTreeMap::new(),
        }
    }
}
