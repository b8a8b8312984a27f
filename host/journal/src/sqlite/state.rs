//! Writing what plugins keep.

use damper_call::{StateScope, StateWrite};
use rusqlite::{OptionalExtension, Transaction, params};

use super::JournalFile;
use crate::{JournalError, Refusal, record::is_met};

/// Makes the writes, or refuses the first whose expectation does not hold.
pub(super) fn write(
    file: &JournalFile,
    transaction: &Transaction<'_>,
    scope: &StateScope,
    writes: &[StateWrite],
) -> Result<(), JournalError> {
    for write in writes {
        let version = version(transaction, scope, &write.key)
            .map_err(|error| file.error(&error))?
            .map(|version| file.unsigned(version))
            .transpose()?;
        if !is_met(write.expected, version) {
            return Err(Refusal::StateConflict(scope.clone()).into());
        }
        change(transaction, scope, write).map_err(|error| file.error(&error))?;
    }
    Ok(())
}

fn version(
    transaction: &Transaction<'_>,
    scope: &StateScope,
    key: &str,
) -> rusqlite::Result<Option<i64>> {
    transaction
        .prepare_cached(
            "SELECT version FROM states \
             WHERE row = ?1 AND plugin = ?2 AND session = ?3 AND key = ?4",
        )?
        .query_row(
            params![
                scope.row.as_str(),
                scope.plugin,
                scope.session.as_str(),
                key
            ],
            |row| row.get(0),
        )
        .optional()
}

fn change(
    transaction: &Transaction<'_>,
    scope: &StateScope,
    write: &StateWrite,
) -> rusqlite::Result<()> {
    let (row, session) = (scope.row.as_str(), scope.session.as_str());
    match &write.value {
        // A value that is replaced goes with its whole row, so that the new one gets a number.
        Some(value) => transaction
            .prepare_cached(
                "INSERT OR REPLACE INTO states (row, plugin, session, key, value) \
                 VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![row, scope.plugin, session, write.key, &value[..]])?,
        None => transaction
            .prepare_cached(
                "DELETE FROM states WHERE row = ?1 AND plugin = ?2 AND session = ?3 AND key = ?4",
            )?
            .execute(params![row, scope.plugin, session, write.key])?,
    };
    Ok(())
}
