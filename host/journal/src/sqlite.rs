//! The backend on a disk: one SQLite file in WAL mode, one connection that writes.
//!
//! A commit at `synchronous=NORMAL` hands its bytes to the operating system, which a kill of
//! the process does not undo; one at `FULL` also waits for the disk, for itself and for all
//! commits before it. The connection goes to and fro between the two as batches ask.

mod read;
mod schema;
mod state;

use std::{
    fs, io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use damper_call::{ApprovalId, CallId, EffectClass, SessionId};
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior, params};

use crate::{
    Content, Durability, Entry, JournalError, NewRecord, Reader, Store,
    record::{ApprovalStep, CallStep, Step},
};
use read::SqliteReader;

/// How long a statement waits for another process, such as one that makes a backup.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// The size to which the write-ahead log is cut once it has been copied into the file.
const WAL_KEEP_BYTES: u32 = 64 << 20;

/// A journal in a file.
#[derive(Debug)]
pub struct SqliteStore {
    file: JournalFile,
    connection: Connection,
    /// The level that `PRAGMA synchronous` is at on `connection`.
    synchronous: Durability,
}

impl SqliteStore {
    /// Opens the journal in a file, which is made, with its folder, if it is not there.
    ///
    /// An older schema is upgraded, after a copy of the file is put beside it under
    /// `NAME.vN.bak`. Fails for a newer schema, a file that is not a journal or is damaged,
    /// and one that cannot be written.
    pub fn open(path: &Path) -> Result<Self, JournalError> {
        Self::open_as(path, schema::MIGRATIONS)
    }

    fn open_as(path: &Path, migrations: &[&str]) -> Result<Self, JournalError> {
        let file = JournalFile(path.to_owned());
        file.make().map_err(|error| file.io_error(&error))?;
        let mut connection = file.connect()?;
        schema::bring_up(&file, &mut connection, migrations)?;
        set_synchronous(&connection, Durability::Process).map_err(|error| file.error(&error))?;
        Ok(Self {
            file,
            connection,
            synchronous: Durability::Process,
        })
    }

    fn set_synchronous(&mut self, durability: Durability) -> rusqlite::Result<()> {
        if self.synchronous != durability {
            set_synchronous(&self.connection, durability)?;
            self.synchronous = durability;
        }
        Ok(())
    }
}

impl Store for SqliteStore {
    fn commit(
        &mut self,
        batch: &[Entry],
        durability: Durability,
    ) -> Result<Vec<u64>, JournalError> {
        self.set_synchronous(durability)
            .map_err(|error| self.file.error(&error))?;
        let transaction = Transaction::new(&mut self.connection, TransactionBehavior::Immediate)
            .map_err(|error| self.file.error(&error))?;
        let mut committed = Vec::with_capacity(batch.len());
        for entry in batch {
            match entry {
                Entry::Record(record) => committed.push(append(&self.file, &transaction, record)?),
                Entry::Content(content) => {
                    put(&transaction, content).map_err(|error| self.file.error(&error))?;
                }
                Entry::State { scope, writes } => {
                    state::write(&self.file, &transaction, scope, writes)?;
                }
            }
        }
        transaction
            .commit()
            .map_err(|error| self.file.error(&error))?;
        Ok(committed)
    }

    fn reader(&self) -> Result<Box<dyn Reader>, JournalError> {
        let connection = self.file.connect()?;
        // Not opened read-only: the last connection that closes tidies the log away.
        connection
            .pragma_update(None, "query_only", true)
            .map_err(|error| self.file.error(&error))?;
        Ok(Box::new(SqliteReader::new(self.file.clone(), connection)))
    }
}

/// Switches a file to write-ahead logging. SQLite does not wait for others who are doing the same
/// at that moment, however long its busy timeout is, so this does.
fn write_ahead(connection: &Connection) -> rusqlite::Result<()> {
    const STEP: Duration = Duration::from_millis(5);
    let began = Instant::now();
    loop {
        match connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())) {
            Err(error)
                if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy)
                    && began.elapsed() < BUSY_TIMEOUT =>
            {
                thread::sleep(STEP);
            }
            switched => return switched,
        }
    }
}

fn set_synchronous(connection: &Connection, durability: Durability) -> rusqlite::Result<()> {
    let level = match durability {
        Durability::Process => "NORMAL",
        Durability::Power => "FULL",
    };
    connection.pragma_update(None, "synchronous", level)
}

fn append(
    file: &JournalFile,
    transaction: &Transaction<'_>,
    record: &NewRecord,
) -> Result<u64, JournalError> {
    let sql_error = |error: rusqlite::Error| file.error(&error);
    transaction
        .prepare_cached(
            "INSERT INTO records (session, at_ms, kind, call, body) VALUES (?1, ?2, ?3, ?4, ?5)",
        )
        .and_then(|mut statement| {
            statement.insert(params![
                record.session.as_str(),
                to_sql(record.at_ms),
                record.kind,
                record.call.as_ref().map(CallId::as_str),
                record.body,
            ])
        })
        .map_err(sql_error)
        .and_then(|seq| {
            if let Some(step) = &record.step {
                let taken = take(transaction, step, &record.session, seq).map_err(sql_error)?;
                if !taken {
                    return Err(step.refusal().into());
                }
            }
            file.unsigned(seq)
        })
}

/// Takes a step; false if it cannot be taken.
fn take(
    transaction: &Transaction<'_>,
    step: &Step,
    session: &SessionId,
    seq: i64,
) -> rusqlite::Result<bool> {
    let changed = match step {
        Step::Call(id, step) => take_call(transaction, id, *step, session, seq),
        Step::Approval(id, step) => take_approval(transaction, id, *step, seq),
    }?;
    Ok(changed == 1)
}

fn take_call(
    transaction: &Transaction<'_>,
    id: &CallId,
    step: CallStep,
    session: &SessionId,
    seq: i64,
) -> rusqlite::Result<usize> {
    match step {
        CallStep::Receive => transaction
            .prepare_cached(
                "INSERT INTO calls (call, session, received) VALUES (?1, ?2, ?3) \
                 ON CONFLICT DO NOTHING",
            )?
            .execute(params![id.as_str(), session.as_str(), seq]),
        CallStep::Start(effect) => transaction
            .prepare_cached(
                "UPDATE calls SET effect = ?2 \
                 WHERE call = ?1 AND effect IS NULL AND finished IS NULL",
            )?
            .execute(params![id.as_str(), effect_name(effect)]),
        CallStep::Finish => transaction
            .prepare_cached("UPDATE calls SET finished = ?2 WHERE call = ?1 AND finished IS NULL")?
            .execute(params![id.as_str(), seq]),
    }
}

fn take_approval(
    transaction: &Transaction<'_>,
    id: &ApprovalId,
    step: ApprovalStep,
    seq: i64,
) -> rusqlite::Result<usize> {
    let sql = match step {
        ApprovalStep::Raise => {
            "INSERT INTO approvals (approval, raised) VALUES (?1, ?2) ON CONFLICT DO NOTHING"
        }
        ApprovalStep::Answer => {
            "UPDATE approvals SET answered = ?2 WHERE approval = ?1 AND answered IS NULL"
        }
    };
    transaction
        .prepare_cached(sql)?
        .execute(params![id.as_str(), seq])
}

fn put(transaction: &Transaction<'_>, content: &Content) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO contents (digest, bytes) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
        )?
        .execute(params![content.digest().as_bytes(), content.bytes()])?;
    Ok(())
}

const fn effect_name(effect: EffectClass) -> &'static str {
    match effect {
        EffectClass::None => "none",
        EffectClass::Idempotent => "idempotent",
        EffectClass::Once => "once",
    }
}

/// Returns the class of a stored name.
fn effect_named(name: &str) -> EffectClass {
    match name {
        "none" => EffectClass::None,
        "idempotent" => EffectClass::Idempotent,
        // A class that this build does not know gets the most careful treatment.
        _ => EffectClass::Once,
    }
}

/// Returns SQLite's form of a number; none that Damper counts comes near its end.
fn to_sql(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The file a journal is in, and what is said about it when it fails.
#[derive(Debug, Clone)]
struct JournalFile(PathBuf);

impl JournalFile {
    /// Makes the file and its folder, so that only their owner can read them from the start.
    fn make(&self) -> io::Result<()> {
        if let Some(folder) = self.0.parent() {
            let mut builder = fs::DirBuilder::new();
            builder.recursive(true);
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            builder.create(folder)?;
        }
        let mut options = fs::OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(&self.0).map(drop)
    }

    /// Takes a file that is known to be ours away from everybody but its owner.
    fn close_to_others(&self) -> io::Result<()> {
        #[cfg(unix)]
        fs::set_permissions(&self.0, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
        Ok(())
    }

    fn connect(&self) -> Result<Connection, JournalError> {
        // Without SQLITE_OPEN_URI, so that a `file:` or a `?` in a folder's name stays a name.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        Connection::open_with_flags(&self.0, flags)
            .and_then(|connection| {
                connection.busy_timeout(BUSY_TIMEOUT)?;
                Ok(connection)
            })
            .map_err(|error| self.error(&error))
    }

    fn set_up(&self, connection: &Connection) -> rusqlite::Result<()> {
        write_ahead(connection)?;
        connection.pragma_update(None, "foreign_keys", true)?;
        connection
            .pragma_update_and_check(None, "journal_size_limit", WAL_KEEP_BYTES, |_| Ok(()))?;
        // On macOS an ordinary fsync leaves the bytes in the drive's cache.
        connection.pragma_update(None, "fullfsync", true)?;
        connection.pragma_update(None, "checkpoint_fullfsync", true)
    }

    fn unsigned(&self, number: i64) -> Result<u64, JournalError> {
        u64::try_from(number).map_err(|_negative| self.damaged("a number is negative"))
    }

    fn damaged(&self, why: impl Into<String>) -> JournalError {
        JournalError::Damaged {
            path: self.0.clone(),
            why: why.into(),
        }
    }

    fn io_error(&self, error: &io::Error) -> JournalError {
        let path = self.0.clone();
        let why = error.to_string();
        let kind = error.kind();
        if [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded].contains(&kind) {
            JournalError::DiskFull { path }
        } else if [
            io::ErrorKind::PermissionDenied,
            io::ErrorKind::ReadOnlyFilesystem,
        ]
        .contains(&kind)
        {
            JournalError::NotWritable { path, why }
        } else {
            JournalError::Disk { path, why }
        }
    }

    fn error(&self, error: &rusqlite::Error) -> JournalError {
        let path = self.0.clone();
        let why = error.to_string();
        let Some(code) = error.sqlite_error_code() else {
            // What was stored does not have the type that the schema says.
            return JournalError::Damaged { path, why };
        };
        if code == ErrorCode::NotADatabase {
            JournalError::NotAJournal { path }
        } else if code == ErrorCode::DatabaseCorrupt {
            JournalError::Damaged { path, why }
        } else if code == ErrorCode::DiskFull {
            JournalError::DiskFull { path }
        } else if [
            ErrorCode::ReadOnly,
            ErrorCode::CannotOpen,
            ErrorCode::PermissionDenied,
        ]
        .contains(&code)
        {
            JournalError::NotWritable { path, why }
        } else if [ErrorCode::DatabaseBusy, ErrorCode::DatabaseLocked].contains(&code) {
            JournalError::Busy { path }
        } else {
            JournalError::Disk { path, why }
        }
    }
}

#[cfg(test)]
mod tests {
    use damper_call::{Expected, StateScope, StateWrite};

    use super::{schema::MIGRATIONS, *};
    use crate::{Event, HostStopped, Journal, host_stream};

    fn stopped(reason: &str) -> Event {
        Event::from(HostStopped {
            reason: reason.to_owned(),
        })
    }

    fn entry(reason: &str) -> Entry {
        Entry::Record(NewRecord::now(host_stream(), &stopped(reason)).unwrap())
    }

    fn reasons(store: &SqliteStore) -> Vec<Event> {
        let records = store.reader().unwrap().records(0, 99).unwrap();
        records.into_iter().map(|record| record.event).collect()
    }

    fn version(store: &SqliteStore) -> u32 {
        let read = |row: &rusqlite::Row<'_>| row.get(0);
        let sql = "PRAGMA user_version";
        store.connection.query_row(sql, [], read).unwrap()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_full_disk_is_an_error_until_there_is_space() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.db");
        let store = SqliteStore::open(&path).unwrap();
        store
            .connection
            .pragma_update_and_check(None, "max_page_count", 100, |_| Ok(()))
            .unwrap();
        let journal = Journal::start(store).unwrap();
        let append = async || {
            let (stream, event) = (host_stream(), stopped("asked to"));
            journal.append(&stream, event, Durability::Power).await
        };
        append().await.unwrap();

        let mut filling = tokio::task::JoinSet::new();
        for number in 0..40_u8 {
            let journal = journal.clone();
            let bytes = vec![number; 16 << 10];
            filling.spawn(async move { journal.put(bytes, Durability::Process).await });
        }
        let filled = filling.join_all().await;
        let full = JournalError::DiskFull { path: path.clone() };
        let kept = filled.iter().filter(|put| put.is_ok()).count();
        assert!(kept > 0, "those that fit are kept");
        assert!(filled.iter().any(|put| put.as_ref() == Err(&full)));
        let last = loop {
            if let Err(error) = append().await {
                break error;
            }
        };
        assert_eq!(last, full);
        let before = journal.records(0, usize::MAX).await.unwrap().len();

        let other = Connection::open(&path).unwrap();
        other.execute("DELETE FROM contents", []).unwrap();
        append().await.unwrap();
        let after = journal.records(0, usize::MAX).await.unwrap().len();
        assert_eq!(after, before + 1);
    }

    #[test]
    fn an_upgrade_keeps_the_old_file_beside_the_new() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.db");
        let mut old = SqliteStore::open_as(&path, &MIGRATIONS[..1]).unwrap();
        old.commit(&[entry("old")], Durability::Process).unwrap();
        drop(old);

        let next = [MIGRATIONS[0], "ALTER TABLE records ADD COLUMN note TEXT"];
        let mut new = SqliteStore::open_as(&path, &next).unwrap();
        new.commit(&[entry("new")], Durability::Process).unwrap();
        assert_eq!(version(&new), 2);
        assert_eq!(reasons(&new), [stopped("old"), stopped("new")]);

        let backup = folder.path().join("journal.db.v1.bak");
        let kept = SqliteStore::open_as(&backup, &MIGRATIONS[..1]).unwrap();
        assert_eq!(version(&kept), 1);
        assert_eq!(reasons(&kept), [stopped("old")]);
        assert!(!folder.path().join("journal.db.v1.bak.tmp").exists());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(&backup).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }

    #[test]
    fn a_file_from_before_state_is_upgraded_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.db");
        let mut old = SqliteStore::open_as(&path, &MIGRATIONS[..1]).unwrap();
        old.commit(&[entry("old")], Durability::Process).unwrap();
        drop(old);

        let mut new = SqliteStore::open(&path).unwrap();
        assert_eq!(version(&new), 2);
        assert_eq!(reasons(&new), [stopped("old")]);
        let scope = StateScope {
            row: "counter".parse().unwrap(),
            plugin: "damper/counter".to_owned(),
            session: host_stream(),
        };
        let writes = vec![StateWrite {
            key: "n".to_owned(),
            value: Some((*b"1").into()),
            expected: Expected::Absent,
        }];
        let state = Entry::State {
            scope: scope.clone(),
            writes,
        };
        new.commit(&[state], Durability::Process).unwrap();
        let kept = new.reader().unwrap().state(&scope).unwrap();
        assert_eq!(&*kept["n"].value, b"1");

        let backup = folder.path().join("journal.db.v1.bak");
        let backup = SqliteStore::open_as(&backup, &MIGRATIONS[..1]).unwrap();
        assert_eq!(version(&backup), 1);
        assert_eq!(reasons(&backup), [stopped("old")]);
    }

    #[test]
    fn an_upgrade_that_fails_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.db");
        let mut old = SqliteStore::open_as(&path, &MIGRATIONS[..1]).unwrap();
        old.commit(&[entry("old")], Durability::Process).unwrap();
        drop(old);
        let broken = [
            MIGRATIONS[0],
            "CREATE TABLE halfway (x) STRICT; this is not SQL",
        ];
        let error = SqliteStore::open_as(&path, &broken).unwrap_err();
        assert!(error.to_string().contains("journal.db"), "{error}");

        let old = SqliteStore::open_as(&path, &MIGRATIONS[..1]).unwrap();
        assert_eq!(version(&old), 1);
        assert_eq!(reasons(&old), [stopped("old")]);
        drop(old);
        let next = [MIGRATIONS[0], "CREATE TABLE halfway (x ANY) STRICT"];
        let new = SqliteStore::open_as(&path, &next).unwrap();
        assert_eq!(version(&new), 2);
    }

    #[test]
    fn many_may_open_a_new_file_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.db");
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let mut store = SqliteStore::open(&path).unwrap();
                    store.commit(&[entry("here")], Durability::Process).unwrap();
                });
            }
        });
        assert_eq!(reasons(&SqliteStore::open(&path).unwrap()).len(), 8);
    }

    #[test]
    fn the_level_of_durability_goes_to_and_fro() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = SqliteStore::open(&folder.path().join("journal.db")).unwrap();
        for (durability, level) in [
            (Durability::Process, 1),
            (Durability::Power, 2),
            (Durability::Power, 2),
            (Durability::Process, 1),
        ] {
            store.commit(&[entry("x")], durability).unwrap();
            let read = |row: &rusqlite::Row<'_>| row.get::<_, i64>(0);
            let at = store.connection.query_row("PRAGMA synchronous", [], read);
            assert_eq!(at, Ok(level));
        }
    }
}
