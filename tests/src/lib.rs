//! What every end-to-end test shares: a real host in a home of its own, driven through the
//! real `damper` binary.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "a test kit fails by panicking, where the test can be read"
)]

pub mod modules;

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::OnceLock,
};

use serde_json::Value;
use tempfile::TempDir;

/// Returns the root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_owned()
}

/// Returns the `damper` binary that was built with the tests.
pub fn damper() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let path = test
        .ancestors()
        .find(|folder| folder.join("damper").is_file());
    path.unwrap_or_else(|| panic!("`damper` is not built; run `cargo xtask test`"))
        .join("damper")
}

/// Returns the component of a plugin or of a guest of `tests/guests`.
pub fn guest(name: &str) -> PathBuf {
    let path = root().join("target/guests").join(format!("{name}.wasm"));
    assert!(
        path.is_file(),
        "`{}` is not built; run `cargo xtask test`",
        path.display()
    );
    path
}

/// A host that runs until this is dropped.
pub struct Host {
    home: TempDir,
    /// A folder to work in, which commands run in by default.
    work: TempDir,
    process: Option<Running>,
    arguments: Vec<String>,
}

struct Running {
    child: Child,
    /// Kept open: the host would end with a broken pipe.
    _stdout: BufReader<ChildStdout>,
}

/// What a command printed and how it ended.
#[derive(Debug)]
pub struct Ran {
    /// The exit code.
    pub code: i32,
    /// What it printed.
    pub stdout: String,
    /// What it complained about.
    pub stderr: String,
}

impl Ran {
    /// Returns what was printed, as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl Host {
    /// Starts a host on the `default` profile.
    pub fn start() -> Self {
        Self::with_patch("")
    }

    /// Starts a host on the `default` profile with this user patch.
    pub fn with_patch(patch: &str) -> Self {
        let mut host = Self::stopped();
        host.write_patch(patch);
        host.serve();
        host
    }

    /// Returns a home in which nothing runs yet, with compiled code for all guests.
    pub fn stopped() -> Self {
        let host = Self::unwarmed();
        let warm = warm_home();
        fs::copy(warm.join("host.key"), host.home().join("host.key")).unwrap();
        link_all(&warm.join("code-cache"), &host.home().join("code-cache"));
        host
    }

    /// Returns an empty home: the first start compiles everything.
    pub fn unwarmed() -> Self {
        let host = Self {
            home: tempfile::tempdir().unwrap(),
            work: tempfile::tempdir().unwrap(),
            process: None,
            arguments: Vec::new(),
        };
        fs::create_dir_all(host.home().join("profiles")).unwrap();
        for folder in [host.home().to_owned(), host.home().join("profiles")] {
            set_mode(&folder, 0o700);
        }
        host
    }

    /// Adds arguments to `damper serve` for the next start.
    pub fn arguments(&mut self, arguments: &[&str]) {
        self.arguments = arguments
            .iter()
            .map(|argument| (*argument).to_owned())
            .collect();
    }

    /// Starts the host and waits until it serves.
    pub fn serve(&mut self) {
        self.serve_with(&[]);
    }

    /// Starts the host with more in its environment and waits until it serves.
    pub fn serve_with(&mut self, environment: &[(&str, &str)]) {
        let mut child = self
            .command()
            .envs(environment.iter().copied())
            .arg("serve")
            .args(&self.arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(fs::File::create(self.home().join("test-host.log")).unwrap())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert!(
            line.contains(" serves profile "),
            "the host did not start: {line}{}",
            self.log()
        );
        self.process = Some(Running {
            child,
            _stdout: stdout,
        });
    }

    /// Kills the host with SIGKILL and waits until it is gone.
    pub fn kill(&mut self) {
        if let Some(mut running) = self.process.take() {
            running.child.kill().unwrap();
            running.child.wait().unwrap();
        }
    }

    /// Waits until the host has ended by itself. Returns its exit code.
    pub fn ended(&mut self) -> Option<i32> {
        let mut running = self.process.take().unwrap();
        running.child.wait().unwrap().code()
    }

    /// Returns the host's process id.
    pub fn pid(&self) -> u32 {
        self.process.as_ref().unwrap().child.id()
    }

    /// Returns `DAMPER_HOME`.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// Returns the folder that commands run in.
    pub fn work(&self) -> &Path {
        self.work.path()
    }

    /// Returns what the host logged.
    pub fn log(&self) -> String {
        fs::read_to_string(self.home().join("test-host.log")).unwrap_or_default()
    }

    /// Returns the user's patch of the `default` profile.
    pub fn patch_file(&self) -> PathBuf {
        self.home().join("profiles/default.patch.yaml")
    }

    /// Writes the user's patch in one step, as careful editors do.
    pub fn write_patch(&self, patch: &str) {
        let draft = self.home().join("profiles/.draft");
        fs::write(&draft, patch).unwrap();
        fs::rename(draft, self.patch_file()).unwrap();
    }

    /// Writes the user's patch and waits until the host has told what it makes of it.
    pub fn edit(&self, patch: &str) -> Value {
        let mut log = self.follow();
        self.write_patch(patch);
        log.until("profile/applied")
    }

    /// Returns the command `damper`, in this home.
    pub fn command(&self) -> Command {
        let mut command = Command::new(damper());
        command
            .env("DAMPER_HOME", self.home())
            .env_remove("XDG_RUNTIME_DIR")
            .current_dir(self.work());
        command
    }

    /// Runs `damper` with these arguments.
    pub fn damper(&self, arguments: &[&str]) -> Ran {
        ran(self
            .command()
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .unwrap())
    }

    /// Calls a tool and returns the report.
    pub fn call(&self, tool: &str, arguments: &Value) -> Value {
        self.damper(&["call", tool, &arguments.to_string(), "--json"])
            .json()
    }

    /// Calls `bash` and returns the report.
    pub fn bash(&self, command: &str) -> Value {
        self.call("bash", &serde_json::json!({ "command": command }))
    }

    /// Returns the host's status.
    pub fn status(&self) -> Value {
        self.damper(&["status", "--json"]).json()
    }

    /// Returns a row of the status.
    pub fn row(&self, id: &str) -> Value {
        let status = self.status();
        let rows = status["rows"].as_array().unwrap();
        rows.iter()
            .find(|row| row["id"] == id)
            .unwrap_or_else(|| panic!("no row `{id}` in {status}"))
            .clone()
    }

    /// Returns the records of a call.
    pub fn explain(&self, call: &str) -> Vec<Value> {
        self.damper(&["explain", call, "--json"])
            .json()
            .as_array()
            .unwrap()
            .clone()
    }

    /// Follows the journal from now on.
    pub fn follow(&self) -> Follow {
        // It begins in the past and then skips to a call that is made now: the call may have
        // ended before the follower is there.
        let child = self.spawn(&["log", "tail", "-n", "1000", "--follow", "--json"]);
        let mut follow = Follow(child);
        let call = self.call("no-such-tool", &serde_json::json!({}));
        loop {
            let record = follow.next();
            if record["kind"] == "call/finished" && record["body"]["call"] == call["call"] {
                return follow;
            }
        }
    }

    /// Attaches an answering surface and waits until it is attached.
    pub fn watch_approvals(&self) -> Follow {
        let mut watch = Follow(self.spawn(&["approvals", "watch", "--json"]));
        assert_eq!(watch.next(), "attached");
        watch
    }

    /// Returns the host's control socket.
    pub fn socket(&self) -> PathBuf {
        PathBuf::from(self.status()["socket"].as_str().unwrap())
    }

    /// Starts `damper` with these arguments and pipes.
    pub fn spawn(&self, arguments: &[&str]) -> Piped {
        let mut command = self.command();
        command
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit());
        Piped::new(&mut command)
    }

    /// Calls a tool in the background.
    pub fn spawn_call(&self, tool: &str, arguments: &Value, more: &[&str]) -> Piped {
        let arguments = arguments.to_string();
        let mut line = vec!["call", tool, arguments.as_str(), "--json"];
        line.extend(more);
        self.spawn(&line)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = self.log();
            let _shown =
                std::io::stderr().write_all(format!("--- the host's log\n{log}---\n").as_bytes());
        }
        self.kill();
    }
}

/// Calls a tool over the control socket, as `damper call` does, without a process of its own.
/// Returns `None` if the host ends before it answers.
pub fn call_at(
    socket: &Path,
    cwd: &Path,
    tool: &str,
    arguments: &Value,
    id: &str,
) -> Option<Value> {
    let mut stream = std::os::unix::net::UnixStream::connect(socket).ok()?;
    let request = serde_json::json!({
        "op": "call", "tool": tool, "arguments": arguments.to_string(), "cwd": cwd, "id": id,
    });
    writeln!(stream, "{request}").ok()?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).ok()?;
    let frame: Value = serde_json::from_str(&line).ok()?;
    Some(frame["end"].clone())
}

/// A process with pipes, killed when dropped.
pub struct Piped {
    child: Child,
    /// What it reads.
    pub stdin: Option<ChildStdin>,
    /// What it prints.
    pub stdout: BufReader<ChildStdout>,
}

impl Piped {
    /// Starts a command whose stdin and stdout are pipes.
    pub fn new(command: &mut Command) -> Self {
        let mut child = command.spawn().unwrap();
        Self {
            stdin: child.stdin.take(),
            stdout: BufReader::new(child.stdout.take().unwrap()),
            child,
        }
    }

    /// Writes a line.
    pub fn type_line(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(line.as_bytes()).unwrap();
        stdin.write_all(b"\n").unwrap();
        stdin.flush().unwrap();
    }

    /// Waits for the end and returns all that was printed.
    pub fn output(mut self) -> Ran {
        drop(self.stdin.take());
        let mut stdout = String::new();
        self.stdout.read_to_string(&mut stdout).unwrap();
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        Ran {
            code,
            stdout,
            stderr: String::new(),
        }
    }

    /// Interrupts it, as Ctrl-C does.
    pub fn interrupt(&self) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-INT", &pid]).status().unwrap();
        assert!(sent.success());
    }

    /// Kills it.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
    }
}

impl Drop for Piped {
    fn drop(&mut self) {
        // It may have ended already, and then cannot be killed.
        if self.child.kill().is_ok() {
            drop(self.child.wait());
        }
    }
}

/// A process that prints one JSON value a line.
pub struct Follow(Piped);

impl Follow {
    /// Waits for the next value.
    #[expect(
        clippy::should_implement_trait,
        reason = "it never ends: an end is a failed test"
    )]
    pub fn next(&mut self) -> Value {
        let mut line = String::new();
        assert!(
            self.0.stdout.read_line(&mut line).unwrap() > 0,
            "the stream ended"
        );
        serde_json::from_str(&line).unwrap()
    }

    /// Waits for the next record of this kind and returns its body.
    pub fn until(&mut self, kind: &str) -> Value {
        loop {
            let record = self.next();
            if record["kind"] == kind {
                return record["body"].clone();
            }
        }
    }

    /// Waits for the next question and returns it.
    pub fn raised(&mut self) -> Value {
        loop {
            let watched = self.next();
            if let Some(raised) = watched.get("raised") {
                return raised.clone();
            }
        }
    }

    /// Waits until it has ended, as it does when the host stops.
    pub fn ended(mut self) {
        let mut rest = String::new();
        self.0.stdout.read_to_string(&mut rest).unwrap();
    }

    /// Types a line, for a surface that takes answers.
    pub fn type_line(&mut self, line: &str) {
        self.0.type_line(line);
    }
}

fn ran(output: std::process::Output) -> Ran {
    Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Compiles every guest once per test run, so that each test's host finds the code.
fn warm_home() -> &'static Path {
    static WARM: OnceLock<PathBuf> = OnceLock::new();
    WARM.get_or_init(|| {
        let mut host = Host::unwarmed();
        let guests = fs::read_dir(root().join("target/guests"))
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let rows: String = guests
            .filter(|path| {
                path.extension()
                    .is_some_and(|extension| extension == "wasm")
            })
            .map(|path| {
                let name = path.file_stem().unwrap().to_str().unwrap();
                format!("  - id: warm-{name}\n    plugin: {}\n", path.display())
            })
            .collect();
        host.write_patch(&format!("- insert:\n{rows}"));
        host.serve();
        host.kill();
        let warm = root().join("target/warm-home");
        drop(fs::remove_dir_all(&warm));
        fs::create_dir_all(&warm).unwrap();
        fs::copy(host.home().join("host.key"), warm.join("host.key")).unwrap();
        link_all(&host.home().join("code-cache"), &warm.join("code-cache"));
        warm
    })
}

/// Copies the files of a folder into a new folder for the owner alone, by links where it can.
fn link_all(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    set_mode(to, 0o700);
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if fs::hard_link(&path, &target).is_err() {
            fs::copy(&path, &target).unwrap();
        }
    }
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[cfg(not(unix))]
fn set_mode(_path: &Path, _mode: u32) {}
