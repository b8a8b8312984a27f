//! Asks a guest and puts what it answers into the words of cases.

use std::{collections::BTreeMap, sync::Arc};

use damper_call::{
    Composition, Delivery, Disposition, Mail, Opening, Output, Preflight, Question, Role, Section,
    Session, StateEntry, StateMap, StateWrite, ToolAnswer, ToolCall, ToolDefinition, Verdict, Whom,
};
use damper_wasm::{Answer, Asked, Guest, GuestFailure, Runtime};
use serde_json::{Map, Value, json};

/// An answer by the keys of `expect`.
type Words = Map<String, Value>;

/// Makes [`Words`] of keys and values.
macro_rules! words {
    ({ $($key:literal: $value:expr),* $(,)? }) => {
        Words::from_iter([$(($key.to_owned(), json!($value))),*])
    };
}

/// What a guest is asked.
pub(super) enum Asking {
    Guard(Arc<ToolCall>),
    Tool(Arc<ToolCall>),
    Result(Arc<ToolAnswer>),
    Approval(Arc<Question>),
    Catalogue(Arc<Session>, Arc<[Arc<ToolDefinition>]>),
    Preset(Arc<Session>),
    Persona(Arc<Session>),
    Session(Arc<Session>),
    Message(Arc<Mail>),
}

/// What came of it.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) values: Words,
    pub(super) failure: Option<GuestFailure>,
    pub(super) micros: u64,
    pub(super) log: String,
}

impl Seen {
    pub(super) fn failed(failure: &GuestFailure, micros: u64, log: String) -> Self {
        let mut values = Map::new();
        values.insert("failure".to_owned(), failure.kind().into());
        values.insert("log".to_owned(), log.clone().into());
        Self {
            values,
            failure: Some(failure.clone()),
            micros,
            log,
        }
    }

    /// Takes an answer in words; what a guest keeps is what it kept and what it wrote.
    fn of<T>(
        answer: Answer<T>,
        before: &BTreeMap<String, Value>,
        in_words: impl FnOnce(T) -> Words,
    ) -> Self {
        let mut values = match answer.result {
            Ok(value) => in_words(value),
            Err(failure) => return Self::failed(&failure, answer.micros, answer.log),
        };
        values.insert("state".to_owned(), kept(before, answer.writes));
        values.insert("log".to_owned(), answer.log.clone().into());
        Self {
            values,
            failure: None,
            micros: answer.micros,
            log: answer.log,
        }
    }
}

pub(super) async fn ask(
    runtime: &Runtime,
    guest: &Arc<Guest>,
    before: &BTreeMap<String, Value>,
    asking: &Asking,
) -> Seen {
    let asked = Asked {
        guest: Arc::clone(guest),
        state: Some(state(before)),
    };
    match asking {
        Asking::Guard(call) => {
            let text = call.command.clone();
            let text = text.unwrap_or_else(|| call.arguments.to_string());
            let answer = runtime.check(vec![asked], call).await.remove(0);
            Seen::of(answer, before, |verdict| of_guard(&verdict, &text))
        }
        Asking::Tool(call) => Seen::of(runtime.run(asked, call).await, before, |output| {
            of_tool(&output)
        }),
        Asking::Result(answer) => Seen::of(runtime.review(asked, answer).await, before, of_result),
        Asking::Approval(question) => {
            Seen::of(runtime.route(asked, question).await, before, of_approval)
        }
        Asking::Catalogue(session, tools) => {
            let answer = runtime.withhold(asked, session, Arc::clone(tools)).await;
            Seen::of(answer, before, |names| words!({ "withheld": names }))
        }
        Asking::Preset(session) => {
            Seen::of(runtime.compose(asked, session).await, before, of_preset)
        }
        Asking::Persona(session) => {
            let answer = runtime.sections(asked, session).await;
            Seen::of(
                answer,
                before,
                |sections| words!({ "sections": by_id(&sections) }),
            )
        }
        Asking::Session(session) => {
            let answer = runtime.opened(asked, session).await;
            Seen::of(answer, before, |opening| of_session(&opening))
        }
        Asking::Message(mail) => {
            let answer = runtime.before_send(asked, mail).await;
            Seen::of(
                answer,
                before,
                |delivery: Delivery| words!({ "delivery": delivery }),
            )
        }
    }
}

fn of_guard(verdict: &Verdict, text: &str) -> Words {
    let kind = verdict.kind();
    let Some(objection) = verdict.objection() else {
        return words!({ "verdict": kind, "rules": Vec::<String>::new() });
    };
    let span = objection
        .span
        .and_then(|span| text.get(span.start as usize..span.end as usize));
    words!({
        "verdict": kind,
        "rules": objection.rules,
        "reason": objection.reason,
        "effect": objection.effect,
        "span": span,
    })
}

fn of_tool(output: &Output) -> Words {
    match output.is_error {
        true => words!({ "error": output.text }),
        false => words!({ "text": output.text, "structured": output.structured }),
    }
}

fn of_result(disposition: Disposition) -> Words {
    match disposition {
        Disposition::Keep => words!({ "disposition": "keep" }),
        Disposition::Annotate(text) => words!({ "disposition": "annotate", "text": text }),
        Disposition::Withhold(text) => words!({ "disposition": "withhold", "text": text }),
    }
}

fn of_approval(whom: Whom) -> Words {
    match whom {
        Whom::DefaultPath => words!({ "route": "default-path" }),
        Whom::OwnSession => words!({ "route": "own-session" }),
        Whom::RootSession => words!({ "route": "root-session" }),
        Whom::Nobody(reason) => words!({ "route": "nobody", "reason": reason }),
    }
}

fn of_preset(composed: Result<Composition, String>) -> Words {
    let composition = match composed {
        Ok(composition) => composition,
        Err(why) => return words!({ "cannot_run": why }),
    };
    let role = match composition.coordinates {
        true => Role::Coordinator,
        false => Role::Solo,
    };
    let kinds: Vec<&str> = composition
        .kinds
        .iter()
        .map(|kind| kind.name.as_str())
        .collect();
    words!({
        "role": role,
        "tools": composition.tools,
        "keep": composition.keep,
        "kinds": kinds,
        "sections": by_id(&composition.sections),
    })
}

fn of_session(opening: &Opening) -> Words {
    let preflights: Vec<String> = opening
        .preflights
        .iter()
        .map(|preflight| match preflight {
            Preflight::Writable(folder) => format!("writable {folder}"),
            Preflight::Program(name) => format!("program {name}"),
        })
        .collect();
    words!({ "notices": opening.notices, "preflights": preflights })
}

fn by_id(sections: &[Section]) -> Map<String, Value> {
    sections
        .iter()
        .map(|section| (section.id.clone(), section.text.as_str().into()))
        .collect()
}

fn state(before: &BTreeMap<String, Value>) -> StateMap {
    let entry = |(version, (key, value)): (u64, (&String, &Value))| {
        let entry = StateEntry {
            value: value.to_string().into_bytes().into(),
            version,
        };
        (key.clone(), entry)
    };
    // Version 0 is that of a hook's own writes.
    (1..).zip(before).map(entry).collect()
}

/// What is no JSON is shown as a text.
fn kept(before: &BTreeMap<String, Value>, writes: Vec<StateWrite>) -> Value {
    let mut after = before.clone();
    for write in writes {
        match write.value {
            Some(bytes) => {
                let value = serde_json::from_slice(&bytes)
                    .unwrap_or_else(|_no_json| String::from_utf8_lossy(&bytes).into());
                after.insert(write.key, value);
            }
            None => {
                after.remove(&write.key);
            }
        }
    }
    json!(after)
}
