//! The hooks, answered by the plugins that the host configured.

use std::{any::Any, cell::RefCell, collections::BTreeMap, marker::PhantomData};

use super::{
    Ours, Theirs, approval, catalogue, configure, guard, message, persona, preset, review, tool,
    types, welcome,
};
use crate::{
    Approval, Call, Catalogue, ConfigError, Guard, Mail, Message, Outcome, Persona, Preset,
    Question, Review, Session, Tool, Welcome,
};

thread_local! {
    /// The parts of the plugin, by hook.
    static PARTS: RefCell<BTreeMap<&'static str, Box<dyn Any>>> = const { RefCell::new(BTreeMap::new()) };
}

/// Keeps a part of the plugin for its hook, or says what is wrong with its settings.
pub fn configured<P: 'static>(
    hook: &'static str,
    part: Result<P, ConfigError>,
) -> Result<(), Vec<configure::ConfigError>> {
    let part = part.map_err(|error| vec![error.theirs()])?;
    PARTS.with_borrow_mut(|parts| parts.insert(hook, Box::new(part)));
    Ok(())
}

fn ask<P: 'static, R>(hook: &'static str, ask: impl FnOnce(&P) -> R) -> R {
    PARTS.with_borrow(|parts| {
        let part = parts.get(hook).and_then(|part| part.downcast_ref());
        ask(part.expect("the host configures an instance before it asks it"))
    })
}

/// The hooks of a plugin, as the host asks them.
pub struct Asked<P>(PhantomData<P>);

impl<P: Guard> guard::interface::Guest for Asked<P> {
    fn check(call: &types::Call) -> guard::interface::Verdict {
        ask("guard", |plugin: &P| plugin.check(&Call::borrowed(call))).theirs()
    }
}

impl<P: Catalogue> catalogue::interface::Guest for Asked<P> {
    fn withhold(
        session: &types::Session,
        tools: Vec<catalogue::interface::ListedTool>,
    ) -> Vec<String> {
        let (session, tools) = (Session::borrowed(session), tools.ours());
        ask("catalogue", |plugin: &P| plugin.withhold(&session, &tools))
    }
}

impl<P: Preset> preset::interface::Guest for Asked<P> {
    fn describe() -> preset::interface::Description {
        ask("preset", P::describe).theirs()
    }

    fn compose(
        session: &types::Session,
    ) -> Result<preset::interface::Composition, preset::interface::ComposeError> {
        let session = Session::borrowed(session);
        ask("preset", |plugin: &P| plugin.compose(&session)).theirs()
    }
}

impl<P: Persona> persona::interface::Guest for Asked<P> {
    fn sections(session: &types::Session) -> Vec<types::Section> {
        let session = Session::borrowed(session);
        ask("persona", |plugin: &P| plugin.sections(&session)).theirs()
    }
}

impl<P: Tool> tool::interface::Guest for Asked<P> {
    fn definitions() -> Vec<tool::interface::Definition> {
        ask("tool", P::definitions).theirs()
    }

    fn run(call: &types::Call) -> Result<tool::interface::Output, tool::interface::ToolError> {
        ask("tool", |plugin: &P| plugin.run(&Call::borrowed(call))).theirs()
    }
}

impl<P: Message> message::interface::Guest for Asked<P> {
    fn before_send(mail: &types::Mail) -> message::interface::Delivery {
        ask("message", |plugin: &P| {
            plugin.before_send(&Mail::borrowed(mail))
        })
        .theirs()
    }
}

impl<P: Approval> approval::interface::Guest for Asked<P> {
    fn route(question: &types::Question) -> approval::interface::Whom {
        let question = Question::borrowed(question);
        ask("approval", |plugin: &P| plugin.route(&question)).theirs()
    }
}

impl<P: Review> review::interface::Guest for Asked<P> {
    fn review(outcome: &types::Outcome) -> review::interface::Disposition {
        let outcome = Outcome::borrowed(outcome);
        ask("review", |plugin: &P| plugin.review(&outcome)).theirs()
    }
}

impl<P: Welcome> welcome::interface::Guest for Asked<P> {
    fn opened(session: &types::Session) -> welcome::interface::Opening {
        let session = Session::borrowed(session);
        ask("welcome", |plugin: &P| plugin.opened(&session)).theirs()
    }
}
