//! Answering the control socket.

use std::{
    sync::{Arc, PoisonError, atomic::Ordering},
    time::Duration,
};

use damper_call::{CallId, Door, Session, SessionId};
use damper_dispatch::{CallRequest, OpenError, Pending, Reply as ApprovalReply};
use damper_door_mcp::{Caller, Client};
use serde::Serialize;
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{UnixListener, UnixStream},
};
use tokio_util::sync::CancellationToken;

use super::Host;
use crate::{
    control::{
        AnswerReport, ApprovalView, CallOrder, CallReport, ControlError, ErrorKind, Frame,
        ModeReport, Reply, Request, Watched,
    },
    peer,
    status::{self, RowView, Status},
};

/// The longest request line: a call's arguments and what goes around them.
const MAX_REQUEST: u64 = 2 << 20;

/// How long accepting pauses after it failed, as it does when descriptors run out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// How many records one read takes from the journal.
const LOG_BATCH: usize = 256;

/// Takes connections until the host stops.
pub(super) async fn accept(host: Arc<Host>, listener: UnixListener) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = host.stop.cancelled() => return,
        };
        match accepted {
            Ok((stream, _address)) => {
                host.tasks.spawn(connection(Arc::clone(&host), stream));
            }
            Err(error) => {
                tracing::error!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Counts a connection as use of the host.
struct InUse<'a>(&'a Host);

impl<'a> InUse<'a> {
    fn new(host: &'a Host) -> Self {
        host.connections.fetch_add(1, Ordering::SeqCst);
        Self(host)
    }
}

impl Drop for InUse<'_> {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::SeqCst);
    }
}

async fn connection(host: Arc<Host>, stream: UnixStream) {
    let _in_use = InUse::new(&host);
    let mut connection = Connection {
        stream: BufReader::new(stream),
    };
    let admitted = admit(&connection);
    // The request is read in any case: whoever is refused before having asked sees a broken
    // connection instead of the reason.
    let request = connection.request().await;
    let request = admitted.and(request);
    let result = match request {
        Ok(request) => host.answer(request, connection).await,
        Err(error) => connection.send(&Frame::Error(error)).await,
    };
    if let Err(error) = result {
        tracing::debug!(%error, "a command left before it had its answer");
    }
}

fn admit(connection: &Connection) -> Result<(), ControlError> {
    let refused = |text: String| ControlError::new(ErrorKind::Refused, text);
    let credentials = connection
        .stream
        .get_ref()
        .peer_cred()
        .map_err(|error| refused(format!("cannot tell who is connecting: {error}")))?;
    let our_user = rustix::process::geteuid().as_raw();
    let our_pid = rustix::process::getpid().as_raw_nonzero().get();
    peer::may_connect(
        (our_user, our_pid),
        (credentials.uid(), credentials.pid()),
        &peer::parent_of,
    )
    .map_err(|error| refused(error.to_string()))
}

/// One end of the control socket.
struct Connection {
    stream: BufReader<UnixStream>,
}

impl Connection {
    async fn request(&mut self) -> Result<Request, ControlError> {
        let bad = |text: String| ControlError::new(ErrorKind::BadRequest, text);
        let mut line = String::new();
        let read = (&mut self.stream)
            .take(MAX_REQUEST)
            .read_line(&mut line)
            .await;
        read.map_err(|error| bad(format!("the request cannot be read: {error}")))?;
        if !line.ends_with('\n') {
            return Err(bad(format!(
                "a request is one line of at most {MAX_REQUEST} bytes"
            )));
        }
        serde_json::from_str(&line)
            .map_err(|error| bad(format!("the request does not read: {error}")))
    }

    async fn send(&mut self, frame: &Frame) -> std::io::Result<()> {
        let mut line = serde_json::to_vec(frame)?;
        line.push(b'\n');
        self.stream.write_all(&line).await?;
        self.stream.flush().await
    }

    async fn item<T: Serialize>(&mut self, item: &T) -> std::io::Result<()> {
        let value = serde_json::to_value(item)?;
        self.send(&Frame::Item(value)).await
    }

    async fn reply(&mut self, reply: Reply) -> std::io::Result<()> {
        let frame = reply.map_or_else(Frame::Error, Frame::End);
        self.send(&frame).await
    }

    /// Resolves when the other end is gone.
    async fn gone(&mut self) {
        let mut byte = [0; 1];
        // Requests are one line, so that whatever comes is the end or of no meaning.
        while matches!(self.stream.read(&mut byte).await, Ok(read) if read > 0) {}
    }
}

fn internal(error: impl std::fmt::Display) -> ControlError {
    ControlError::new(ErrorKind::Internal, error.to_string())
}

fn not_opened(error: &OpenError) -> ControlError {
    let kind = match error {
        OpenError::Journal(_) => ErrorKind::Internal,
        OpenError::UnknownMode { .. } => ErrorKind::NotFound,
        OpenError::CannotRun { .. } => ErrorKind::Refused,
    };
    ControlError::new(kind, error.to_string())
}

fn value<T: Serialize>(answer: &T) -> Reply {
    serde_json::to_value(answer).map_err(internal)
}

impl Host {
    async fn answer(
        self: &Arc<Self>,
        request: Request,
        mut connection: Connection,
    ) -> std::io::Result<()> {
        let reply = match request {
            Request::Status => value(&self.status()),
            Request::Stop => {
                self.stop.cancel();
                Ok(Value::Null)
            }
            Request::Reload => {
                self.is_ready().await;
                value(&self.reloader.reload().await)
            }
            Request::Call(order) => return self.call(order, connection).await,
            Request::Explain { call } => self.explain(call.as_deref()).await,
            Request::Log { last, follow } => return self.log(last, follow, connection).await,
            Request::Content { digest } => match self.dispatcher.journal().content(&digest).await {
                Ok(Some(bytes)) => value(&String::from_utf8_lossy(&bytes)),
                Ok(None) => Err(ControlError::new(
                    ErrorKind::NotFound,
                    format!("nothing is kept as {digest}"),
                )),
                Err(error) => Err(internal(error)),
            },
            Request::Approvals => {
                let pending = self.dispatcher.approvals().pending();
                value(
                    &pending
                        .into_iter()
                        .map(ApprovalView::from)
                        .collect::<Vec<_>>(),
                )
            }
            Request::WatchApprovals => return self.watch_approvals(connection).await,
            Request::Answer { id, allow, by, why } => self.answer_approval(
                &id,
                ApprovalReply {
                    allowed: allow,
                    by,
                    why,
                },
            ),
            Request::ProfileShow => self.show_profile(),
            Request::Modes => {
                self.is_ready().await;
                let modes = self.dispatcher.modes().into_iter();
                value(&modes.map(ModeReport::from).collect::<Vec<_>>())
            }
            Request::Mcp {
                cwd,
                roots,
                agent,
                mode,
            } => {
                let caller = Caller {
                    cwd,
                    roots,
                    agent,
                    mode,
                };
                return self.mcp(caller, connection).await;
            }
        };
        connection.reply(reply).await
    }

    pub(super) fn status(&self) -> Status {
        let generation = self.dispatcher.current();
        let seen = self
            .reloader
            .seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let approvals = self.dispatcher.approvals();
        Status {
            version: self.holder.version.clone(),
            pid: self.holder.pid,
            started_ms: self.holder.started_ms,
            home: self.home.root().to_owned(),
            socket: self.home.socket(),
            profile: self.holder.profile.clone(),
            ready: *self.ready.borrow(),
            generation: generation.number,
            http: self.http.clone(),
            rows: generation.rows.iter().map(|row| RowView::of(row)).collect(),
            layers: seen.layers,
            problems: seen.problems,
            notes: generation.notes.clone(),
            last_edit: seen.last_edit,
            watcher: self
                .watcher
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone(),
            attended: approvals.attended(),
            approvals_waiting: approvals.pending().len(),
            calls_in_flight: self.dispatcher.calls_in_flight(),
            ceilings: status::ceilings(self.runtime.ceilings()),
            recovered: self.recovered.clone(),
        }
    }

    async fn call(
        self: &Arc<Self>,
        order: CallOrder,
        mut connection: Connection,
    ) -> std::io::Result<()> {
        self.is_ready().await;
        let session = Session::external(
            SessionId::unique(),
            Door::Cli,
            Some("damper call".to_owned()),
            order.cwd,
        );
        let opened = self
            .dispatcher
            .open_session(session, order.mode.as_deref())
            .await;
        let session = match opened {
            Ok(session) => session,
            Err(error) => return connection.reply(Err(not_opened(&error))).await,
        };
        let cancel = CancellationToken::new();
        let calling = self.dispatcher.call(CallRequest {
            id: order.id,
            session,
            tool: order.tool,
            arguments: order.arguments,
            cancel: cancel.clone(),
            progress: None,
        });
        let mut calling = std::pin::pin!(calling);
        let outcome = tokio::select! {
            outcome = &mut calling => outcome,
            () = connection.gone() => {
                // Ctrl-C takes the call back; its record is completed all the same.
                cancel.cancel();
                calling.await
            }
        };
        let report = CallReport {
            call: outcome.call,
            ending: outcome.ending,
            text: outcome.output.text,
            structured: outcome.output.structured,
            is_error: outcome.output.is_error,
        };
        connection.reply(value(&report)).await
    }

    async fn explain(&self, call: Option<&str>) -> Reply {
        let call = self.find_call(call).await?;
        let records = self
            .dispatcher
            .journal()
            .call_records(&call)
            .await
            .map_err(internal)?;
        value(&records)
    }

    async fn find_call(&self, call: Option<&str>) -> Result<CallId, ControlError> {
        let journal = self.dispatcher.journal();
        let not_found = |text: String| ControlError::new(ErrorKind::NotFound, text);
        let Some(prefix) = call else {
            let last = journal.last_call().await.map_err(internal)?;
            return last.ok_or_else(|| not_found("no call has been made yet".to_owned()));
        };
        let mut calls = journal
            .calls_with_prefix(prefix, 2)
            .await
            .map_err(internal)?
            .into_iter();
        match (calls.next(), calls.next()) {
            (None, _) => Err(not_found(format!(
                "there is no call `{prefix}`; `damper log tail` shows the newest"
            ))),
            (Some(call), _) if call.as_str() == prefix => Ok(call),
            (Some(call), None) => Ok(call),
            (Some(_), Some(_)) => Err(not_found(format!(
                "`{prefix}` fits several calls; give more of the id"
            ))),
        }
    }

    async fn log(
        &self,
        last: usize,
        follow: bool,
        mut connection: Connection,
    ) -> std::io::Result<()> {
        let journal = self.dispatcher.journal();
        let mut newest = journal.subscribe();
        let mut seen = newest.borrow_and_update().saturating_sub(last as u64);
        loop {
            let records = match journal.records(seen, LOG_BATCH).await {
                Ok(records) => records,
                Err(error) => return connection.reply(Err(internal(error))).await,
            };
            for record in &records {
                connection.item(record).await?;
                seen = record.seq;
            }
            if !records.is_empty() {
                continue;
            }
            if !follow {
                return connection.reply(Ok(Value::Null)).await;
            }
            tokio::select! {
                changed = newest.changed() => {
                    if changed.is_err() {
                        return connection.reply(Ok(Value::Null)).await;
                    }
                }
                () = connection.gone() => return Ok(()),
                () = self.stop.cancelled() => return connection.reply(Ok(Value::Null)).await,
            }
        }
    }

    /// Attaches an answering surface as long as the connection lives.
    async fn watch_approvals(&self, mut connection: Connection) -> std::io::Result<()> {
        let approvals = self.dispatcher.approvals();
        let mut changes = approvals.changes();
        let _attached = approvals.attach();
        connection.item(&Watched::Attached).await?;
        let mut shown: Vec<Pending> = Vec::new();
        loop {
            changes.borrow_and_update();
            let waiting = approvals.pending();
            for gone in shown.iter().filter(|pending| !waiting.contains(pending)) {
                connection
                    .item(&Watched::Gone {
                        id: gone.id.to_string(),
                    })
                    .await?;
            }
            for raised in waiting.iter().filter(|pending| !shown.contains(pending)) {
                connection
                    .item(&Watched::Raised(raised.clone().into()))
                    .await?;
            }
            shown = waiting;
            tokio::select! {
                changed = changes.changed() => {
                    if changed.is_err() {
                        return Ok(());
                    }
                }
                () = connection.gone() => return Ok(()),
                () = self.stop.cancelled() => return connection.reply(Ok(Value::Null)).await,
            }
        }
    }

    fn answer_approval(&self, id: &str, reply: ApprovalReply) -> Reply {
        let allowed = reply.allowed;
        match self.dispatcher.approvals().answer(id, reply) {
            Ok(pending) => value(&AnswerReport {
                id: pending.id.to_string(),
                call: pending.call.to_string(),
                allowed,
            }),
            Err(error) => Err(ControlError::new(ErrorKind::NotFound, error.to_string())),
        }
    }

    fn show_profile(&self) -> Reply {
        let seen = self
            .reloader
            .seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        match seen.composition {
            Some(composition) => value(&composition.show()),
            None => Err(ControlError::new(
                ErrorKind::NotFound,
                "no profile has been composed yet",
            )),
        }
    }

    async fn mcp(
        self: &Arc<Self>,
        caller: Caller,
        mut connection: Connection,
    ) -> std::io::Result<()> {
        self.is_ready().await;
        let client = match Client::new(self.dispatcher.clone(), caller).await {
            Ok(client) => client,
            Err(error) => return connection.reply(Err(not_opened(&error))).await,
        };
        connection.reply(Ok(Value::Null)).await?;
        let served =
            damper_door_mcp::serve_stream(client, connection.stream, self.stop.clone()).await;
        served.map_err(std::io::Error::other)
    }
}
