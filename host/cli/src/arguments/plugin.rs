//! The argument lines of `damper plugin`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::Json;

#[derive(Debug, Subcommand)]
pub(crate) enum PluginCommand {
    /// Begin a plugin: a Cargo project that builds as it is
    ///
    /// The SDK and the contract are put into its `vendor` folder; nothing but a Rust toolchain
    /// is needed. Nothing that exists is overwritten.
    #[command(
        after_help = "Examples:\n  damper plugin new no-force --kind guard\n  damper plugin new acme/word-count --kind tool --path ~/plugins/word-count\n\nThen:\n  cd no-force && cargo test && damper plugin build"
    )]
    New(NewArguments),
    /// Build a plugin, or all of a Cargo workspace, into components
    ///
    /// A folder with a `damper.toml` is a plugin in a language without an SDK: that file says
    /// how it is built.
    ///
    /// Finds or installs what compiling to WebAssembly needs, and says what it does. Each
    /// component is checked as `damper plugin check` does. Exit code 5: this host would refuse
    /// one.
    #[command(
        after_help = "Examples:\n  damper plugin build\n  damper plugin build ~/plugins/no-force\n  damper plugin build --out ~/.local/share/damper/plugins/local\n\nWithout --out the components are in target/damper of the project."
    )]
    Build(BuildArguments),
    /// Build a plugin and run its case files in the sandbox that the host has
    ///
    /// A case is one line of `cases/*.jsonl`: what is asked, what is around, what is expected.
    /// No host is started. Exit codes: 0 all cases passed, 1 one did not, 5 this host would
    /// refuse the plugin.
    #[command(
        after_help = "Examples:\n  damper plugin test\n  damper plugin test ~/plugins/no-force --filter push\n  damper plugin test --json\n\nA case:\n  {\"name\": \"asks\", \"call\": {\"tool\": \"bash\", \"command\": \"git push --force\"}, \"expect\": {\"verdict\": \"ask\"}}"
    )]
    Test(TestArguments),
    /// Run a plugin in the host, and build it again whenever its sources change
    ///
    /// Adds a row to your patch, after showing what it is granted, and tells the row's state and
    /// what the plugin says. A build that fails leaves the one that runs. Starts a host if none
    /// runs. Ends with Ctrl-C.
    #[command(
        after_help = "Examples:\n  damper plugin dev\n  damper plugin dev ~/plugins/no-force --row my-guard\n  damper plugin dev --yes --remove"
    )]
    Dev(DevArguments),
    /// Tell whether this host would take components, without running or compiling them
    ///
    /// Looks at exports, imports and the manifest, and tells everything that is wrong at once,
    /// with the way out. Exit codes: 0 all would be taken, 5 one would be refused, 6 one does
    /// not exist.
    #[command(
        after_help = "Examples:\n  damper plugin check target/damper/no-force.wasm\n  damper plugin check *.wasm --json"
    )]
    Check(CheckArguments),
    /// List all plugins: your own, the shipped ones and those that rows name by file
    #[command(
        after_help = "Examples:\n  damper plugin list\n  damper plugin list --profile work --json"
    )]
    List(ListArguments),
    /// Show what a plugin says about itself: hooks, grants, limits, settings, texts
    #[command(
        after_help = "Examples:\n  damper plugin inspect damper/approval-gate\n  damper plugin inspect target/damper/no-force.wasm --json"
    )]
    Inspect(InspectArguments),
    /// Write what a plugin in a language without an SDK is written against
    #[command(subcommand)]
    Bindings(BindingsCommand),
}

#[derive(Debug, Args)]
pub(crate) struct NewArguments {
    /// `owner/name`, or `name`, which means `local/name`
    pub(crate) name: String,
    /// What it is a start of
    #[arg(long)]
    pub(crate) kind: KindArgument,
    /// Where to put it, instead of a folder of its name here
    #[arg(long, value_name = "FOLDER")]
    pub(crate) path: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum KindArgument {
    /// Judges calls: allow, ask a person, deny
    Guard,
    /// Declares a mode: which tools and prompt a session has
    Preset,
    /// Writes parts of prompts
    Persona,
    /// Provides tools
    Tool,
}

#[derive(Debug, Args)]
pub(crate) struct BuildArguments {
    /// The Cargo package or workspace, or a folder with a `damper.toml`, instead of the one here
    #[arg(value_name = "FOLDER", conflicts_with = "workspace")]
    pub(crate) path: Option<PathBuf>,
    /// The same as FOLDER, for scripts
    #[arg(long, value_name = "FOLDER")]
    pub(crate) workspace: Option<PathBuf>,
    /// Where to put the components, instead of target/damper of the project
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Args)]
pub(crate) struct TestArguments {
    /// The plugin's Cargo package, instead of the one here
    #[arg(value_name = "FOLDER", default_value = ".")]
    pub(crate) path: PathBuf,
    /// Run only cases with this text in their name
    #[arg(long, value_name = "TEXT")]
    pub(crate) filter: Option<String>,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Args)]
pub(crate) struct DevArguments {
    /// The plugin's Cargo package, instead of the one here
    #[arg(value_name = "FOLDER", default_value = ".")]
    pub(crate) path: PathBuf,
    /// The row's id, instead of the plugin's name
    #[arg(long, value_name = "ID")]
    pub(crate) row: Option<String>,
    /// Agree to what the plugin asks to be granted
    #[arg(long)]
    pub(crate) yes: bool,
    /// Take the row out again at the end
    #[arg(long)]
    pub(crate) remove: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    /// The components
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    /// The profile whose rows are looked at
    #[arg(long, default_value = "default", value_name = "NAME")]
    pub(crate) profile: String,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Args)]
pub(crate) struct InspectArguments {
    /// A plugin's id, or a component's file
    #[arg(value_name = "ID|FILE")]
    pub(crate) plugin: String,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BindingsCommand {
    /// Write the contract itself, for tools that read WIT
    Wit {
        /// Where to put it
        #[arg(long, default_value = "wit", value_name = "FOLDER")]
        out: PathBuf,
    },
    /// Write a C header, its source and an object file with the types of a world
    #[command(after_help = "Example:\n  damper plugin bindings c --world guard-plugin --out build")]
    C {
        /// The world, for instance `guard-plugin`
        #[arg(long, value_name = "NAME")]
        world: String,
        /// Where to put them
        #[arg(long, default_value = "bindings", value_name = "FOLDER")]
        out: PathBuf,
    },
}
