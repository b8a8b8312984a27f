//! Asking the guards and combining what they say.

use std::sync::Arc;

use damper_call::{LocalizedText, Objection, ToolCall, Verdict, VerdictKind};
use damper_journal::{CallDecided, Opinion};
use damper_profile::OnFailure;
use damper_wasm::{Answer, GuestFailure, Runtime};

use crate::{
    generation::{Generation, GuardVote, InstalledRow},
    redact::redact_text,
};

/// What all guards together say.
#[derive(Debug)]
pub(crate) struct Decision {
    pub(crate) verdict: VerdictKind,
    /// Each guard's answer, for the journal.
    pub(crate) opinions: Vec<Opinion>,
    /// Why, for the caller: the reasons behind the verdict, one a line.
    pub(crate) reason: String,
    /// What a person is shown, by language.
    pub(crate) display: Vec<LocalizedText>,
}

impl Decision {
    /// Returns the record of the decision. Guards quote what they judge, secrets included.
    pub(crate) fn event(&self, call: &ToolCall) -> CallDecided {
        let clean = |text: &Option<String>| text.as_deref().map(redact_text);
        let opinions = self.opinions.iter().map(|opinion| Opinion {
            reason: clean(&opinion.reason),
            effect: clean(&opinion.effect),
            ..opinion.clone()
        });
        CallDecided {
            call: call.id.clone(),
            verdict: self.verdict,
            opinions: opinions.collect(),
        }
    }
}

/// Asks every guard that covers the call's session and combines their verdicts. All are asked,
/// so that every reason is known; none sees what another said.
pub(crate) async fn decide(
    runtime: &Runtime,
    generation: &Generation,
    call: &Arc<ToolCall>,
) -> Decision {
    let votes = generation.guards(&call.session);
    let guests = votes
        .iter()
        .filter_map(|(_row, vote)| match vote {
            GuardVote::Ask(guest) => Some(Arc::clone(guest)),
            GuardVote::Failed(_) => None,
        })
        .collect::<Vec<_>>();
    let answers = if guests.is_empty() {
        Vec::new()
    } else {
        runtime.check(guests, call).await
    };
    let mut answers = answers.into_iter();
    let judged = votes
        .iter()
        .filter_map(|(row, vote)| match vote {
            GuardVote::Ask(_) => answers.next().map(|answer| judge(row, answer)),
            GuardVote::Failed(why) => Some(judge_absent(row, why)),
        })
        .collect::<Vec<_>>();
    combine(judged)
}

/// One guard's part in the decision.
struct Judged {
    verdict: Verdict,
    opinion: Opinion,
}

fn judge(row: &InstalledRow, answer: Answer<Verdict>) -> Judged {
    row.counters.asked(answer.micros, answer.memory);
    if !answer.log.is_empty() {
        tracing::info!(row = %row.id, log = %answer.log, "guest log");
    }
    let (verdict, failure) = match answer.result {
        Ok(verdict) => (verdict, None),
        Err(failure) => {
            row.counters.failed(&failure);
            tracing::warn!(row = %row.id, %failure, "guard failed");
            let why = format!("the guard `{}` {failure}", row.id);
            (
                failure_vote(row.on_failure(), &why),
                Some(failure.to_string()),
            )
        }
    };
    judged(row, verdict, failure, answer.micros)
}

/// The vote of a guard row that should run and does not.
fn judge_absent(row: &InstalledRow, why: &str) -> Judged {
    let failure = GuestFailure::Host(why.to_owned());
    row.counters.failed(&failure);
    let reason = format!("the guard `{}` does not run: {why}", row.id);
    judged(
        row,
        failure_vote(row.on_failure(), &reason),
        Some(why.to_owned()),
        0,
    )
}

fn judged(row: &InstalledRow, verdict: Verdict, failure: Option<String>, micros: u64) -> Judged {
    row.counters.voted(verdict.kind());
    let objection = verdict.objection();
    let plugin = match &row.running {
        crate::Running::Plugin(loaded) => Some(&loaded.plugin),
        crate::Running::Nothing | crate::Running::Native(_) => None,
    };
    let opinion = Opinion {
        row: row.id.clone(),
        plugin: plugin.map_or_else(
            || "not loaded".to_owned(),
            |plugin| plugin.manifest.id.clone(),
        ),
        digest: plugin.map(|plugin| plugin.digest),
        verdict: verdict.kind(),
        rules: objection
            .map(|objection| objection.rules.clone())
            .unwrap_or_default(),
        reason: objection.map(|objection| objection.reason.clone()),
        effect: objection.and_then(|objection| objection.effect.clone()),
        micros,
        failure,
    };
    Judged { verdict, opinion }
}

/// The rule that a failed guard's vote names.
const FAILURE_RULE: &str = "guard-failed";

/// Returns what a guard's failure counts as.
fn failure_vote(on_failure: OnFailure, why: &str) -> Verdict {
    match on_failure {
        OnFailure::Ask => Verdict::Ask(Objection::new(FAILURE_RULE, why)),
        OnFailure::Deny => Verdict::Deny(Objection::new(FAILURE_RULE, why)),
        OnFailure::Pass => Verdict::Allow,
    }
}

fn combine(judged: Vec<Judged>) -> Decision {
    let verdict = VerdictKind::combine(judged.iter().map(|judged| judged.verdict.kind()));
    let decisive: Vec<&Objection> = judged
        .iter()
        .filter(|judged| judged.verdict.kind() == verdict)
        .filter_map(|judged| judged.verdict.objection())
        .collect();
    let reason = decisive
        .iter()
        .map(|objection| objection.reason.as_str())
        .collect::<Vec<_>>()
        .join("\n");
    let display = decisive
        .iter()
        .flat_map(|objection| objection.display.iter().cloned())
        .collect();
    Decision {
        verdict,
        reason,
        display,
        opinions: judged.into_iter().map(|judged| judged.opinion).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_guard_counts_as_its_row_says() {
        let table = [
            (OnFailure::Ask, VerdictKind::Ask),
            (OnFailure::Deny, VerdictKind::Deny),
            (OnFailure::Pass, VerdictKind::Allow),
        ];
        for (on_failure, expected) in table {
            let vote = failure_vote(on_failure, "it looped");
            assert_eq!(vote.kind(), expected);
            if let Some(objection) = vote.objection() {
                assert_eq!(objection.reason, "it looped");
            }
        }
    }
}
