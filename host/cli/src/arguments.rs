//! The argument line. What each command does is told here, where `--help` takes it from.

mod plugin;

use std::{net::SocketAddr, path::PathBuf};

use clap::{Args, Parser, Subcommand};

pub(crate) use self::plugin::{
    BindingsCommand, BuildArguments, CheckArguments, DevArguments, InspectArguments, KindArgument,
    ListArguments, NewArguments, PluginCommand, TestArguments,
};

/// Sandboxed plugins between coding agents and your machine.
#[derive(Debug, Parser)]
#[command(name = "damper", version, propagate_version = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the host in the foreground
    ///
    /// There is one host per DAMPER_HOME. Exit code 3: another one is running.
    #[command(
        after_help = "Examples:\n  damper serve\n  damper serve --http\n  damper serve --http 127.0.0.1:8080 --profile default"
    )]
    Serve(ServeArguments),
    /// Tell what is running, what was refused and why
    #[command(after_help = "Examples:\n  damper status\n  damper status --json")]
    Status(Json),
    /// Stop the host, after calls under way have ended (10 s at most)
    Stop,
    /// Call a tool through the guards, as an agent would
    ///
    /// Exit codes: 0 the tool answered, 1 it failed, 5 the call was denied.
    #[command(
        after_help = "Examples:\n  damper call bash '{\"command\": \"ls\"}'\n  damper call read '{\"file_path\": \"README.md\"}' --json\n  damper call bash '{\"command\": \"make deploy\"}' --id deploy-42"
    )]
    Call(CallArguments),
    /// Tell why a call ended as it did: guards, verdicts, rules, times, who answered
    #[command(after_help = "Examples:\n  damper explain --last\n  damper explain c01kb3")]
    Explain(ExplainArguments),
    /// Answer the questions that calls raise
    #[command(subcommand)]
    Approvals(ApprovalsCommand),
    /// List the profile's rows, or switch one on or off while the host runs
    #[command(subcommand)]
    Row(RowCommand),
    /// Look at the profile
    #[command(subcommand)]
    Profile(ProfileCommand),
    /// Read the journal
    #[command(subcommand)]
    Log(LogCommand),
    /// Serve MCP on stdin and stdout, for an agent's configuration
    ///
    /// Finds the running host or starts one.
    #[command(
        after_help = "Examples:\n  codex mcp add damper -- damper mcp\n  damper mcp --cwd ~/project\n  damper mcp --mode plan --agent codex"
    )]
    Mcp(McpArguments),
    /// List the modes, and which cannot run and why
    #[command(
        after_help = "Examples:\n  damper modes\n  damper modes --json\n  damper mcp --mode plan"
    )]
    Modes(Json),
    /// Begin, build, test, check and look at plugins
    #[command(subcommand)]
    Plugin(PluginCommand),
}

#[derive(Debug, Args)]
pub(crate) struct Json {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    /// The profile to run
    #[arg(long, default_value = "default", value_name = "NAME")]
    pub(crate) profile: String,
    /// A further patch, applied after your own; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) patch: Vec<PathBuf>,
    /// Serve MCP over HTTP too: on 127.0.0.1:7707 or the next free port, or on ADDRESS
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1)]
    pub(crate) http: Option<Option<SocketAddr>>,
    /// Leave after 30 minutes without use
    #[arg(long, hide = true)]
    pub(crate) leave_when_idle: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CallArguments {
    /// The tool's name
    pub(crate) tool: String,
    /// The arguments as one JSON object
    #[arg(default_value = "{}", value_name = "JSON")]
    pub(crate) arguments: String,
    /// Where to run it, instead of here
    #[arg(long, value_name = "FOLDER")]
    pub(crate) cwd: Option<PathBuf>,
    /// The mode of the session it is made in; `damper modes` lists them
    #[arg(long)]
    pub(crate) mode: Option<String>,
    /// An id of your own: a second call with it is answered from the record, never run again
    #[arg(long)]
    pub(crate) id: Option<String>,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArguments {
    /// The call's id, or how it begins
    #[arg(required_unless_present = "last")]
    pub(crate) call: Option<String>,
    /// The newest call
    #[arg(long, conflicts_with = "call")]
    pub(crate) last: bool,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalsCommand {
    /// Attach this terminal: calls that need a person wait for it, and are answered here
    ///
    /// Type `a` to allow the oldest question, `d` to deny it, or `a ID`, `d ID`.
    Watch(Json),
    /// List the questions that wait
    List(Json),
    /// Let a call run, once
    Allow(AnswerArguments),
    /// Do not let a call run
    Deny(AnswerArguments),
}

#[derive(Debug, Args)]
pub(crate) struct AnswerArguments {
    /// The approval's id, or how it begins
    pub(crate) id: String,
    /// Why, for the record and, if denied, for the agent
    #[arg(long, value_name = "TEXT")]
    pub(crate) why: Option<String>,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RowCommand {
    /// List the rows and their state
    List(Json),
    /// Switch a row on; the next call obeys
    Enable(RowArguments),
    /// Switch a row off; the next call obeys
    Disable(RowArguments),
}

#[derive(Debug, Args)]
pub(crate) struct RowArguments {
    /// The row's id
    pub(crate) row: String,
    /// The profile whose patch is edited, when no host is running
    #[arg(long, default_value = "default", value_name = "NAME")]
    pub(crate) profile: String,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ProfileCommand {
    /// Print the running composition, each key with the file and line that set it
    Show,
    /// Check a profile and its patches without a host; exit code 5 if anything is refused
    Check(ProfileArguments),
    /// Print the JSON Schema of profiles and patches, for editors
    Schema,
}

#[derive(Debug, Args)]
pub(crate) struct ProfileArguments {
    /// The profile
    #[arg(default_value = "default")]
    pub(crate) profile: String,
    /// A further patch; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) patch: Vec<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LogCommand {
    /// Print the newest records
    Tail(TailArguments),
    /// Print an answer that was too long for its record
    Content {
        /// The hash that the record names
        digest: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct TailArguments {
    /// How many records to begin with
    #[arg(short = 'n', long, default_value_t = 20, value_name = "COUNT")]
    pub(crate) lines: usize,
    /// Go on with new records as they come
    #[arg(short, long)]
    pub(crate) follow: bool,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Args)]
pub(crate) struct McpArguments {
    /// Where the agent works, instead of here
    #[arg(long, value_name = "FOLDER")]
    pub(crate) cwd: Option<PathBuf>,
    /// A folder the session may work in; may be repeated; none means the working folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) root: Vec<PathBuf>,
    /// The agent's name, for records and questions
    #[arg(long)]
    pub(crate) agent: Option<String>,
    /// The mode of the session; `damper modes` lists them
    #[arg(long)]
    pub(crate) mode: Option<String>,
}
