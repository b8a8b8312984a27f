//! A folder to work in, with one beside it that is out of reach and one that is hidden.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use damper_call::Output;
use damper_tools::{DEFAULT_GRACE, DEFAULT_OUTPUT_CHARS, NativeTool, ToolContext, ToolResult};
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Fails a test that would hang; nothing waits for it to pass.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) struct Stage {
    pub(crate) context: ToolContext,
    folder: TempDir,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        for name in ["work", "outside", "work/home"] {
            fs::create_dir(base.join(name)).unwrap();
        }
        fs::write(base.join("outside/secret"), "top secret\n").unwrap();
        fs::write(base.join("work/home/token"), "top secret\n").unwrap();
        let context = ToolContext {
            roots: vec![base.join("work")],
            cwd: base.join("work"),
            hidden: vec![base.join("work/home")],
            deadline: Instant::now() + PATIENCE,
            cancel: CancellationToken::new(),
            progress: None,
            grace: DEFAULT_GRACE,
            output_chars: DEFAULT_OUTPUT_CHARS,
            launcher: Some(env!("CARGO_BIN_EXE_damper-shell").into()),
        };
        Self { context, folder }
    }

    pub(crate) fn without_launcher(mut self) -> Self {
        self.context.launcher = None;
        self
    }

    pub(crate) fn with_grace(mut self, grace: Duration) -> Self {
        self.context.grace = grace;
        self
    }

    /// Returns a path inside the root.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.context.cwd.join(name)
    }

    /// Returns a path beside the root.
    pub(crate) fn outside(&self, name: &str) -> PathBuf {
        self.folder
            .path()
            .canonicalize()
            .unwrap()
            .join("outside")
            .join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn link(&self, name: &str, target: impl AsRef<Path>) {
        std::os::unix::fs::symlink(target, self.path(name)).unwrap();
    }

    pub(crate) fn fifo(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        assert!(
            Command::new("mkfifo")
                .arg(&path)
                .status()
                .unwrap()
                .success()
        );
        path
    }

    /// Makes a FIFO that shows which processes hold it open.
    pub(crate) fn witness(&self, name: &str) -> Witness {
        Witness::new(self.fifo(name))
    }

    pub(crate) async fn run(&self, tool: NativeTool, arguments: Value) -> ToolResult {
        let arguments = arguments.as_object().unwrap();
        let running = damper_tools::run(tool, arguments, &self.context);
        tokio::time::timeout(PATIENCE, running).await.unwrap()
    }

    /// Runs a tool that is expected to finish.
    pub(crate) async fn completed(&self, tool: NativeTool, arguments: Value) -> Output {
        let ended = self.run(tool, arguments).await;
        let ToolResult::Completed(output) = ended else {
            panic!("{ended:?}");
        };
        output
    }
}

/// The reading end of a FIFO that commands write to. Its end means that every process
/// that had it open is gone.
pub(crate) struct Witness {
    lines: mpsc::UnboundedReceiver<String>,
}

impl Witness {
    pub(crate) fn new(fifo: PathBuf) -> Self {
        let (sender, lines) = mpsc::unbounded_channel();
        // Opening waits for a writer, so it has a thread that a failing test can leave.
        std::thread::spawn(move || {
            BufReader::new(fs::File::open(fifo).unwrap())
                .lines()
                .try_for_each(|line| sender.send(line.unwrap()))
        });
        Self { lines }
    }

    /// Returns the next line, which the test knows to come.
    pub(crate) async fn line(&mut self) -> String {
        self.next().await.expect("a line before the end")
    }

    /// Returns the next process id.
    pub(crate) async fn pid(&mut self) -> i32 {
        self.line().await.trim().parse().unwrap()
    }

    /// Waits until nobody holds the FIFO open.
    pub(crate) async fn end(&mut self) {
        while self.next().await.is_some() {}
    }

    async fn next(&mut self) -> Option<String> {
        tokio::time::timeout(PATIENCE, self.lines.recv())
            .await
            .unwrap()
    }
}

/// Asserts that a process has ended. One that nobody has waited for counts as ended.
#[track_caller]
pub(crate) fn check_gone(pid: i32) {
    assert!(is_gone(pid), "process {pid} is still there");
}

/// Waits for a process that was killed without anybody waiting for it. Between the closing
/// of its files, which a [`Witness`] sees, and its end there is a moment.
pub(crate) async fn until_gone(pid: i32) {
    let gone = async {
        while !is_gone(pid) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, gone).await.unwrap();
}

fn is_gone(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(") ").next().unwrap_or_default();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::test_kill_process(pid).is_err() || state.starts_with(['Z', 'X'])
}
