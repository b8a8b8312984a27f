//! The official clients: where they are installed, and how one is run.

use std::{
    collections::BTreeMap,
    env,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{OnceLock, mpsc},
    thread,
    time::Duration,
};

use damper_tests::{Host, damper, root};
use serde_json::{Value, json};

/// How long a client may be silent: it gives up by itself after two minutes.
const SILENCE: Duration = Duration::from_secs(150);

/// One part of what `tests/clients/setup.sh` installs.
enum Part {
    Ready(PathBuf),
    /// This machine lacks the tool itself.
    Skipped(String),
    /// The installation did not work.
    Failed(String),
}

/// Returns where a part is installed. Without it, says so where everybody sees it, and a
/// failed installation is a failed test in CI.
pub(crate) fn part(name: &str) -> Option<PathBuf> {
    static PARTS: OnceLock<BTreeMap<String, Part>> = OnceLock::new();
    let parts = PARTS.get_or_init(install);
    let why = match parts.get(name) {
        Some(Part::Ready(path)) => return Some(path.clone()),
        Some(Part::Failed(why)) if env::var_os("CI").is_some() => {
            panic!("`{name}` could not be installed: {why}")
        }
        Some(Part::Skipped(why) | Part::Failed(why)) => why,
        None => panic!("`setup.sh` says nothing about `{name}`"),
    };
    // Not `eprintln!`, whose output a test that passes keeps to itself.
    let line = format!("SKIPPED: the official MCP tests of `{name}`: {why}\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
    None
}

fn install() -> BTreeMap<String, Part> {
    let output = Command::new(root().join("tests/clients/setup.sh"))
        .arg(root().join("target/clients"))
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert!(output.status.success(), "`setup.sh` failed: {output:?}");
    let report = String::from_utf8(output.stdout).unwrap();
    report.lines().map(parse).collect()
}

/// Reads one line of the script's report.
fn parse(line: &str) -> (String, Part) {
    let (state, rest) = line.split_once(' ').unwrap();
    if state == "ready" {
        let (name, path) = rest.split_once(' ').unwrap();
        return (name.to_owned(), Part::Ready(path.into()));
    }
    let (name, why) = rest.split_once(": ").unwrap();
    let part = match state {
        "skipped" => Part::Skipped(why.to_owned()),
        "failed" => Part::Failed(why.to_owned()),
        _ => panic!("`setup.sh` says `{line}`"),
    };
    (name.to_owned(), part)
}

/// One way to reach the host: a client, an era of the protocol, a transport.
#[derive(Debug, Clone)]
pub(crate) struct Way {
    /// `typescript` or `python`.
    pub(crate) client: &'static str,
    program: PathBuf,
    /// `legacy` or `modern`.
    pub(crate) era: &'static str,
    /// `stdio` or `http`.
    pub(crate) transport: &'static str,
}

impl Way {
    /// Returns all ways that this machine has the clients for.
    pub(crate) fn all() -> Vec<Self> {
        let mut ways = Vec::new();
        for client in ["typescript", "python"] {
            let Some(program) = part(client) else {
                continue;
            };
            for (era, transport) in [
                ("legacy", "stdio"),
                ("legacy", "http"),
                ("modern", "stdio"),
                ("modern", "http"),
            ] {
                ways.push(Self {
                    client,
                    program: program.clone(),
                    era,
                    transport,
                });
            }
        }
        ways
    }

    /// Starts the client. `task` is what `tests/clients/README.md` describes, but for how to
    /// reach the host.
    pub(crate) fn start(&self, host: &Host, mut task: Value) -> Running {
        task["era"] = self.era.into();
        if self.transport == "stdio" {
            task["stdio"] = json!([damper(), "mcp"]);
            task["cwd"] = json!(host.work());
            task["env"] = json!({"DAMPER_HOME": host.home()});
        } else {
            task["http"] = http(host);
        }
        let script = match self.client {
            "typescript" => "client.mjs",
            _ => "client.py",
        };
        let mut command = Command::new(&self.program);
        command
            .arg(root().join("target/clients").join(script))
            .arg(task.to_string())
            .env_remove("XDG_RUNTIME_DIR");
        Running::new(self.clone(), &mut command)
    }
}

/// Returns the address of the host's HTTP door and its token.
pub(crate) fn http(host: &Host) -> Value {
    let http = host.status()["http"].clone();
    let token = std::fs::read_to_string(http["token_file"].as_str().unwrap()).unwrap();
    json!({"url": http["url"], "token": token.trim()})
}

/// A client at work, killed when dropped.
pub(crate) struct Running {
    /// How it reaches the host.
    pub(crate) way: Way,
    child: Child,
    complaints: mpsc::Receiver<String>,
    heard: Vec<String>,
}

impl Running {
    fn new(way: Way, command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (say, complaints) = mpsc::channel();
        thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                // The test may have heard enough.
                drop(say.send(line));
            }
        });
        Self {
            way,
            child,
            complaints,
            heard: Vec::new(),
        }
    }

    /// Waits until the client has said a line that begins so.
    pub(crate) fn until(&mut self, beginning: &str) -> String {
        loop {
            let Ok(line) = self.complaints.recv_timeout(SILENCE) else {
                let told = self.told();
                panic!("{:?} did not say `{beginning}`: {told:#}", self.way);
            };
            self.heard.push(line.clone());
            if line.starts_with(beginning) {
                return line;
            }
        }
    }

    /// Waits for the end and returns what the client tells about its task.
    pub(crate) fn told(&mut self) -> Value {
        drop(self.child.stdin.take());
        let mut answer = String::new();
        let mut stdout = self.child.stdout.take().unwrap();
        stdout.read_to_string(&mut answer).unwrap();
        self.child.wait().unwrap();
        self.heard.extend(self.complaints.iter());
        serde_json::from_str(&answer)
            .unwrap_or_else(|error| panic!("{:?}: {error}: {answer} {:#?}", self.way, self.heard))
    }

    /// Waits for the end of a task in which nothing went wrong.
    pub(crate) fn answer(&mut self) -> Value {
        let answer = self.told();
        assert!(
            answer.get("error").is_none(),
            "{:?}: {answer:#} {:#?}",
            self.way,
            self.heard
        );
        answer
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already, and then cannot be killed.
        if self.child.kill().is_ok() {
            drop(self.child.wait());
        }
    }
}
