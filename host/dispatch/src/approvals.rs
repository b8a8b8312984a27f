//! Approvals: the questions to a person that an *ask* raises.
//!
//! Only a person who is attached turns an ask into a run. A question lives no longer than
//! somebody is there to answer it; everything else denies.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use damper_call::{ApprovalId, CallId, LocalizedText, SessionId};
use tokio::sync::{oneshot, watch};

/// Questions at once, over all sessions. A person who faces more has lost control anyway.
const MAX_PENDING: usize = 256;

/// A question that waits for an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pending {
    /// Its id.
    pub id: ApprovalId,
    /// The call it is about.
    pub call: CallId,
    /// The session of the call.
    pub session: SessionId,
    /// The session on which it is asked.
    pub asked: SessionId,
    /// What the calling agent says it is.
    pub agent: Option<String>,
    /// The tool.
    pub tool: String,
    /// The command line or, where there is none, the arguments.
    pub subject: String,
    /// Where it would run.
    pub cwd: String,
    /// Why it is asked: one line for each guard.
    pub reason: String,
    /// What the person is shown, by language.
    pub display: Vec<LocalizedText>,
    /// When it was raised, in milliseconds since the Unix epoch.
    pub raised_at_ms: u64,
}

/// The answer to a question, and where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// Whether the call may run.
    pub allowed: bool,
    /// Who or what answered.
    pub by: String,
    /// Why, if anybody said.
    pub why: Option<String>,
}

impl Reply {
    fn denied(by: &str, why: &str) -> Self {
        Self {
            allowed: false,
            by: by.to_owned(),
            why: Some(why.to_owned()),
        }
    }
}

/// Why an answer was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// There is no such question, or it has been answered.
    #[error(
        "no approval `{0}` is waiting; it may have been answered or withdrawn (`damper approvals list`)"
    )]
    NotWaiting(String),
    /// The prefix fits several.
    #[error("`{0}` fits several approvals; give more of the id")]
    Ambiguous(String),
}

/// All questions of the host.
#[derive(Debug, Clone, Default)]
pub struct Approvals {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Calls raise and withdraw, people answer, surfaces attach: short and never across an await.
    state: Mutex<State>,
    changes: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct State {
    waiting: BTreeMap<ApprovalId, (Pending, oneshot::Sender<Reply>)>,
    surfaces: usize,
}

/// An answering surface, attached as long as this lives.
#[derive(Debug)]
pub struct Attached {
    shared: Arc<Shared>,
}

/// A question that has been raised. Dropping it withdraws the question.
#[derive(Debug)]
pub(crate) struct Raised {
    shared: Arc<Shared>,
    id: ApprovalId,
    answer: oneshot::Receiver<Reply>,
}

impl Shared {
    fn with<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let result = change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.changes.send_modify(|count| *count += 1);
        result
    }
}

impl Approvals {
    /// Attaches an answering surface.
    pub fn attach(&self) -> Attached {
        self.shared.with(|state| state.surfaces += 1);
        Attached {
            shared: Arc::clone(&self.shared),
        }
    }

    /// Returns whether somebody is there to answer.
    pub fn attended(&self) -> bool {
        self.shared
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .surfaces
            > 0
    }

    /// Returns the questions that wait, the oldest first.
    pub fn pending(&self) -> Vec<Pending> {
        let state = self
            .shared
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        state
            .waiting
            .values()
            .map(|(pending, _answer)| pending.clone())
            .collect()
    }

    /// Changes whenever a question comes or goes, or a surface does.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.shared.changes.subscribe()
    }

    /// Answers the question whose id is or begins with `prefix`. The first answer wins.
    pub fn answer(&self, prefix: &str, reply: Reply) -> Result<Pending, AnswerError> {
        self.shared.with(|state| {
            let mut fitting = state
                .waiting
                .keys()
                .filter(|id| id.as_str().starts_with(prefix));
            let id = fitting
                .next()
                .cloned()
                .ok_or_else(|| AnswerError::NotWaiting(prefix.to_owned()))?;
            if id.as_str() != prefix && fitting.next().is_some() {
                return Err(AnswerError::Ambiguous(prefix.to_owned()));
            }
            let (pending, answer) = state
                .waiting
                .remove(&id)
                .ok_or_else(|| AnswerError::NotWaiting(prefix.to_owned()))?;
            if answer.send(reply).is_err() {
                return Err(AnswerError::NotWaiting(prefix.to_owned()));
            }
            Ok(pending)
        })
    }

    /// Raises a question, or answers it at once where nobody could.
    pub(crate) fn raise(&self, pending: Pending) -> Result<Raised, Reply> {
        self.shared.with(|state| {
            if state.surfaces == 0 {
                return Err(Reply::denied(
                    "nobody",
                    "nobody is attached to answer; run `damper approvals watch` in a terminal and try again",
                ));
            }
            if state.waiting.len() >= MAX_PENDING {
                return Err(Reply::denied("host", "256 other approvals are waiting"));
            }
            let (sender, answer) = oneshot::channel();
            let id = pending.id.clone();
            state.waiting.insert(id.clone(), (pending, sender));
            Ok(Raised { shared: Arc::clone(&self.shared), id, answer })
        })
    }
}

impl Raised {
    /// Waits for the answer.
    pub(crate) async fn answer(mut self) -> Reply {
        (&mut self.answer).await.unwrap_or_else(|_gone| {
            Reply::denied(
                "nobody",
                "the last attached surface left before an answer came",
            )
        })
    }
}

impl Drop for Raised {
    fn drop(&mut self) {
        self.shared.with(|state| state.waiting.remove(&self.id));
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        self.shared.with(|state| {
            state.surfaces -= 1;
            if state.surfaces == 0 {
                // Dropping the senders denies: nobody is left who could answer.
                state.waiting.clear();
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question() -> Pending {
        Pending {
            id: ApprovalId::unique(),
            call: CallId::unique(),
            session: SessionId::unique(),
            asked: "s1".parse().unwrap(),
            agent: None,
            tool: "bash".to_owned(),
            subject: "rm -rf build".to_owned(),
            cwd: "/w".to_owned(),
            reason: "deletes".to_owned(),
            display: Vec::new(),
            raised_at_ms: 0,
        }
    }

    fn person(allowed: bool) -> Reply {
        Reply {
            allowed,
            by: "ann".to_owned(),
            why: None,
        }
    }

    #[tokio::test]
    async fn denies_at_once_when_nobody_is_there() {
        let reply = Approvals::default().raise(question()).unwrap_err();
        assert!(!reply.allowed);
        assert!(reply.why.unwrap().contains("damper approvals watch"));
    }

    #[tokio::test]
    async fn the_first_answer_wins_and_counts_once() {
        let approvals = Approvals::default();
        let _surface = approvals.attach();
        let pending = question();
        let raised = approvals.raise(pending.clone()).unwrap();
        assert_eq!(approvals.pending().first(), Some(&pending));
        approvals.answer(pending.id.as_str(), person(true)).unwrap();
        let second = approvals.answer(pending.id.as_str(), person(false));
        assert_eq!(second, Err(AnswerError::NotWaiting(pending.id.to_string())));
        assert!(raised.answer().await.allowed);
    }

    #[tokio::test]
    async fn denies_when_the_last_surface_leaves() {
        let approvals = Approvals::default();
        let (one, other) = (approvals.attach(), approvals.attach());
        let raised = approvals.raise(question()).unwrap();
        drop(one);
        assert_eq!(approvals.pending().len(), 1);
        drop(other);
        assert!(!raised.answer().await.allowed);
    }

    #[test]
    fn a_call_that_is_taken_back_withdraws_its_question() {
        let approvals = Approvals::default();
        let _surface = approvals.attach();
        drop(approvals.raise(question()).unwrap());
        assert!(approvals.pending().is_empty());
    }

    #[test]
    fn an_id_may_be_shortened_while_it_fits_one() {
        let approvals = Approvals::default();
        let _surface = approvals.attach();
        let (first, second) = (question(), question());
        let _raised = [
            approvals.raise(first.clone()).unwrap(),
            approvals.raise(second).unwrap(),
        ];
        assert_eq!(
            approvals.answer("a", person(true)),
            Err(AnswerError::Ambiguous("a".to_owned()))
        );
        assert_eq!(
            approvals.answer(first.id.as_str(), person(true)).unwrap(),
            first
        );
    }

    #[test]
    fn refuses_to_pile_up_questions_without_end() {
        let approvals = Approvals::default();
        let _surface = approvals.attach();
        let raised: Vec<_> = (0..MAX_PENDING)
            .map(|_| approvals.raise(question()).unwrap())
            .collect();
        assert_eq!(approvals.raise(question()).unwrap_err().by, "host");
        drop(raised);
        assert!(approvals.raise(question()).is_ok());
    }
}
