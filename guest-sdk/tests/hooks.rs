//! Each hook, asked natively as a plugin's own tests ask it.

use damper_guest::{
    Approval, Call, CannotRun, Catalogue, Composition, ContextSource, Delivery, Description,
    Disposition, Guard, ListedTool, Mail, Message, ModeBinding, ModelChoice, NoConfig, Objection,
    Opening, Outcome, Persona, Preflight, Preset, Question, Review, Section, Session, ToolFilter,
    Verdict, Welcome, WorkerKind,
};

/// A plugin of all hooks but `tool`, which is tested with its arguments below.
struct All;

macro_rules! hook {
    (impl $hook:ident { $($body:tt)* }) => {
        impl $hook for All {
            const ID: &'static str = "test/all";
            type Config = NoConfig;

            fn new(_: NoConfig) -> Self {
                Self
            }

            $($body)*
        }
    };
}

hook! { impl Guard {
    fn check(&self, call: &Call) -> Verdict {
        match call.mode() {
            ModeBinding::Bound(mode) => Verdict::Ask(Objection::new("bound", mode)),
            ModeBinding::None | ModeBinding::Unknown => Verdict::Allow,
        }
    }
} }

hook! { impl Catalogue {
    fn withhold(&self, session: &Session, tools: &[ListedTool]) -> Vec<String> {
        let keep = session.keep();
        let names = tools.iter().map(|tool| tool.name.clone());
        match &*session.role() {
            "coordinator" => names.filter(|name| !keep.contains(name)).collect(),
            _ => Vec::new(),
        }
    }
} }

hook! { impl Preset {
    fn describe(&self) -> Description {
        Description {
            name: "Plan".to_owned(),
            description: "Plans, and lets others work.".to_owned(),
            order: 1,
        }
    }

    fn compose(&self, session: &Session) -> Result<Composition, CannotRun> {
        if session.roots().is_empty() {
            return Err(CannotRun("there is no workspace".to_owned()));
        }
        Ok(Composition::coordinator()
            .all_but(["bash"])
            .keep(["read"])
            .keep(["grep"])
            .section("persona", "You plan.")
            .kind(
                WorkerKind::new("subagent", "Works.")
                    .only(["read", "edit"])
                    .persona("You work.")
                    .context(ContextSource::Fork)
                    .model("provider", "small"),
            ))
    }
} }

hook! { impl Persona {
    fn sections(&self, session: &Session) -> Vec<Section> {
        session.kind().map(|kind| Section::new("kind", kind)).into_iter().collect()
    }
} }

hook! { impl Message {
    fn before_send(&self, mail: &Mail) -> Delivery {
        let from_parent = mail.recipient().parent() == Some(mail.sender().id());
        match from_parent && mail.recipient_is_busy() && mail.text().starts_with("stop") {
            true => Delivery::InterruptFirst,
            false => Delivery::Deliver,
        }
    }
} }

hook! { impl Approval {
    fn route(&self, question: &Question) -> damper_guest::Whom {
        use damper_guest::Whom;
        match (question.attended(), question.session().depth()) {
            (false, _) => Whom::Nobody(format!("nobody is there for {}", question.call().tool())),
            (true, 0) => Whom::DefaultPath,
            (true, _) => Whom::OwnSession,
        }
    }
} }

hook! { impl Review {
    fn review(&self, outcome: &Outcome) -> Disposition {
        if outcome.text().contains("PRIVATE KEY") {
            return Disposition::Withhold(format!("{} showed a key", outcome.call().tool()));
        }
        match outcome.is_error() {
            true => Disposition::Annotate(format!("{:?}", outcome.ending())),
            false => Disposition::Keep,
        }
    }
} }

hook! { impl Welcome {
    fn opened(&self, session: &Session) -> Opening {
        Opening {
            notices: session.mode_id().into_iter().collect(),
            preflights: vec![Preflight::Writable(session.cwd())],
        }
    }
} }

#[test]
fn a_call_knows_what_its_session_is() {
    assert_eq!(All.check(&Call::new("bash")), Verdict::Allow);
    let worker = Session::new().bound_to("plan").worker("subagent");
    let call = Call::new("bash").of_session(&worker);
    let verdict = All.check(&call);
    assert_eq!(verdict.objection().expect("it asks").reason, "plan");
    assert_eq!(call.kind().as_deref(), Some("subagent"));
    assert_eq!(call.root_session(), "session-1");
    assert_eq!(call.session(), worker.id());
}

#[test]
fn a_catalogue_withholds_from_coordinators() {
    let tools = ["read", "edit"].map(ListedTool::new);
    let solo = Session::new().bound_to("plan");
    assert!(All.withhold(&solo, &tools).is_empty());
    assert_eq!(All.withhold(&solo.coordinator(["read"]), &tools), ["edit"]);
}

#[test]
fn a_preset_composes() {
    let composed = All.compose(&Session::new()).expect("it can run");
    assert!(composed.coordinates);
    assert_eq!(composed.tools, ToolFilter::AllBut(vec!["bash".to_owned()]));
    assert_eq!(composed.keep, ["read", "grep"]);
    assert_eq!(composed.sections, [Section::new("persona", "You plan.")]);
    let kind = WorkerKind {
        name: "subagent".to_owned(),
        description: "Works.".to_owned(),
        tools: ToolFilter::Only(vec!["read".to_owned(), "edit".to_owned()]),
        persona: vec![Section::new("persona", "You work.")],
        context: ContextSource::Fork,
        model: Some(ModelChoice {
            provider: "provider".to_owned(),
            model: "small".to_owned(),
        }),
    };
    assert_eq!(composed.kinds, [kind]);
    assert_eq!(All.describe().order, 1);
}

#[test]
fn a_preset_says_why_it_cannot_run() {
    let nowhere = Session::new().with(|facts| facts.roots.clear());
    let error = All.compose(&nowhere).expect_err("it cannot run");
    assert_eq!(
        error.to_string(),
        "the mode cannot run: there is no workspace"
    );
}

#[test]
fn a_persona_writes_for_a_kind() {
    assert!(All.sections(&Session::new()).is_empty());
    let worker = Session::new().worker("explore");
    assert_eq!(All.sections(&worker), [Section::new("kind", "explore")]);
}

#[test]
fn a_message_interrupts() {
    let idle = Mail::new("stop");
    assert_eq!(All.before_send(&idle), Delivery::Deliver);
    assert_eq!(
        All.before_send(&idle.clone().while_busy()),
        Delivery::InterruptFirst
    );
    let stranger = idle.between(Session::new().called("other"), Session::new());
    assert_eq!(All.before_send(&stranger.while_busy()), Delivery::Deliver);
}

#[test]
fn an_approval_goes_somewhere() {
    use damper_guest::Whom;
    let question = Question::new("delete", "it deletes");
    assert_eq!(question.rules(), ["delete"]);
    assert_eq!(All.route(&question), Whom::DefaultPath);
    let of_worker = question.of_session(Session::new().worker("subagent"));
    assert_eq!(All.route(&of_worker), Whom::OwnSession);
    assert_eq!(of_worker.call().role(), "worker");
    let alone = of_worker.with(|facts| facts.attended = false);
    assert_eq!(
        All.route(&alone),
        Whom::Nobody("nobody is there for bash".to_owned())
    );
}

#[test]
fn a_review_withholds_and_annotates() {
    let outcome = |text: &str| Outcome::new(Call::new("read"), text);
    assert_eq!(All.review(&outcome("fine")), Disposition::Keep);
    assert_eq!(outcome("fine").text_bytes(), 4);
    let error = outcome("no").with(|facts| facts.is_error = true);
    assert_eq!(
        All.review(&error),
        Disposition::Annotate("Completed".to_owned())
    );
    let key = outcome("BEGIN PRIVATE KEY");
    assert_eq!(
        All.review(&key),
        Disposition::Withhold("read showed a key".to_owned())
    );
}

#[test]
fn a_welcome_goes_by_the_mode_recorded_while_the_live_one_is_unknown() {
    let opening = All.opened(&Session::new());
    assert!(opening.notices.is_empty());
    assert_eq!(
        opening.preflights,
        [Preflight::Writable("/workspace".to_owned())]
    );
    let bound = Session::new().bound_to("plan");
    assert_eq!(All.opened(&bound).notices, ["plan"]);
    let restored = bound.with(|facts| facts.mode = ModeBinding::Unknown);
    assert_eq!(All.opened(&restored).notices, ["plan"]);
    let unbound = restored.with(|facts| facts.mode = ModeBinding::None);
    assert!(All.opened(&unbound).notices.is_empty());
}

#[test]
fn a_tool_reads_its_arguments() {
    use damper_guest::ToolError;
    #[derive(Debug, PartialEq, damper_guest::Deserialize)]
    #[serde(crate = "damper_guest::serde", deny_unknown_fields)]
    struct Arguments {
        lines: Vec<u32>,
    }
    let read = |arguments| {
        let call = Call::new("count").with_arguments(&arguments);
        call.read_arguments::<Arguments>()
    };
    assert_eq!(
        read(serde_json::json!({"lines": [1, 2]})),
        Ok(Arguments { lines: vec![1, 2] })
    );
    assert_eq!(
        read(serde_json::json!({"lines": [1, "x"]})),
        Err(ToolError::InvalidArguments(
            "/lines/1: invalid type: string \"x\", expected u32".to_owned()
        ))
    );
    assert_eq!(
        read(serde_json::json!({})),
        Err(ToolError::InvalidArguments(
            "missing field `lines`".to_owned()
        ))
    );
}
