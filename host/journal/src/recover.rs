//! The honest end of what a host that stopped has left open.

use damper_call::{ApprovalId, CallId, EffectClass, Ending, SessionId};

use crate::{
    Answer, ApprovalAnswered, CallFinished, Durability, Entry, Event, Journal, JournalError,
    NewRecord, OpenCall,
};

/// A call that was given its end at start-up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovered {
    /// The call.
    pub call: CallId,
    /// Its session.
    pub session: SessionId,
    /// What its tool may have done; `None` if it was not started.
    pub started: Option<EffectClass>,
    /// The end it was given: `Cancelled` if it was not started, else `Unknown`.
    pub ending: Ending,
    /// What its caller is told.
    pub text: String,
}

impl Journal {
    /// Ends every call and approval that is open, and returns the calls.
    ///
    /// To be called before the first call is served: one that is running would be ended too.
    /// Finds nothing the second time. All ends are committed as one, or none is.
    pub async fn recover(&self) -> Result<Vec<Recovered>, JournalError> {
        let mut batch = Vec::new();
        for record in self.open_approvals().await? {
            if let Event::ApprovalRaised(raised) = record.event {
                let answered = denied(raised.approval, raised.call);
                batch.push(Entry::Record(NewRecord::now(record.session, &answered)?));
            }
        }
        let mut recovered = Vec::new();
        for open in self.open_calls().await? {
            let end = end_of(open);
            let finished = Event::from(CallFinished {
                call: end.call.clone(),
                ending: end.ending,
                text: end.text.clone(),
                structured: None,
                is_error: true,
                truncated: false,
                content: None,
                reviews: Vec::new(),
                micros: 0,
            });
            let record = NewRecord::now(end.session.clone(), &finished)?;
            batch.push(Entry::Record(record));
            recovered.push(end);
        }
        if !batch.is_empty() {
            self.commit(batch, Durability::Power).await?;
        }
        Ok(recovered)
    }
}

fn denied(approval: ApprovalId, call: CallId) -> Event {
    Event::from(ApprovalAnswered {
        approval,
        call,
        answer: Answer::Denied,
        by: "host".to_owned(),
        why: Some("host stopped".to_owned()),
    })
}

fn end_of(open: OpenCall) -> Recovered {
    let (ending, text) = match open.started {
        None => (
            Ending::Cancelled,
            "the host stopped before the tool ran; nothing was done",
        ),
        Some(EffectClass::None) => (
            Ending::Unknown,
            "the host stopped while the tool ran; its answer is lost. The tool changes nothing, \
             so the call is safe to repeat",
        ),
        Some(EffectClass::Idempotent) => (
            Ending::Unknown,
            "the host stopped while the tool ran; whether it took effect is unknown. A second run \
             leaves the same state as the first, so the call is safe to repeat",
        ),
        Some(EffectClass::Once) => (
            Ending::Unknown,
            "the host stopped while the tool ran; whether it took effect is unknown. The call is \
             not safe to repeat: look first at what it has changed",
        ),
    };
    Recovered {
        call: open.call,
        session: open.session,
        started: open.started,
        ending,
        text: text.to_owned(),
    }
}
