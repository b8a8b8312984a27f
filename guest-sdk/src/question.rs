//! The question to a person that a plugin is asked about.

use crate::{Call, Session, resource::resource};

resource! {
    /// The question to a person that a guard's *ask* raises.
    Question, made from QuestionFacts {
        /// The id that `damper approvals` takes.
        id: String,
        /// The call that waits.
        call: Call<'static>,
        /// The session of that call.
        session: Session<'static>,
        /// The rules that matched, over all guards.
        rules: Vec<String>,
        /// Why it is asked, one reason a line.
        reason: String,
        /// Whether somebody who could answer is attached.
        attended: bool,
    }
}

/// Questions for native tests.
#[cfg(not(target_arch = "wasm32"))]
impl Question<'static> {
    /// Returns a question about a call of the session `session-1` to which somebody is
    /// attached.
    pub fn new(rule: &str, reason: &str) -> Self {
        QuestionFacts {
            rules: vec![rule.to_owned()],
            reason: reason.to_owned(),
            ..QuestionFacts::default()
        }
        .into()
    }

    /// Makes it a question about a call of this session.
    #[must_use]
    pub fn of_session(self, session: Session<'static>) -> Self {
        self.with(|facts| {
            facts.call = facts.call.clone().of_session(&session);
            facts.session = session;
        })
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl Default for QuestionFacts {
    fn default() -> Self {
        Self {
            id: "approval-1".to_owned(),
            call: Call::new("bash"),
            session: Session::new(),
            rules: Vec::new(),
            reason: String::new(),
            attended: true,
        }
    }
}
