//! Which tools exist for a session: the one function that the list and the call ask.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError},
};

use damper_call::{EffectClass, Role, RowId, Session, SessionId, ToolDefinition, ToolFilter};
use damper_journal::{Durability, ToolsWithheld};
use damper_wasm::{Hook, Runtime};

use crate::{
    InstalledRow, Machinery,
    asking::{Asking, ask},
    generation::{Generation, ToolEntry, covers},
};

/// What each catalogue row last withheld from each session: what holds while it fails.
#[derive(Debug, Default)]
pub(crate) struct LastGood {
    /// Lists and calls of many sessions read and write it, never across an await.
    answers: Mutex<HashMap<(SessionId, RowId), BTreeSet<String>>>,
}

impl LastGood {
    fn get(&self, session: &Session, row: &InstalledRow) -> Option<BTreeSet<String>> {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.get(&(session.id.clone(), row.id.clone())).cloned()
    }

    /// Takes the place of the last answer. Returns whether that was another one.
    fn replace(
        &self,
        session: &Session,
        row: &InstalledRow,
        names: &BTreeSet<String>,
        lives: impl Fn(&SessionId) -> bool,
    ) -> bool {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.len() == answers.capacity() {
            answers.retain(|(session, _row), _names| lives(session));
        }
        let before = answers.insert((session.id.clone(), row.id.clone()), names.clone());
        before.unwrap_or_default() != *names
    }
}

/// Returns the tool that a session knows by this name. What it does not return is unknown
/// to the session, whoever asks.
pub(crate) async fn find<'a>(
    machinery: &Machinery,
    generation: &'a Generation,
    session: &Arc<Session>,
    name: &str,
) -> Option<&'a ToolEntry> {
    let entry = generation.tools.get(name)?;
    if !is_on_surface(entry, session) {
        return None;
    }
    let withheld = withheld(machinery, generation, session).await;
    (!withheld.contains(name)).then_some(entry)
}

/// Returns all tools of a session, sorted by name.
pub(crate) async fn list<'a>(
    machinery: &Machinery,
    generation: &'a Generation,
    session: &'a Arc<Session>,
) -> Vec<&'a ToolEntry> {
    let withheld = withheld(machinery, generation, session).await;
    on_surface(generation, session)
        .filter(|entry| !withheld.contains(&entry.definition.name))
        .collect()
}

/// Returns all tools that a session could have, before anything is withheld.
pub(crate) fn on_surface<'a>(
    generation: &'a Generation,
    session: &'a Session,
) -> impl Iterator<Item = &'a ToolEntry> {
    generation
        .tools
        .values()
        .filter(|entry| is_on_surface(entry, session))
}

fn is_on_surface(entry: &ToolEntry, session: &Session) -> bool {
    let composed = session.composed.as_ref();
    covers(&entry.row.row.covers, session)
        && composed.is_none_or(|composed| composed.surface.contains(&entry.definition.name))
}

/// Returns the names that plugins withhold from a session now. External sessions are not
/// narrowed: they are not composed by us.
async fn withheld(
    machinery: &Machinery,
    generation: &Generation,
    session: &Arc<Session>,
) -> BTreeSet<String> {
    let mut withheld = BTreeSet::new();
    if session.role == Role::External {
        return withheld;
    }
    let rows = generation.asked(Hook::Catalogue, session);
    if rows.is_empty() {
        return withheld;
    }
    // The unrestricted set: a tool that comes later is judged as well.
    let tools: Arc<[Arc<ToolDefinition>]> = generation
        .tools
        .values()
        .filter(|entry| covers(&entry.row.row.covers, session))
        .map(|entry| Arc::clone(&entry.definition))
        .collect();
    for row in rows {
        withheld.extend(withheld_by(machinery, &row, session, &tools).await);
    }
    withheld
}

async fn withheld_by(
    machinery: &Machinery,
    row: &InstalledRow,
    session: &Arc<Session>,
    tools: &Arc<[Arc<ToolDefinition>]>,
) -> BTreeSet<String> {
    let Some(loaded) = row.plugin(Hook::Catalogue) else {
        return BTreeSet::new();
    };
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    let asking = Asking {
        row,
        loaded,
        guest: &loaded.hook,
        hook: "catalogue.withhold",
        session: &session.id,
        call: None,
        input: Runtime::digest(names.join(" ").as_bytes()),
        may_repeat: true,
    };
    let question = |asked| {
        machinery
            .runtime
            .withhold(asked, session, Arc::clone(tools))
    };
    match ask(machinery, asking, question).await {
        Ok(names) => {
            let around = machinery.runtime.around();
            let lives = |id: &SessionId| around.session(id).is_some();
            if machinery.last_good.replace(session, row, &names, lives) {
                tell(machinery, row, session, &names).await;
            }
            names
        }
        Err(_failure) => machinery
            .last_good
            .get(session, row)
            .unwrap_or_else(|| without_answer(row, session, tools)),
    }
}

/// Returns what is withheld while a plugin fails that never answered for this session. A worker
/// whose kind has a list of tools was promised not to change things; others go on, loudly.
fn without_answer(
    row: &InstalledRow,
    session: &Session,
    tools: &[Arc<ToolDefinition>],
) -> BTreeSet<String> {
    let composed = session.composed.as_ref();
    let is_limited =
        composed.is_some_and(|composed| matches!(composed.composition.tools, ToolFilter::Only(_)));
    if session.role == Role::Worker && is_limited {
        tracing::error!(row = %row.id, session = %session.id, "nothing says what to withhold from a worker; it has only tools that change nothing");
        return tools
            .iter()
            .filter(|tool| tool.effect != EffectClass::None)
            .map(|tool| tool.name.clone())
            .collect();
    }
    tracing::error!(row = %row.id, session = %session.id, "nothing says what to withhold; the session has all its tools");
    BTreeSet::new()
}

/// Says and records that other tools are withheld than before.
async fn tell(
    machinery: &Machinery,
    row: &InstalledRow,
    session: &Session,
    names: &BTreeSet<String>,
) {
    let tools: Vec<String> = names.iter().cloned().collect();
    match tools.len() {
        0 => tracing::info!(row = %row.id, session = %session.id, "withholds no tools any more"),
        count => tracing::info!(
            row = %row.id,
            session = %session.id,
            "withholds {count} tool(s): {}",
            tools.join(", ")
        ),
    }
    let event = ToolsWithheld {
        row: row.id.clone(),
        tools,
    };
    if let Err(error) = machinery
        .journal
        .append(&session.id, event, Durability::Process)
        .await
    {
        tracing::error!(%error, "cannot journal what is withheld");
    }
}

/// Returns the tools a session has from now on, by its mode's filter.
pub(crate) fn surface(
    generation: &Generation,
    session: &Session,
    filter: &ToolFilter,
) -> BTreeSet<String> {
    let tools: BTreeMap<_, _> = generation
        .tools
        .iter()
        .filter(|(name, entry)| covers(&entry.row.row.covers, session) && filter.passes(name))
        .collect();
    tools.into_keys().cloned().collect()
}
