//! A plugin with all hooks, which the cases of `docs/testing-plugins.md` are about.

use damper_guest::{
    Approval, Call, CannotRun, Catalogue, Composition, Definition, Delivery, Description,
    Disposition, EffectClass, Grants, Guard, ListedTool, Mail, Message, ModeBinding, NoConfig,
    Objection, Opening, Outcome, Output, Persona, Preflight, Preset, Question, Review, Section,
    Session, Tool, ToolError, Verdict, Welcome, Whom, WorkerKind, export_plugin, files, state,
};

pub struct Every;

macro_rules! part {
    ($($hook:ident { $($body:tt)* })*) => {
        $(impl $hook for Every {
            const ID: &'static str = "acme/every-hook";
            type Config = NoConfig;

            fn new(_: NoConfig) -> Self {
                Self
            }

            $($body)*
        })*
    };
}

part! {
    Guard {
        fn check(&self, call: &Call) -> Verdict {
            let Some(command) = call.command() else {
                return Verdict::Allow;
            };
            assert!(!command.text.contains("trap"), "as the case wants it");
            if !command.text.contains("--force") {
                return Verdict::Allow;
            }
            let objection = Objection::new("force", format!("forced in {}", call.cwd()));
            match call.mode() {
                ModeBinding::Bound(_) => Verdict::Deny(objection),
                ModeBinding::None | ModeBinding::Unknown => Verdict::Ask(objection),
            }
        }
    }
    Catalogue {
        fn withhold(&self, session: &Session, tools: &[ListedTool]) -> Vec<String> {
            let keep = session.keep();
            let names = tools.iter().map(|tool| tool.name.clone());
            names.filter(|name| !keep.contains(name)).collect()
        }
    }
    Preset {
        fn describe(&self) -> Description {
            Description { name: "Every".to_owned(), description: String::new(), order: 1 }
        }

        fn compose(&self, session: &Session) -> Result<Composition, CannotRun> {
            if session.depth() > 0 {
                return Err(CannotRun("only a root plans".to_owned()));
            }
            Ok(Composition::coordinator()
                .keep(["read"])
                .kind(WorkerKind::new("subagent", "Does one piece of work."))
                .section("persona", "You plan and check."))
        }
    }
    Persona {
        fn sections(&self, session: &Session) -> Vec<Section> {
            vec![Section::new("house", format!("You are a {}.", session.role()))]
        }
    }
    Tool {
        const GRANTS: Grants = Grants::WORKSPACE_METADATA;

        fn definitions(&self) -> Vec<Definition> {
            vec![Definition {
                name: "count_bytes".to_owned(),
                description: "Counts the bytes of a file, and how often it did.".to_owned(),
                input_schema: serde_json::json!({"type": "object"}),
                effect: EffectClass::Once,
                command: None,
                paths: vec!["path".to_owned()],
            }]
        }

        fn run(&self, call: &Call) -> Result<Output, ToolError> {
            let path = call.paths().pop().unwrap_or_default();
            let found = files::stat(&path).map_err(|error| ToolError::Denied(error.to_string()))?;
            state::update("count", |count: &mut u64| *count += 1)
                .map_err(|error| ToolError::Failed(error.to_string()))?;
            Ok(Output::text(format!("{} bytes", found.size.unwrap_or(0))))
        }
    }
    Message {
        fn before_send(&self, mail: &Mail) -> Delivery {
            match mail.recipient_is_busy() && mail.text().starts_with("stop") {
                true => Delivery::InterruptFirst,
                false => Delivery::Deliver,
            }
        }
    }
    Approval {
        fn route(&self, question: &Question) -> Whom {
            match question.attended() {
                true => Whom::OwnSession,
                false => Whom::Nobody("nobody is there".to_owned()),
            }
        }
    }
    Review {
        fn review(&self, outcome: &Outcome) -> Disposition {
            match outcome.text().contains("SECRET") {
                true => Disposition::Withhold("it holds a secret".to_owned()),
                false => Disposition::Keep,
            }
        }
    }
    Welcome {
        fn opened(&self, session: &Session) -> Opening {
            Opening {
                notices: vec![format!("welcome, {}", session.agent().unwrap_or_default())],
                preflights: vec![Preflight::Program("git".to_owned())],
            }
        }
    }
}

export_plugin!(
    guard: Every,
    catalogue: Every,
    preset: Every,
    persona: Every,
    tool: Every,
    message: Every,
    approval: Every,
    review: Every,
    welcome: Every,
);
