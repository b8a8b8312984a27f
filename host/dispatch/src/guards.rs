//! Asking the guards and combining what they say.

use std::{collections::BTreeSet, sync::Arc};

use damper_call::{
    LocalizedText, Objection, RowId, StateScope, StateWrite, ToolCall, Verdict, VerdictKind,
};
use damper_journal::{CallDecided, Opinion};
use damper_profile::OnFailure;
use damper_wasm::{Answer, Asked, GuestFailure, Hook};

use crate::{
    Machinery,
    asking::{kept, lost, note, scope},
    generation::{Generation, GuardVote, InstalledRow},
    redact::redact_text,
};

/// What all guards together say.
#[derive(Debug)]
pub(crate) struct Decision {
    pub(crate) verdict: VerdictKind,
    /// Each guard's answer, for the journal.
    pub(crate) opinions: Vec<Opinion>,
    /// The rules behind the verdict.
    pub(crate) rules: Vec<String>,
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

/// All guards that cover a call's session, and what each says.
///
/// All are asked, so that every reason is known; none sees what another said.
#[derive(Debug)]
pub(crate) struct Jury {
    judged: Vec<Judged>,
    /// The guards that were asked twice.
    again: BTreeSet<RowId>,
}

/// One guard's part in the decision.
#[derive(Debug)]
struct Judged {
    row: Arc<InstalledRow>,
    verdict: Verdict,
    opinion: Opinion,
    /// What it keeps, to be committed with the record of the decision.
    keeps: Option<(StateScope, Vec<StateWrite>)>,
}

impl Jury {
    /// Asks every guard that covers the call's session.
    pub(crate) async fn ask(
        machinery: &Machinery,
        generation: &Generation,
        call: &Arc<ToolCall>,
    ) -> Self {
        let votes = generation.guards(&call.session);
        let mut judged = Vec::with_capacity(votes.len());
        let mut guests = Vec::new();
        for (row, vote) in votes {
            match vote {
                GuardVote::Failed(why) => judged.push(Some(judge_absent(row, &why))),
                GuardVote::Ask(loaded) => {
                    let scope = scope(&row, &loaded, &call.session.id);
                    match kept(machinery, &loaded, &scope).await {
                        Err(failure) => judged.push(Some(judge(row, Err(failure), 0))),
                        Ok(state) => {
                            judged.push(None);
                            let guest = Arc::clone(&loaded.hook);
                            guests.push((row, scope, Asked { guest, state }));
                        }
                    }
                }
            }
        }
        let asked: Vec<Asked> = guests.iter().map(|(_, _, asked)| asked.clone()).collect();
        let answers = match asked.len() {
            0 => Vec::new(),
            _ => machinery.runtime.check(asked, call).await,
        };
        let mut heard = guests
            .into_iter()
            .zip(answers)
            .map(|((row, scope, _asked), answer)| hear(row, scope, answer));
        let judged = judged
            .into_iter()
            .filter_map(|judged| judged.or_else(|| heard.next()));
        Self {
            judged: judged.collect(),
            again: BTreeSet::new(),
        }
    }

    /// Asks a guard again whose state another call changed meanwhile. One that loses a second
    /// time has failed.
    pub(crate) async fn ask_again(
        &mut self,
        machinery: &Machinery,
        call: &Arc<ToolCall>,
        row: &RowId,
    ) {
        let Some(place) = self.judged.iter().position(|judged| judged.row.id == *row) else {
            return;
        };
        let row = Arc::clone(&self.judged[place].row);
        let first = self.again.insert(row.id.clone());
        let judged = match row.plugin(Hook::Guard) {
            Some(loaded) if first => {
                let scope = scope(&row, loaded, &call.session.id);
                match kept(machinery, loaded, &scope).await {
                    Err(failure) => judge(row, Err(failure), 0),
                    Ok(state) => {
                        let guest = Arc::clone(&loaded.hook);
                        let asked = vec![Asked { guest, state }];
                        let mut answers = machinery.runtime.check(asked, call).await;
                        hear(row, scope, answers.remove(0))
                    }
                }
            }
            Some(_) | None => judge(row, Err(lost()), 0),
        };
        self.judged[place] = judged;
    }

    /// Returns what all together say.
    pub(crate) fn decision(&self) -> Decision {
        combine(&self.judged)
    }

    /// Returns what the guards keep, to be committed with the record of the decision.
    pub(crate) fn keeps(&self) -> Vec<(StateScope, Vec<StateWrite>)> {
        let keeps = self.judged.iter().filter_map(|judged| judged.keeps.clone());
        keeps.collect()
    }

    /// Counts the votes, once they are final.
    pub(crate) fn count(&self) {
        for judged in &self.judged {
            judged.row.counters.voted(judged.verdict.kind());
        }
    }
}

fn hear(row: Arc<InstalledRow>, scope: StateScope, answer: Answer<Verdict>) -> Judged {
    note(&row, &answer);
    let keeps = (!answer.writes.is_empty()).then_some((scope, answer.writes));
    Judged {
        keeps,
        ..judge(row, answer.result, answer.micros)
    }
}

fn judge(row: Arc<InstalledRow>, result: Result<Verdict, GuestFailure>, micros: u64) -> Judged {
    let (verdict, failure) = match result {
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
    judged(row, verdict, failure, micros)
}

/// The vote of a guard row that should run and does not.
fn judge_absent(row: Arc<InstalledRow>, why: &str) -> Judged {
    let failure = GuestFailure::Host(why.to_owned());
    row.counters.failed(&failure);
    let reason = format!("the guard `{}` does not run: {why}", row.id);
    let vote = failure_vote(row.on_failure(), &reason);
    judged(row, vote, Some(why.to_owned()), 0)
}

fn judged(
    row: Arc<InstalledRow>,
    verdict: Verdict,
    failure: Option<String>,
    micros: u64,
) -> Judged {
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
    Judged {
        row,
        verdict,
        opinion,
        keeps: None,
    }
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

fn combine(judged: &[Judged]) -> Decision {
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
    let rules = decisive
        .iter()
        .flat_map(|objection| objection.rules.iter().cloned())
        .collect();
    Decision {
        verdict,
        rules,
        reason,
        display,
        opinions: judged.iter().map(|judged| judged.opinion.clone()).collect(),
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
