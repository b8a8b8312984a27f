//! Compiling, in a child process that can be ended.
//!
//! Compiling takes time and memory out of all proportion to the size of a hostile
//! component (49 KB were seen to take 28 s and 580 MiB), and an overflowing compiler takes
//! its process with it. So the host never compiles: a child does, under limits.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use tokio::process::Command;
use wasmtime::Engine;

use crate::engine::code_config;

/// The longest a component may take to compile. An 18 MB Python guest takes 12 s here.
const COMPILE_TIME: Duration = Duration::from_secs(60);

/// The most memory the compiler may use: bytes of writable private memory.
const COMPILE_MEMORY: u64 = 2 << 30;

/// The most of the compiler's own words that is kept.
const MAX_WORDS: usize = 2_000;

/// How to start the child that compiles: a program that calls [`compile_child`] with the
/// two paths that are appended to its arguments.
#[derive(Debug, Clone)]
pub struct CompilerCommand {
    /// The program, as a rule the running one.
    pub program: PathBuf,
    /// What comes before the two paths.
    pub arguments: Vec<OsString>,
}

/// Why a component was not compiled.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// The component is not one that this engine accepts.
    #[error("does not compile: {0}")]
    Refused(String),
    /// It took too long.
    #[error("takes longer than {} s to compile", .0.as_secs())]
    TimedOut(Duration),
    /// The child could not be started, or died.
    #[error("the compiler {0}")]
    Child(String),
}

impl CompilerCommand {
    /// Compiles the component at `input` to `output`.
    pub(crate) async fn compile(&self, input: &Path, output: &Path) -> Result<(), CompileError> {
        let child = Command::new(&self.program)
            .args(&self.arguments)
            .args([input, output])
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| {
                CompileError::Child(format!(
                    "`{}` did not start: {error}",
                    self.program.display()
                ))
            })?;
        let ended = tokio::time::timeout(COMPILE_TIME, child.wait_with_output())
            .await
            .map_err(|_elapsed| CompileError::TimedOut(COMPILE_TIME))?
            .map_err(|error| CompileError::Child(format!("could not be awaited: {error}")))?;
        if ended.status.success() {
            return Ok(());
        }
        let words: String = String::from_utf8_lossy(&ended.stderr)
            .trim()
            .chars()
            .take(MAX_WORDS)
            .collect();
        match ended.status.code() {
            Some(REFUSED) => Err(CompileError::Refused(words)),
            _ => Err(CompileError::Child(format!(
                "died ({}) under its limits of {} s and {} MiB; {words}",
                ended.status,
                COMPILE_TIME.as_secs(),
                COMPILE_MEMORY >> 20
            ))),
        }
    }
}

/// The exit code of a child that found the component wanting.
const REFUSED: i32 = 9;

/// The child's whole work: limits itself, compiles `input` to `output`, returns its exit code.
pub fn compile_child(input: &Path, output: &Path) -> i32 {
    limit_this_process();
    match compile(input, output) {
        Ok(()) => 0,
        Err(error) => {
            tracing::error!("{error:#}");
            REFUSED
        }
    }
}

fn compile(input: &Path, output: &Path) -> wasmtime::Result<()> {
    let wasm = fs::read(input)?;
    let engine = Engine::new(&code_config())?;
    let code = engine.precompile_component(&wasm)?;
    fs::write(output, code)?;
    Ok(())
}

#[cfg(target_os = "linux")]
fn limit_this_process() {
    use rustix::process::{Resource, Rlimit, Signal, set_parent_process_death_signal, setrlimit};
    let limits = [
        (Resource::Data, COMPILE_MEMORY),
        (Resource::Cpu, 2 * COMPILE_TIME.as_secs()),
        (Resource::Core, 0),
    ];
    for (resource, value) in limits {
        let limit = Rlimit {
            current: Some(value),
            maximum: Some(value),
        };
        if let Err(error) = setrlimit(resource, limit) {
            tracing::warn!(?resource, %error, "cannot limit the compiler");
        }
    }
    if let Err(error) = set_parent_process_death_signal(Some(Signal::KILL)) {
        tracing::warn!(%error, "the compiler may outlive the host");
    }
}

#[cfg(not(target_os = "linux"))]
fn limit_this_process() {}
