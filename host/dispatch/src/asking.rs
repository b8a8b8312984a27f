//! Asking a hook: the one way in, with the row's counters, its log, its record and its state.

use std::sync::Arc;

use damper_call::{CallId, Digest, RowId, SessionId, StateMap, StateScope, StateWrite};
use damper_journal::{
    Durability, Entry, Event, GuestFailed, JournalError, NewRecord, Refusal, StateKept,
};
use damper_wasm::{Answer, Asked, Guest, GuestFailure};

use crate::{InstalledRow, Loaded, Machinery};

/// One hook to be asked, and for whom.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asking<'a> {
    pub(crate) row: &'a InstalledRow,
    pub(crate) loaded: &'a Loaded,
    pub(crate) guest: &'a Arc<Guest>,
    /// The hook's name, as in the table of hooks.
    pub(crate) hook: &'static str,
    pub(crate) session: &'a SessionId,
    pub(crate) call: Option<&'a CallId>,
    /// The digest of what it is asked about.
    pub(crate) input: Digest,
    /// Whether it may be asked again when another call changed its state first.
    pub(crate) may_repeat: bool,
}

/// Asks a hook. `question` is put once, and once more if another call changed the plugin's state
/// meanwhile. A failure is counted, logged and journalled here; what it means is the caller's.
pub(crate) async fn ask<T, F>(
    machinery: &Machinery,
    asking: Asking<'_>,
    question: impl Fn(Asked) -> F,
) -> Result<T, GuestFailure>
where
    F: Future<Output = Answer<T>>,
{
    let answered = match once(machinery, asking, &question).await {
        Err(Unkept::Lost) if asking.may_repeat => once(machinery, asking, &question).await,
        other => other,
    };
    let failure = match answered {
        Ok(answer) => return Ok(answer),
        Err(Unkept::Failed(failure)) => failure,
        Err(Unkept::Lost) => lost(),
    };
    asking.row.counters.failed(&failure);
    tracing::warn!(row = %asking.row.id, hook = asking.hook, %failure, "a hook failed");
    record_failure(machinery, asking, &failure).await;
    Err(failure)
}

/// Why an asked hook left nothing.
enum Unkept {
    Failed(GuestFailure),
    /// Another call changed its state first.
    Lost,
}

async fn once<T, F>(
    machinery: &Machinery,
    asking: Asking<'_>,
    question: &impl Fn(Asked) -> F,
) -> Result<T, Unkept>
where
    F: Future<Output = Answer<T>>,
{
    let scope = scope(asking.row, asking.loaded, asking.session);
    let state = kept(machinery, asking.loaded, &scope)
        .await
        .map_err(Unkept::Failed)?;
    let asked = Asked {
        guest: Arc::clone(asking.guest),
        state,
    };
    let answer = question(asked).await;
    note(asking.row, &answer);
    let value = answer.result.map_err(Unkept::Failed)?;
    keep(machinery, asking, scope, answer.writes).await?;
    Ok(value)
}

/// Counts an answer and passes on what the guest wrote to its log.
pub(crate) fn note<T>(row: &InstalledRow, answer: &Answer<T>) {
    row.counters.asked(answer.micros, answer.memory);
    if !answer.log.is_empty() {
        tracing::info!(row = %row.id, log = %answer.log, "guest log");
    }
}

/// Returns the failure of a hook whose state others changed twice while it was asked.
pub(crate) fn lost() -> GuestFailure {
    GuestFailure::Host("other calls changed its state each time it was asked".to_owned())
}

/// Returns whose state a row's plugin sees in a session.
pub(crate) fn scope(row: &InstalledRow, loaded: &Loaded, session: &SessionId) -> StateScope {
    StateScope {
        row: row.id.clone(),
        plugin: loaded.plugin.manifest.id.clone(),
        session: session.clone(),
    }
}

/// Returns what a plugin kept; nothing for one that does not import `state`.
pub(crate) async fn kept(
    machinery: &Machinery,
    loaded: &Loaded,
    scope: &StateScope,
) -> Result<Option<StateMap>, GuestFailure> {
    if !loaded.plugin.keeps_state {
        return Ok(None);
    }
    let state = machinery.journal.state(scope).await;
    state
        .map(Some)
        .map_err(|error| GuestFailure::Host(format!("its state cannot be read: {error}")))
}

async fn keep(
    machinery: &Machinery,
    asking: Asking<'_>,
    scope: StateScope,
    writes: Vec<StateWrite>,
) -> Result<(), Unkept> {
    if writes.is_empty() {
        return Ok(());
    }
    let event = Event::from(StateKept {
        row: scope.row.clone(),
        plugin: scope.plugin.clone(),
        hook: asking.hook.to_owned(),
        keys: writes.iter().map(|write| write.key.clone()).collect(),
        call: asking.call.cloned(),
    });
    let record = NewRecord::now(scope.session.clone(), &event);
    let committed = match record {
        Ok(record) => {
            let batch = vec![Entry::Record(record), Entry::State { scope, writes }];
            machinery.journal.commit(batch, Durability::Process).await
        }
        Err(error) => Err(error),
    };
    match committed {
        Ok(_numbers) => Ok(()),
        Err(JournalError::Refused(Refusal::StateConflict(_))) => Err(Unkept::Lost),
        Err(error) => Err(Unkept::Failed(GuestFailure::Host(format!(
            "what it keeps cannot be journalled: {error}"
        )))),
    }
}

async fn record_failure(machinery: &Machinery, asking: Asking<'_>, failure: &GuestFailure) {
    let failed = GuestFailed {
        row: asking.row.id.clone(),
        plugin: asking.loaded.plugin.manifest.id.clone(),
        digest: asking.loaded.plugin.digest,
        hook: asking.hook.to_owned(),
        failure: failure.to_string(),
        input_digest: asking.input,
        call: asking.call.cloned(),
    };
    let journal = &machinery.journal;
    if let Err(error) = journal
        .append(asking.session, failed, Durability::Process)
        .await
    {
        // The caller goes on as the table of hooks says; a call that cannot be journalled is
        // denied at its own records.
        tracing::error!(%error, row = %asking.row.id, "cannot journal a hook's failure");
    }
}

/// Returns a refused conflict's row, if that is what an error is.
pub(crate) fn conflict(error: &JournalError) -> Option<&RowId> {
    if let JournalError::Refused(Refusal::StateConflict(scope)) = error {
        return Some(&scope.row);
    }
    None
}
