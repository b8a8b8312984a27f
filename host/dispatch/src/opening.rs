//! Opening a session: the mode composes it, personas write its prompt, plugins have their say.

mod preflight;

use std::sync::Arc;

use damper_call::{
    Composed, Composition, Digest, ModeBinding, Role, Session, SessionId, merge_sections,
};
use damper_journal::{Durability, JournalError, SessionOpened};
use damper_wasm::{Asked, Hook, Runtime};

use crate::{
    InstalledRow, Loaded, Machinery,
    asking::{Asking, ask},
    catalogue,
    generation::Generation,
};

/// Why a session cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// It cannot be recorded.
    #[error("the session cannot be opened because it cannot be journalled: {0}")]
    Journal(#[from] JournalError),
    /// There is no such mode.
    #[error("there is no mode `{mode}`; {} (`damper modes` tells more)", known_modes(.known))]
    UnknownMode {
        /// The mode that was asked for.
        mode: String,
        /// Those that can run.
        known: Vec<String>,
    },
    /// The mode is there and cannot run.
    #[error("the mode `{mode}` cannot run: {why}")]
    CannotRun {
        /// The mode.
        mode: String,
        /// Why.
        why: String,
    },
}

fn known_modes(known: &[String]) -> String {
    match known.len() {
        0 => "no row of the profile is a preset that can run".to_owned(),
        _ => format!("there are `{}`", known.join("`, `")),
    }
}

/// Opens a session, in a mode if one is named. Fails if the mode does not compose it or if it
/// cannot be journalled.
pub(crate) async fn open(
    machinery: &Machinery,
    generation: &Generation,
    session: Session,
    mode: Option<&str>,
) -> Result<Arc<Session>, OpenError> {
    let mut session = match mode {
        Some(mode) => compose(machinery, generation, session, mode).await?,
        None => session,
    };
    let notices = notices(machinery, generation, &Arc::new(session.clone())).await;
    if let Some(composed) = session.composed.take() {
        session.composed = Some(Arc::new(Composed {
            notices: notices.clone(),
            ..Arc::unwrap_or_clone(composed)
        }));
    }
    let opened = SessionOpened {
        door: session.door,
        agent: session.agent.clone(),
        cwd: session.cwd.clone(),
        roots: session.roots.clone(),
        composed: session.composed.as_deref().cloned(),
        notices,
    };
    machinery
        .journal
        .append(&session.id, opened, Durability::Process)
        .await?;
    let session = Arc::new(session);
    machinery.runtime.around().add_session(&session);
    Ok(session)
}

/// Binds a session to a mode and composes it.
async fn compose(
    machinery: &Machinery,
    generation: &Generation,
    session: Session,
    mode: &str,
) -> Result<Session, OpenError> {
    let composition = declared(machinery, generation, &session, mode).await?;
    let role = match composition.coordinates {
        true => Role::Coordinator,
        false => Role::Solo,
    };
    let mut session = Session {
        mode: ModeBinding::Bound(mode.to_owned()),
        recorded_mode: Some(mode.to_owned()),
        role,
        ..session
    };
    let surface = catalogue::surface(generation, &session, &composition.tools);
    let composed = |prompt| Composed {
        mode: mode.to_owned(),
        composition: composition.clone(),
        surface: surface.clone(),
        prompt,
        notices: Vec::new(),
    };
    let mut prompt = composition.sections.clone();
    session.composed = Some(Arc::new(composed(prompt.clone())));
    let asked = Arc::new(session.clone());
    for row in generation.asked(Hook::Persona, &asked) {
        let Some(loaded) = row.plugin(Hook::Persona) else {
            continue;
        };
        let asking = about(&row, loaded, "persona.sections", &asked.id);
        let question = |guest: Asked| machinery.runtime.sections(guest, &asked);
        // A failed persona is left out; that it failed is on record.
        if let Ok(sections) = ask(machinery, asking, question).await {
            merge_sections(&mut prompt, sections);
        }
    }
    session.composed = Some(Arc::new(composed(prompt)));
    Ok(session)
}

/// Asks the mode's preset how the session is composed.
async fn declared(
    machinery: &Machinery,
    generation: &Generation,
    session: &Session,
    mode: &str,
) -> Result<Composition, OpenError> {
    let cannot_run = |why: String| OpenError::CannotRun {
        mode: mode.to_owned(),
        why,
    };
    let row = generation
        .rows
        .iter()
        .find(|row| row.id.as_str() == mode && row.mode().is_some());
    let Some(row) = row else {
        let modes = generation.modes().into_iter();
        return Err(OpenError::UnknownMode {
            mode: mode.to_owned(),
            known: modes
                .filter(|mode| mode.cannot_run.is_none())
                .map(|mode| mode.id)
                .collect(),
        });
    };
    if let Some(why) = row.mode().and_then(|mode| mode.cannot_run) {
        return Err(cannot_run(why));
    }
    let Some(loaded) = row.plugin(Hook::Preset) else {
        return Err(cannot_run("its plugin does not run".to_owned()));
    };
    let draft = Arc::new(Session {
        mode: ModeBinding::Bound(mode.to_owned()),
        role: Role::Solo,
        ..session.clone()
    });
    let asking = about(row, loaded, "preset.compose", &draft.id);
    let question = |guest: Asked| machinery.runtime.compose(guest, &draft);
    ask(machinery, asking, question)
        .await
        .map_err(|failure| {
            let plugin = &loaded.plugin.manifest.id;
            cannot_run(format!("the plugin `{plugin}` {failure}"))
        })?
        .map_err(cannot_run)
}

/// Returns what plugins have to say to a session, and what was found when the host looked.
async fn notices(
    machinery: &Machinery,
    generation: &Generation,
    session: &Arc<Session>,
) -> Vec<String> {
    let mut notices = Vec::new();
    for row in generation.asked(Hook::Session, session) {
        let Some(loaded) = row.plugin(Hook::Session) else {
            continue;
        };
        let asking = about(&row, loaded, "session.opened", &session.id);
        let question = |guest: Asked| machinery.runtime.opened(guest, session);
        // A plugin that fails has nothing to say; that it failed is on record.
        if let Ok(opening) = ask(machinery, asking, question).await {
            notices.extend(opening.notices);
            notices.extend(preflight::look(opening.preflights, session).await);
        }
    }
    notices
}

fn about<'a>(
    row: &'a InstalledRow,
    loaded: &'a Loaded,
    hook: &'static str,
    session: &'a SessionId,
) -> Asking<'a> {
    Asking {
        row,
        loaded,
        guest: &loaded.hook,
        hook,
        session,
        call: None,
        input: session_digest(session),
        may_repeat: true,
    }
}

fn session_digest(session: &SessionId) -> Digest {
    Runtime::digest(session.as_str().as_bytes())
}
