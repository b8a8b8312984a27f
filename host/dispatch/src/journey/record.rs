//! What the journal is told on the way, and what follows when it cannot be told.

use damper_call::{Digest, EffectClass, LocalizedText, Outcome, StateScope, StateWrite, ToolCall};
use damper_journal::{
    Answer, ApprovalAnswered, ApprovalRaised, CallFinished, CallReceived, CallStarted, Durability,
    Entry, Event, GuestFailed, JournalError, NewRecord, Reviewed,
};
use damper_wasm::Runtime;
use serde_json::Value;

use super::Traveller;
use crate::{
    approvals::{Pending, Reply},
    guards::Decision,
    outcome,
    redact::{redact, redact_text},
    reviews::told,
};

/// The largest answer that goes to the caller in one piece, in bytes. What is larger is kept
/// whole beside the record; the caller gets its head and tail.
const MAX_INLINE: usize = 50_000;

/// The largest arguments that the record holds, in bytes.
const MAX_RECORDED_ARGUMENTS: usize = 64 * 1024;

impl Traveller {
    async fn append(
        &self,
        event: impl Into<Event>,
        durability: Durability,
    ) -> Result<(), JournalError> {
        let session = &self.request.session.id;
        self.shared
            .machinery
            .journal
            .append(session, event, durability)
            .await
            .map(|_seq| ())
    }

    /// Denies because a step could not be journalled.
    pub(super) fn unrecorded(&self, error: &JournalError) -> Outcome {
        outcome::denied(&self.id, &format!("the call cannot be journalled: {error}"))
    }

    pub(super) async fn record_received(&self) -> Result<(), JournalError> {
        let received = CallReceived {
            call: self.id.clone(),
            tool: self.request.tool.chars().take(128).collect(),
            arguments: recorded_arguments(&self.request.arguments),
            cwd: self.request.session.cwd.clone(),
            generation: self.generation.number,
        };
        self.append(received, Durability::Process).await
    }

    /// Records the decision together with each failure of a guest that went into it and with
    /// what the guards keep.
    pub(super) async fn record_decided(
        &self,
        call: &ToolCall,
        decision: &Decision,
        keeps: Vec<(StateScope, Vec<StateWrite>)>,
    ) -> Result<(), JournalError> {
        let input_digest = Runtime::digest(call.arguments.as_bytes());
        let failures = decision.opinions.iter().filter_map(|opinion| {
            Some(GuestFailed {
                row: opinion.row.clone(),
                plugin: opinion.plugin.clone(),
                digest: opinion.digest?,
                hook: "guard.check".to_owned(),
                failure: opinion.failure.clone()?,
                input_digest,
                call: Some(self.id.clone()),
            })
        });
        let events = failures
            .map(Event::from)
            .chain(std::iter::once(Event::from(decision.event(call))));
        let session = &self.request.session.id;
        let mut batch = events
            .map(|event| NewRecord::now(session.clone(), &event).map(Entry::Record))
            .collect::<Result<Vec<_>, _>>()?;
        let keeps = keeps.into_iter();
        batch.extend(keeps.map(|(scope, writes)| Entry::State { scope, writes }));
        self.shared
            .machinery
            .journal
            .commit(batch, Durability::Process)
            .await
            .map(|_seqs| ())
    }

    pub(super) async fn record_raised(&self, pending: &Pending) -> Result<(), Outcome> {
        let display = pending.display.iter().map(|shown| LocalizedText {
            text: redact_text(&shown.text),
            ..shown.clone()
        });
        let raised = ApprovalRaised {
            approval: pending.id.clone(),
            call: self.id.clone(),
            asked: (pending.asked != pending.session).then(|| pending.asked.clone()),
            reason: redact_text(&pending.reason),
            display: display.collect(),
        };
        self.append(raised, Durability::Process)
            .await
            .map_err(|error| self.unrecorded(&error))
    }

    pub(super) async fn record_answered(
        &self,
        pending: &Pending,
        reply: &Reply,
    ) -> Result<(), Outcome> {
        let answered = ApprovalAnswered {
            approval: pending.id.clone(),
            call: self.id.clone(),
            answer: if reply.allowed {
                Answer::Allowed
            } else {
                Answer::Denied
            },
            by: reply.by.clone(),
            why: reply.why.clone(),
        };
        self.append(answered, Durability::Process)
            .await
            .map_err(|error| self.unrecorded(&error))
    }

    /// Records that the tool is about to run. A record of what must not run twice is on the
    /// disk before it runs.
    pub(super) async fn record_started(&self, effect: EffectClass) -> Result<(), Outcome> {
        let durability = match effect {
            EffectClass::Once => Durability::Power,
            EffectClass::None | EffectClass::Idempotent => Durability::Process,
        };
        let started = CallStarted {
            call: self.id.clone(),
            effect,
        };
        self.append(started, durability)
            .await
            .map_err(|error| self.unrecorded(&error))
    }

    /// Records the outcome and returns what the caller is told, which is no more than what is
    /// on record: an outcome that cannot be journalled is not given.
    pub(super) async fn record_finished(self, outcome: Outcome, reviews: Vec<Reviewed>) -> Outcome {
        match self.finish(outcome, reviews).await {
            Ok(outcome) => outcome,
            Err(error) => {
                tracing::error!(%error, call = %self.id, "cannot journal an outcome");
                let text = format!(
                    "what became of the call cannot be journalled ({error}); it may have run: look before making it again"
                );
                outcome::failed(&self.id, damper_call::Ending::Unknown, text)
            }
        }
    }

    async fn finish(
        &self,
        mut outcome: Outcome,
        reviews: Vec<Reviewed>,
    ) -> Result<Outcome, JournalError> {
        let mut content = None;
        if outcome.output.text.len() > MAX_INLINE {
            let whole = std::mem::take(&mut outcome.output.text);
            let digest = self
                .shared
                .machinery
                .journal
                .put(whole.clone().into_bytes(), Durability::Process)
                .await?;
            outcome.output.text = head_and_tail(&whole, &digest);
            content = Some(digest);
        }
        let finished = CallFinished {
            call: self.id.clone(),
            ending: outcome.ending,
            text: outcome.output.text.clone(),
            structured: outcome.output.structured.clone(),
            is_error: outcome.output.is_error,
            truncated: content.is_some(),
            content,
            reviews: reviews.clone(),
            micros: u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX),
        };
        self.append(finished, Durability::Process).await?;
        outcome.output = told(outcome.output, &reviews);
        Ok(outcome)
    }
}

fn recorded_arguments(arguments: &str) -> Value {
    if arguments.len() > MAX_RECORDED_ARGUMENTS {
        let head = &arguments[..arguments.floor_char_boundary(1024)];
        let digest = Runtime::digest(arguments.as_bytes());
        return redact(
            serde_json::json!({ "too_large": arguments.len(), "digest": digest, "head": head }),
        );
    }
    match serde_json::from_str(arguments) {
        Ok(value) => redact(value),
        Err(_not_json) => redact(Value::String(arguments.to_owned())),
    }
}

fn head_and_tail(whole: &str, digest: &Digest) -> String {
    let head_end = whole.floor_char_boundary(MAX_INLINE / 2);
    let tail_start = whole.ceil_char_boundary(whole.len() - MAX_INLINE / 4);
    format!(
        "{}\n[... {} bytes left out; the whole answer: damper log content {digest} ...]\n{}",
        &whole[..head_end],
        tail_start - head_end,
        &whole[tail_start..]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_answer_keeps_its_ends_and_says_where_the_rest_is() {
        let whole = "ä".repeat(MAX_INLINE);
        let short = head_and_tail(&whole, &Digest::from_sha256([1; 32]));
        assert!(short.len() < MAX_INLINE);
        assert!(short.starts_with('ä') && short.ends_with('ä'));
        assert!(
            short
                .contains("62500 bytes left out; the whole answer: damper log content sha256:0101"),
            "{}",
            &short[25000..25200]
        );
    }

    #[test]
    fn large_arguments_are_recorded_by_digest() {
        let recorded = recorded_arguments(&format!(
            "{{\"a\":\"{}\"}}",
            "x".repeat(MAX_RECORDED_ARGUMENTS)
        ));
        assert_eq!(recorded["too_large"], MAX_RECORDED_ARGUMENTS + 8);
    }
}
