//! A running host, reached as commands reach it: through its control socket.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use damper_serve::{CallOrder, CallReport, Frame, Request};
use damper_tests::Host;
use serde_json::{Value, json};

/// The other end of a host's control socket.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    socket: PathBuf,
    cwd: PathBuf,
}

impl Client {
    pub(crate) fn of(host: &Host) -> Self {
        Self {
            // The kit's hosts know no `XDG_RUNTIME_DIR`, so the socket is in the home.
            socket: host.home().join("run/control.sock"),
            cwd: host.work().to_owned(),
        }
    }

    /// Sends a request and returns its items and its answer.
    pub(crate) fn ask(&self, request: &Request) -> anyhow::Result<(Vec<Value>, Value)> {
        let mut stream = UnixStream::connect(&self.socket)?;
        let mut line = serde_json::to_vec(request)?;
        line.push(b'\n');
        stream.write_all(&line)?;
        let mut items = Vec::new();
        for line in BufReader::new(stream).lines() {
            match serde_json::from_str(&line?)? {
                Frame::Item(item) => items.push(item),
                Frame::End(value) => return Ok((items, value)),
                Frame::Error(error) => return Err(error.into()),
            }
        }
        bail!("the host ended the connection before it answered")
    }

    /// Calls a tool.
    pub(crate) fn call(&self, tool: &str, arguments: &Value) -> anyhow::Result<CallReport> {
        let order = CallOrder {
            tool: tool.to_owned(),
            arguments: arguments.to_string(),
            cwd: self.cwd.clone(),
            id: None,
            mode: None,
        };
        let (_items, report) = self.ask(&Request::Call(order))?;
        Ok(serde_json::from_value(report)?)
    }

    /// Reads a file of the working folder through the host: a call without effect that starts
    /// no process.
    pub(crate) fn read(&self) -> anyhow::Result<CallReport> {
        self.call("read", &reading(&self.cwd))
    }
}

/// Writes the file that `read` reads.
pub(crate) fn write_file_to_read(host: &Host) -> anyhow::Result<()> {
    Ok(fs::write(host.work().join("note.txt"), "a line\n")?)
}

/// Returns the arguments of a `read` of that file.
pub(crate) fn reading(work: &Path) -> Value {
    json!({ "file_path": work.join("note.txt") })
}

/// Returns a host on a patch, with the code of all its rows in the cache.
pub(crate) fn warm(patch: &str) -> anyhow::Result<Host> {
    let mut host = Host::unwarmed();
    write_file_to_read(&host)?;
    host.write_patch(patch);
    host.serve();
    Ok(host)
}

/// Returns the private memory of a process that is its own and written to, in KiB.
pub(crate) fn private_dirty(pid: u32) -> anyhow::Result<f64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("Private_Dirty:"))
        .context("no Private_Dirty in smaps_rollup")?;
    let number = line.trim().trim_end_matches("kB").trim();
    Ok(number.parse()?)
}
