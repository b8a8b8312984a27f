//! Progress of a running call, which also keeps clients from giving up on a held one.

use std::{future::Future, pin::pin, time::Duration};

use damper_call::Outcome;
use rmcp::{
    RoleServer,
    model::{ProgressNotificationParam, ProgressToken},
    service::Peer,
};
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, MissedTickBehavior, interval_at, timeout},
};

/// How often a client hears that its call is alive. Clients give up after 60 seconds
/// of silence or more, so five signs of life may get lost.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// What a client hears before the call has had anything to say.
const STILL_WAITING: &str = "waiting";

/// How long lines that came before the answer may take to be written. A client that
/// does not read must not hold its own answer back for ever.
const FLUSH: Duration = Duration::from_secs(2);

/// How many lines may queue before a tool's progress waits for the client.
pub(crate) const QUEUED_LINES: usize = 16;

/// Where progress goes: one request of one client.
pub(crate) struct ProgressSink {
    pub(crate) peer: Peer<RoleServer>,
    pub(crate) token: ProgressToken,
}

/// Runs `call`, sending `lines` and signs of life until it has ended.
pub(crate) async fn report_while(
    call: impl Future<Output = Outcome>,
    lines: mpsc::Receiver<String>,
    sink: ProgressSink,
) -> Outcome {
    let (ended, call_ended) = oneshot::channel::<()>();
    let mut call = pin!(call);
    let mut report = pin!(report(lines, sink, call_ended));
    // Both are polled in one task, so a client that reads slowly delays progress but
    // never the call.
    let outcome = tokio::select! {
        outcome = &mut call => outcome,
        () = &mut report => return call.await,
    };
    drop(ended);
    if timeout(FLUSH, report).await.is_err() {
        tracing::debug!(call = %outcome.call, "the client did not take the last lines of progress");
    }
    outcome
}

/// Sends progress until the call has ended and its lines are sent, or the client is gone.
async fn report(
    mut lines: mpsc::Receiver<String>,
    sink: ProgressSink,
    mut call_ended: oneshot::Receiver<()>,
) {
    let mut ticks = interval_at(Instant::now() + KEEP_ALIVE, KEEP_ALIVE);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut latest = STILL_WAITING.to_owned();
    let mut steps = 0_u32;
    let mut open = true;
    loop {
        tokio::select! {
            biased;
            line = lines.recv(), if open => match line {
                Some(line) => latest = line,
                None => {
                    open = false;
                    continue;
                }
            },
            _ = &mut call_ended => return,
            _ = ticks.tick() => {}
        }
        steps += 1;
        let step = ProgressNotificationParam::new(sink.token.clone(), f64::from(steps))
            .with_message(latest.clone());
        if let Err(error) = sink.peer.notify_progress(step).await {
            tracing::debug!(%error, "the client no longer takes progress");
            return;
        }
        ticks.reset();
    }
}
