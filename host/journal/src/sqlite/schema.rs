//! The schema and how an older file gets it.

use std::{fs, io, path::PathBuf};

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::JournalFile;
use crate::JournalError;

/// Marks a file as ours: `DAMP`.
const APPLICATION_ID: i32 = 0x4441_4d50;

/// The steps from one schema to the next. A file's `user_version` is how many it has had.
///
/// A released step is never changed; a change of the schema is a new step.
pub(super) const MIGRATIONS: &[&str] = &[
    "
    -- AUTOINCREMENT, so that a number is not given out again when old records are pruned.
    CREATE TABLE records (
        seq     INTEGER PRIMARY KEY AUTOINCREMENT,
        session TEXT NOT NULL,
        at_ms   INTEGER NOT NULL,
        kind    TEXT NOT NULL,
        call    TEXT,
        body    TEXT NOT NULL
    ) STRICT;
    CREATE INDEX records_of_session ON records (session, seq);
    CREATE INDEX records_of_call ON records (call, seq) WHERE call IS NOT NULL;

    -- How far each call is: what the records say, kept so that each step is taken once.
    CREATE TABLE calls (
        call     TEXT PRIMARY KEY,
        session  TEXT NOT NULL,
        received INTEGER NOT NULL REFERENCES records (seq),
        effect   TEXT,
        finished INTEGER REFERENCES records (seq)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX open_calls ON calls (received) WHERE finished IS NULL;

    CREATE TABLE approvals (
        approval TEXT PRIMARY KEY,
        raised   INTEGER NOT NULL REFERENCES records (seq),
        answered INTEGER REFERENCES records (seq)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX open_approvals ON approvals (raised) WHERE answered IS NULL;

    CREATE TABLE contents (
        digest BLOB PRIMARY KEY,
        bytes  BLOB NOT NULL
    ) STRICT;
",
    "
    -- AUTOINCREMENT, so that no value gets the version of another, however that one went.
    CREATE TABLE states (
        version INTEGER PRIMARY KEY AUTOINCREMENT,
        row     TEXT NOT NULL,
        plugin  TEXT NOT NULL,
        session TEXT NOT NULL,
        key     TEXT NOT NULL,
        value   BLOB NOT NULL,
        UNIQUE (row, plugin, session, key)
    ) STRICT;
",
];

/// Checks that the file is a journal that this build can use, and upgrades an older one.
pub(super) fn bring_up(
    file: &JournalFile,
    connection: &mut Connection,
    migrations: &[&str],
) -> Result<(), JournalError> {
    let sql_error = |error: rusqlite::Error| file.error(&error);
    // Read as one: between two reads another process may have made the file a journal.
    let snapshot =
        Transaction::new(connection, TransactionBehavior::Deferred).map_err(sql_error)?;
    let found = check(file, &snapshot, migrations.len())?;
    snapshot.finish().map_err(sql_error)?;
    file.close_to_others()
        .map_err(|error| file.io_error(&error))?;
    file.set_up(connection).map_err(sql_error)?;
    if found == migrations.len() {
        return Ok(());
    }
    if found > 0 {
        back_up(file, connection, found)?;
        tracing::info!(
            path = %file.0.display(), from = found, to = migrations.len(),
            "upgrading the journal; the old one is kept beside it",
        );
    }
    let transaction =
        Transaction::new(connection, TransactionBehavior::Immediate).map_err(sql_error)?;
    // Another process may have upgraded the file while this one waited for it.
    let found = check(file, &transaction, migrations.len())?;
    for migration in &migrations[found..] {
        transaction.execute_batch(migration).map_err(sql_error)?;
    }
    let known = u32::try_from(migrations.len()).unwrap_or(u32::MAX);
    transaction
        .pragma_update(None, "application_id", APPLICATION_ID)
        .and_then(|()| transaction.pragma_update(None, "user_version", known))
        .and_then(|()| transaction.commit())
        .map_err(sql_error)
}

/// Returns the file's schema, 0 for an empty file, without changing anything.
fn check(file: &JournalFile, connection: &Connection, known: usize) -> Result<usize, JournalError> {
    let sql_error = |error: rusqlite::Error| file.error(&error);
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    let id = number("PRAGMA application_id").map_err(sql_error)?;
    let tables = number("SELECT count(*) FROM sqlite_schema").map_err(sql_error)?;
    let found = number("PRAGMA user_version").map_err(sql_error)?;
    if tables == 0 && id == 0 && found == 0 {
        return Ok(0);
    }
    if id != i64::from(APPLICATION_ID) {
        return Err(JournalError::NotAJournal {
            path: file.0.clone(),
        });
    }
    match usize::try_from(found) {
        Ok(found) if (1..=known).contains(&found) => Ok(found),
        Ok(found) if found > known => Err(JournalError::Newer {
            path: file.0.clone(),
            found: u32::try_from(found).unwrap_or(u32::MAX),
            known: u32::try_from(known).unwrap_or(u32::MAX),
        }),
        Ok(_) | Err(_) => Err(file.damaged(format!("its schema's number is {found}"))),
    }
}

/// Puts a copy of the file beside it, whole or not at all.
fn back_up(file: &JournalFile, connection: &Connection, found: usize) -> Result<(), JournalError> {
    let backup = beside(file, &format!("v{found}.bak"));
    let unfinished = beside(file, &format!("v{found}.bak.tmp"));
    make_empty(&unfinished).map_err(|error| file.io_error(&error))?;
    let target = unfinished
        .to_str()
        .ok_or_else(|| file.io_error(&io::Error::other("its path is not UTF-8")))?;
    // Into an empty file that exists, so that nobody else can read it for a moment.
    connection
        .execute("VACUUM INTO ?1", [target])
        .map_err(|error| file.error(&error))?;
    fs::File::open(&unfinished)
        .and_then(|copy| copy.sync_all())
        .and_then(|()| fs::rename(&unfinished, &backup))
        .map_err(|error| file.io_error(&error))
}

fn beside(file: &JournalFile, ending: &str) -> PathBuf {
    let mut name = file.0.clone().into_os_string();
    name.push(".");
    name.push(ending);
    name.into()
}

fn make_empty(path: &PathBuf) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}
