//! The questions guests are asked, and the checks on what they answer: one file a hook.

pub(crate) mod approval;
pub(crate) mod catalogue;
pub(crate) mod configure;
pub(crate) mod describe;
pub(crate) mod guard;
pub(crate) mod message;
pub(crate) mod persona;
pub(crate) mod preset;
pub(crate) mod result;
pub(crate) mod session;
pub(crate) mod tool;

use std::sync::Arc;

use damper_call::{Section, Session, StateMap, StateWrite, ToolCall};
use wasmtime::{
    Engine, Store,
    component::{Instance, Resource},
};

use crate::{
    around::Around,
    bindings::damper::plugin::types,
    failure::GuestFailure,
    imports::{call::CallFacts, session::SessionFacts, state::StateView},
    limits::{LimitHit, LimitKey},
    log::clean,
    plugin::{Guest, Hooks},
    state::{About, Endowment, GuestState, store},
};

/// A guest to be asked, with what it kept for the session.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The guest.
    pub guest: Arc<Guest>,
    /// What it kept; `None` where there is no session or where it keeps nothing.
    pub state: Option<StateMap>,
}

impl From<Arc<Guest>> for Asked {
    fn from(guest: Arc<Guest>) -> Self {
        Self { guest, state: None }
    }
}

/// What asking a guest gave, and what it cost.
#[derive(Debug, Clone)]
pub struct Answer<T> {
    /// The answer, or why there is none.
    pub result: Result<T, GuestFailure>,
    /// Time from start to answer, in microseconds.
    pub micros: u64,
    /// The most linear memory that was in use, in bytes.
    pub memory: u64,
    /// What the guest wrote to its log, made safe to show.
    pub log: String,
    /// What it wrote to its state; nothing unless it answered.
    pub writes: Vec<StateWrite>,
}

/// One thing that is wrong with a row's settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// A JSON pointer to the offending value; empty for the whole.
    pub pointer: String,
    /// What is wrong.
    pub message: String,
}

/// Which question a guest is asked.
pub(crate) trait Question: Send {
    type Answer: Send;

    /// Whether the instance gets its row's settings before it is asked.
    const SETTLED: bool = true;

    /// Returns what the question is about.
    fn about(&self) -> About;

    /// Asks a fresh instance.
    fn ask(
        &self,
        hooks: &Hooks,
        store: &mut Store<GuestState>,
        instance: &Instance,
    ) -> impl Future<Output = Result<Self::Answer, Refusal>> + Send;
}

/// Why a question has no answer, before it is given a name.
pub(crate) enum Refusal {
    /// wasmtime's word.
    Error(wasmtime::Error),
    /// Ours.
    Failure(GuestFailure),
}

impl From<wasmtime::Error> for Refusal {
    fn from(error: wasmtime::Error) -> Self {
        Self::Error(error)
    }
}

impl From<GuestFailure> for Refusal {
    fn from(failure: GuestFailure) -> Self {
        Self::Failure(failure)
    }
}

/// Makes a fresh instance, gives it its settings, if the question is not about them, and asks it.
pub(crate) async fn ask_fresh<Q: Question>(
    engine: &Engine,
    asked: &Asked,
    around: Arc<Around>,
    seed: [u8; 32],
    question: &Q,
) -> Answer<Q::Answer> {
    let started = std::time::Instant::now();
    let guest = &asked.guest;
    let limits = guest.limits.clone();
    let about = question.about();
    let arguments = about
        .call
        .as_ref()
        .map_or(0, |call| call.arguments.len() as u64);
    let endowment = Endowment {
        about,
        around,
        grants: guest.grants.clone(),
        limits: limits.clone(),
        settings: Arc::clone(&guest.settings),
        state: asked.state.clone(),
        seed,
    };
    let mut store = store(engine, endowment);
    let asking = async {
        if arguments > limits.arguments {
            let hit = LimitHit::bytes(LimitKey::Arguments, limits.arguments);
            return Err(GuestFailure::Limit(hit).into());
        }
        let hooks = &guest.plugin.hooks;
        let instance = hooks.instance.instantiate_async(&mut store).await?;
        if Q::SETTLED {
            settle(hooks, &mut store, &instance, &guest.settings).await?;
        }
        question.ask(hooks, &mut store, &instance).await
    };
    let answered = match tokio::time::timeout(limits.wall_time, asking).await {
        Ok(answered) => answered,
        Err(_elapsed) => {
            Err(GuestFailure::Limit(LimitHit::time(LimitKey::WallTime, limits.wall_time)).into())
        }
    };
    let state = store.into_data();
    let result = answered.map_err(|refusal| match refusal {
        Refusal::Failure(failure) => failure,
        Refusal::Error(error) => {
            GuestFailure::from_error(&error, limits.answer, &state.log.last_words())
        }
    });
    let writes = match &result {
        Ok(_answer) => state.state.map(StateView::into_writes).unwrap_or_default(),
        Err(_failure) => Vec::new(),
    };
    Answer {
        result,
        micros: u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX),
        memory: state.meter.memory(),
        log: state.log.text(),
        writes,
    }
}

/// Hands an instance its row's settings, which it took when the row was loaded.
async fn settle(
    hooks: &Hooks,
    store: &mut Store<GuestState>,
    instance: &Instance,
    settings: &str,
) -> Result<(), Refusal> {
    let Some(indices) = &hooks.configure else {
        return Ok(());
    };
    let configure = indices.load(&mut *store, instance)?;
    match configure.call_configure(store, settings).await? {
        Ok(()) => Ok(()),
        Err(errors) => {
            let first = errors
                .first()
                .map_or_else(String::new, |error| shorten(&error.message));
            Err(GuestFailure::Settings(first).into())
        }
    }
}

/// Lends something to a guest. It lives as long as the store, which is this one question.
fn lend<T: Send + 'static>(
    store: &mut Store<GuestState>,
    facts: T,
) -> Result<Resource<T>, Refusal> {
    let owned = store
        .data_mut()
        .table
        .push(facts)
        .map_err(wasmtime::Error::from)?;
    Ok(Resource::new_borrow(owned.rep()))
}

fn lend_call(
    store: &mut Store<GuestState>,
    call: &Arc<ToolCall>,
) -> Result<Resource<CallFacts>, Refusal> {
    let facts = CallFacts {
        call: Arc::clone(call),
        around: Arc::clone(&store.data().around),
    };
    lend(store, facts)
}

fn lend_session(
    store: &mut Store<GuestState>,
    session: &Arc<Session>,
) -> Result<Resource<SessionFacts>, Refusal> {
    let facts = SessionFacts {
        session: Arc::clone(session),
        around: Arc::clone(&store.data().around),
    };
    lend(store, facts)
}

fn not_exported(hook: &str) -> GuestFailure {
    GuestFailure::Host(format!("the plugin does not export the hook `{hook}`"))
}

fn nonsense(why: impl Into<String>) -> GuestFailure {
    GuestFailure::Nonsense(why.into())
}

/// The longest reason, note or display text, in bytes: more than fits a screen helps nobody.
const MAX_TEXT: usize = 8 * 1024;

/// Cuts a guest's message to a size that can be shown and makes it safe to show.
fn shorten(text: &str) -> String {
    let end = text.floor_char_boundary(MAX_TEXT);
    clean(&text.as_bytes()[..end])
}

/// The longest id of a section, in bytes.
const MAX_SECTION_ID: usize = 64;
/// The most sections of one answer.
const MAX_SECTIONS: usize = 64;

/// Checks sections of a prompt. Their texts may be long, since a prompt is.
fn sections_of(sections: Vec<types::Section>) -> Result<Vec<Section>, GuestFailure> {
    if sections.len() > MAX_SECTIONS {
        return Err(nonsense(format!(
            "{} sections; at most {MAX_SECTIONS}",
            sections.len()
        )));
    }
    let checked = sections.into_iter().map(|section| {
        let is_fine = (1..=MAX_SECTION_ID).contains(&section.id.len())
            && section.id.bytes().all(|b| b.is_ascii_graphic());
        match is_fine {
            true => Ok(Section {
                text: clean(section.text.as_bytes()),
                id: section.id,
            }),
            false => Err(nonsense(format!(
                "the section id `{}`: 1 to {MAX_SECTION_ID} visible ASCII characters",
                shorten(&section.id).escape_debug()
            ))),
        }
    });
    checked.collect()
}
