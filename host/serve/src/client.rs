//! The other end of the control socket, for commands.

use std::{
    fs::{File, OpenOptions},
    io,
    path::PathBuf,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::UnixStream,
};

use crate::{
    control::{ControlError, ErrorKind, Frame, Request},
    home::Home,
};

/// The longest that a host which was just started may take to answer.
const START_TIME: Duration = Duration::from_secs(2);

/// How often a starting host is tried.
const START_STEP: Duration = Duration::from_millis(5);

/// Why a command has no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No host is there.
    #[error("no host is running for `{}`; start one with `damper serve`", .0.display())]
    NotRunning(PathBuf),
    /// A host was started and does not answer.
    #[error("a host was started but did not answer within {} s; see `{}`", START_TIME.as_secs(), .0.display())]
    NotAnswering(PathBuf),
    /// The host could not be started.
    #[error("cannot start a host: {0}")]
    NotStarted(io::Error),
    /// The host refused.
    #[error(transparent)]
    Refused(#[from] ControlError),
    /// The connection broke.
    #[error("the connection to the host broke: {0}")]
    Broken(#[from] io::Error),
    /// The host said something else than expected.
    #[error("the host answered in a way that this version does not understand: {0}")]
    NotUnderstood(String),
}

/// A connection that carries one request.
#[derive(Debug)]
pub struct Client {
    stream: BufReader<UnixStream>,
}

/// Whether a host had to be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Started {
    /// One was running.
    Before,
    /// It was started now.
    Now,
}

/// Connects to the host of a home.
pub async fn connect(home: &Home) -> Result<Client, ClientError> {
    match UnixStream::connect(home.socket()).await {
        Ok(stream) => Ok(Client {
            stream: BufReader::new(stream),
        }),
        Err(error) if is_absent(&error) => Err(ClientError::NotRunning(home.root().to_owned())),
        Err(error) => Err(error.into()),
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused
    )
}

/// Connects to the host of a home, starting one, detached, if there is none.
pub async fn connect_or_start(home: &Home) -> Result<(Client, Started), ClientError> {
    match connect(home).await {
        Ok(client) => return Ok((client, Started::Before)),
        Err(ClientError::NotRunning(_)) => {}
        Err(error) => return Err(error),
    }
    start_detached(home)?;
    let deadline = Instant::now() + START_TIME;
    loop {
        match connect(home).await {
            Ok(client) => return Ok((client, Started::Now)),
            Err(ClientError::NotRunning(_)) if Instant::now() < deadline => {}
            Err(ClientError::NotRunning(_)) => return Err(ClientError::NotAnswering(home.log())),
            Err(error) => return Err(error),
        }
        tokio::time::sleep(START_STEP).await;
    }
}

/// Starts a host that outlives its starter and leaves by itself when it is no longer used.
pub fn start_detached(home: &Home) -> Result<(), ClientError> {
    home.prepare()
        .map_err(|error| ClientError::NotStarted(io::Error::other(error)))?;
    let log = log_file(home).map_err(ClientError::NotStarted)?;
    let executable = std::env::current_exe().map_err(ClientError::NotStarted)?;
    let mut command = Command::new(executable);
    command
        .args(["serve", "--leave-when-idle"])
        .env("DAMPER_HOME", home.root())
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log);
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command
        .spawn()
        .map(|_child| ())
        .map_err(ClientError::NotStarted)
}

fn log_file(home: &Home) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(home.log())
}

impl Client {
    /// Sends the request and returns its answer.
    pub async fn ask<T: DeserializeOwned>(mut self, request: &Request) -> Result<T, ClientError> {
        self.send(request).await?;
        loop {
            match self.frame().await? {
                Some(Frame::Item(_)) => {}
                Some(Frame::End(value)) => return read(value),
                Some(Frame::Error(error)) => return Err(error.into()),
                None => return Err(broken_off()),
            }
        }
    }

    /// Sends the request and, once the host agrees, returns the connection for what follows.
    pub async fn open(mut self, request: &Request) -> Result<BufReader<UnixStream>, ClientError> {
        self.send(request).await?;
        match self.frame().await? {
            Some(Frame::End(_) | Frame::Item(_)) => Ok(self.stream),
            Some(Frame::Error(error)) => Err(error.into()),
            None => Err(broken_off()),
        }
    }

    /// Returns the next item of a request that was sent with [`Client::begin`], `None` at the end.
    pub async fn next<T: DeserializeOwned>(&mut self) -> Result<Option<T>, ClientError> {
        match self.frame().await? {
            Some(Frame::Item(value)) => read(value).map(Some),
            Some(Frame::End(_)) | None => Ok(None),
            Some(Frame::Error(error)) => Err(error.into()),
        }
    }

    /// Sends a request whose items are taken one by one.
    pub async fn begin(&mut self, request: &Request) -> Result<(), ClientError> {
        self.send(request).await
    }

    async fn send(&mut self, request: &Request) -> Result<(), ClientError> {
        let mut line = serde_json::to_vec(request)
            .map_err(|error| ClientError::NotUnderstood(error.to_string()))?;
        line.push(b'\n');
        self.stream.write_all(&line).await?;
        self.stream.flush().await?;
        Ok(())
    }

    async fn frame(&mut self) -> Result<Option<Frame>, ClientError> {
        let mut line = String::new();
        if self.stream.read_line(&mut line).await? == 0 {
            return Ok(None);
        }
        serde_json::from_str(&line)
            .map(Some)
            .map_err(|error| ClientError::NotUnderstood(error.to_string()))
    }
}

fn read<T: DeserializeOwned>(value: Value) -> Result<T, ClientError> {
    serde_json::from_value(value).map_err(|error| ClientError::NotUnderstood(error.to_string()))
}

fn broken_off() -> ClientError {
    ClientError::Refused(ControlError::new(
        ErrorKind::Internal,
        "the host ended the connection before it answered",
    ))
}
