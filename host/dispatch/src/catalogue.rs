//! Which tools exist for a session: the one function that the list and the call ask.

use damper_call::Session;

use crate::generation::{Generation, ToolEntry, covers};

/// Returns the tool that a session knows by this name. What it does not return is unknown
/// to the session, whoever asks.
pub(crate) fn find<'a>(
    generation: &'a Generation,
    session: &Session,
    name: &str,
) -> Option<&'a ToolEntry> {
    generation
        .tools
        .get(name)
        .filter(|entry| exists_for(entry, session))
}

/// Returns all tools of a session, sorted by name.
pub(crate) fn list<'a>(
    generation: &'a Generation,
    session: &'a Session,
) -> impl Iterator<Item = &'a ToolEntry> {
    generation
        .tools
        .values()
        .filter(|entry| exists_for(entry, session))
}

fn exists_for(entry: &ToolEntry, session: &Session) -> bool {
    covers(&entry.row.row.covers, session)
}
