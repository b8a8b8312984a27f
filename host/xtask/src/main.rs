//! `cargo xtask`: the chores of this repository, set-up included.
//!
//! Has no dependencies, so that it compiles in a second. Each command builds the whole
//! workspace with the same profile and targets: building parts of it would make cargo
//! choose other features for shared crates and compile wasmtime once more.

use std::{
    env,
    ffi::OsString,
    fmt,
    path::{Path, PathBuf},
    process::{Command, ExitCode, ExitStatus},
    time::Instant,
};

const HELP: &str = "\
Chores of this repository. Each sets up what it needs; what is already there is kept.

usage: cargo xtask COMMAND [ARGUMENTS]

  up     build everything and start the host, with HTTP, in the foreground
  test   build everything and run every test
  bench  build everything and measure
  ci     what CI runs: formatting, lints, then `test`

`cargo xtask COMMAND --help` tells more.";

const UP_HELP: &str = "\
Builds the host and the guests, then starts the host on the default profile.

usage: cargo xtask up [ARGUMENTS OF damper serve]

The first build compiles wasmtime, which takes minutes. The host prints its addresses,
its token file and what to do next; Ctrl-C stops it.";

const TEST_HELP: &str = "\
Builds the host and the guests, then runs the guests' own tests and all others.

usage: cargo xtask test [ARGUMENTS OF cargo test]

The arguments go to the host's tests: `cargo xtask test kill -- --nocapture` runs those
with `kill` in their names and shows what they print.";

const BENCH_HELP: &str = "\
Builds the host and the guests, then measures each beside its bare baseline.

usage: cargo xtask bench [ARGUMENTS OF the bench]

`cargo xtask bench -- --help` lists what the bench accepts.";

const CI_HELP: &str = "\
Runs `.ci/run`: formatting, clippy with warnings as errors, and every test.

usage: cargo xtask ci";

#[derive(Debug, Clone, Copy)]
enum Chore {
    Up,
    Test,
    Bench,
    Ci,
}

/// Why a chore ended early.
enum Failure {
    /// It was called wrongly.
    Usage(String),
    /// A command could not be started.
    NotStarted(String, std::io::Error),
    /// A command failed, and has said why.
    Failed(String, ExitStatus),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(what) => write!(f, "{what}\n\n{HELP}"),
            Self::NotStarted(what, error) => write!(f, "{what} could not be started: {error}"),
            Self::Failed(what, status) => write!(f, "{what} failed: {status}"),
        }
    }
}

fn main() -> ExitCode {
    let mut arguments = env::args_os().skip(1);
    let command = arguments.next();
    match run(
        command.as_deref().and_then(|c| c.to_str()),
        arguments.collect(),
    ) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            say(&format!("xtask: {failure}"));
            ExitCode::FAILURE
        }
    }
}

fn run(command: Option<&str>, mut arguments: Vec<OsString>) -> Result<(), Failure> {
    let (chore, help) = match command {
        Some("up") => (Chore::Up, UP_HELP),
        Some("test") => (Chore::Test, TEST_HELP),
        Some("bench") => (Chore::Bench, BENCH_HELP),
        Some("ci") => (Chore::Ci, CI_HELP),
        Some("help" | "--help" | "-h") => {
            say(HELP);
            return Ok(());
        }
        Some(other) => return Err(Failure::Usage(format!("there is no command `{other}`"))),
        None => return Err(Failure::Usage("a command is missing".to_owned())),
    };
    match (
        chore,
        arguments.first().and_then(|argument| argument.to_str()),
    ) {
        (_, Some("--help" | "-h")) => {
            say(help);
            return Ok(());
        }
        // For `cargo test` it means something of its own.
        (Chore::Up | Chore::Bench, Some("--")) => drop(arguments.remove(0)),
        _ => {}
    }
    let checkout = Checkout::new();
    match chore {
        Chore::Up => checkout.up(&arguments),
        Chore::Test => checkout.test(&arguments),
        Chore::Bench => checkout.bench(&arguments),
        Chore::Ci => step("running .ci/run", checkout.command("bash").arg(".ci/run")),
    }
}

/// Where this repository lies, and where cargo builds it.
struct Checkout {
    root: PathBuf,
    target: PathBuf,
}

impl Checkout {
    fn new() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .ancestors()
            .nth(2)
            .map_or_else(|| PathBuf::from("."), Path::to_path_buf);
        let target = env::var_os("CARGO_TARGET_DIR")
            .map_or_else(|| root.join("target"), |target| root.join(target));
        Self { root, target }
    }

    fn up(&self, arguments: &[OsString]) -> Result<(), Failure> {
        self.build(&[])?;
        let mut serve = self.command(self.built("damper"));
        serve.args(["serve", "--http"]).args(arguments);
        say("==> starting the host");
        become_command("damper serve", &mut serve)
    }

    fn test(&self, arguments: &[OsString]) -> Result<(), Failure> {
        self.build(&["--all-targets"])?;
        step(
            "testing the guests, natively",
            self.guests_cargo("test").args(["--quiet", "--workspace"]),
        )?;
        step(
            "testing the host",
            self.cargo("test")
                .args(["--workspace", "--all-targets"])
                .args(arguments),
        )?;
        step(
            "testing the examples in the docs",
            self.cargo("test").args(["--workspace", "--doc"]),
        )
    }

    fn bench(&self, arguments: &[OsString]) -> Result<(), Failure> {
        self.build(&[])?;
        // `cargo run --package` would choose other features, and compile wasmtime again.
        step(
            "measuring",
            self.command(self.built("bench")).args(arguments),
        )
    }

    /// Builds the host, with more targets than its binaries for some, and the guests. Tests
    /// depend on nothing that gives a shared crate other features, or wasmtime would be compiled
    /// once more.
    fn build(&self, targets: &[&str]) -> Result<(), Failure> {
        step(
            "compiling the host (from nothing this takes minutes)",
            self.cargo("build").arg("--workspace").args(targets),
        )?;
        step(
            "building the guests",
            self.command(self.built("damper"))
                .args(["plugin", "build", "--workspace", "plugins", "--out"])
                .arg(self.target.join("guests")),
        )
    }

    fn built(&self, program: &str) -> PathBuf {
        self.target.join("debug").join(program)
    }

    fn command(&self, program: impl Into<OsString>) -> Command {
        let mut command = Command::new(program.into());
        command.current_dir(&self.root);
        command
    }

    fn cargo(&self, subcommand: &str) -> Command {
        let mut command =
            self.command(env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
        command.arg(subcommand);
        command
    }

    fn guests_cargo(&self, subcommand: &str) -> Command {
        let mut command = self.cargo(subcommand);
        command.args([
            "--manifest-path",
            "plugins/Cargo.toml",
            "--target-dir",
            "plugins/target",
        ]);
        command
    }
}

/// Runs a command, announced, and says how long it took.
fn step(what: &str, command: &mut Command) -> Result<(), Failure> {
    say(&format!("==> {what}"));
    let start = Instant::now();
    let status = command
        .status()
        .map_err(|error| Failure::NotStarted(program(command), error))?;
    if !status.success() {
        return Err(Failure::Failed(what.to_owned(), status));
    }
    say(&format!(
        "==> done in {:.1} s",
        start.elapsed().as_secs_f32()
    ));
    Ok(())
}

/// Lets the command take this process's place, so that signals reach it.
#[cfg(unix)]
fn become_command(what: &str, command: &mut Command) -> Result<(), Failure> {
    use std::os::unix::process::CommandExt;

    Err(Failure::NotStarted(what.to_owned(), command.exec()))
}

#[cfg(not(unix))]
fn become_command(what: &str, command: &mut Command) -> Result<(), Failure> {
    step(what, command)
}

fn program(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}

#[expect(
    clippy::print_stderr,
    reason = "this is the one place that talks to people"
)]
fn say(text: &str) {
    eprintln!("{text}");
}
