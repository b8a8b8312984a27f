//! A plugin of every hook but guard and tool. It behaves well, and tells by what it answers
//! that it was asked, except for the hook that `fails`, which goes wrong as `how` says.

use damper_guest::{
    Approval, CannotRun, Catalogue, Composition, Delivery, Description, Deserialize, Disposition,
    JsonSchema, ListedTool, Mail, Message, Opening, Outcome, Persona, Preflight, Preset, Question,
    Review, Section, Session, Welcome, Whom, export_plugin, state,
};

/// The settings of the row.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Hooks {
    /// The hook that goes wrong; none behaves well.
    fails: Option<Fails>,
    /// How it goes wrong.
    how: How,
    /// How often the hook `catalogue` answers well in a session before it fails.
    well: u32,
}

#[derive(Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Fails {
    Catalogue,
    Describe,
    Compose,
    Persona,
    Message,
    Approval,
    Result,
    Session,
}

#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum How {
    /// Never ends.
    #[default]
    Loop,
    /// Panics.
    Trap,
    /// Leaves with success.
    Exit,
    /// Eats memory.
    Memory,
    /// Answers what makes no sense.
    Nonsense,
}

impl Hooks {
    /// Goes wrong if `hook` is the one that does. Returns whether the answer is to be nonsense.
    fn asked(&self, hook: Fails) -> bool {
        if self.fails != Some(hook) {
            return false;
        }
        match self.how {
            How::Loop => loop {
                std::hint::black_box(());
            },
            How::Trap => {
                let nothing: Option<()> = std::hint::black_box(None);
                nothing.expect("hostile-hooks panics on purpose");
            }
            How::Exit => std::process::exit(0),
            How::Memory => {
                let mut eaten = Vec::new();
                loop {
                    eaten.push(std::hint::black_box(vec![1_u8; 1 << 20]));
                }
            }
            How::Nonsense => {}
        }
        true
    }
}

macro_rules! hook {
    (impl $hook:ident { $($body:tt)* }) => {
        impl $hook for Hooks {
            const ID: &'static str = "test/hostile-hooks";

            type Config = Self;

            fn new(config: Self) -> Self {
                config
            }

            $($body)*
        }
    };
}

hook! { impl Catalogue {
    fn withhold(&self, _: &Session, _: &[ListedTool]) -> Vec<String> {
        let answered: u32 = state::read("answered").ok().flatten().unwrap_or(0);
        if answered >= self.well && self.asked(Fails::Catalogue) {
            return (0..100_000).map(|number| format!("no-such-tool-{number}")).collect();
        }
        if self.fails == Some(Fails::Catalogue) && state::write("answered", &(answered + 1)).is_err() {
            return Vec::new();
        }
        vec!["grep".to_owned(), "no_such_tool".to_owned()]
    }
} }

hook! { impl Preset {
    fn describe(&self) -> Description {
        let is_nonsense = self.asked(Fails::Describe);
        Description {
            name: if is_nonsense { "" } else { "Hooks" }.to_owned(),
            description: "Has every hook.".to_owned(),
            order: 5,
        }
    }

    fn compose(&self, _: &Session) -> Result<Composition, CannotRun> {
        let composition = Composition::solo().section("persona", "this was composed");
        Ok(match self.asked(Fails::Compose) {
            true => composition.only(["no tool has such a name"]),
            false => composition,
        })
    }
} }

hook! { impl Persona {
    fn sections(&self, _: &Session) -> Vec<Section> {
        match self.asked(Fails::Persona) {
            true => vec![Section::new("\u{1b}[2J", "clears the screen")],
            false => vec![Section::new("persona", "this was replaced")],
        }
    }
} }

hook! { impl Message {
    fn before_send(&self, _: &Mail) -> Delivery {
        self.asked(Fails::Message);
        Delivery::InterruptFirst
    }
} }

hook! { impl Approval {
    fn route(&self, _: &Question) -> Whom {
        match self.asked(Fails::Approval) {
            true => Whom::Nobody(" ".to_owned()),
            false => Whom::Nobody("this was routed to nobody".to_owned()),
        }
    }
} }

hook! { impl Review {
    fn review(&self, outcome: &Outcome) -> Disposition {
        if self.asked(Fails::Result) {
            return Disposition::Withhold(String::new());
        }
        match outcome.text() {
            text if text.contains("WITHHOLD") => Disposition::Withhold("this was withheld".to_owned()),
            text if text.contains("NOTE") => Disposition::Annotate("this was noted".to_owned()),
            _ => Disposition::Keep,
        }
    }
} }

hook! { impl Welcome {
    fn opened(&self, _: &Session) -> Opening {
        let notices = match self.asked(Fails::Session) {
            true => vec!["again and again".to_owned(); 1_000],
            false => vec!["this was a welcome".to_owned()],
        };
        Opening {
            notices,
            preflights: vec![
                Preflight::Writable(".".to_owned()),
                Preflight::Program("sh".to_owned()),
            ],
        }
    }
} }

export_plugin!(
    catalogue: Hooks,
    preset: Hooks,
    persona: Hooks,
    message: Hooks,
    approval: Hooks,
    review: Hooks,
    welcome: Hooks,
);
