//! Reading from the file, on a connection that cannot write.

use damper_call::{CallId, Digest, SessionId, StateEntry, StateMap, StateScope};
use rusqlite::{Connection, OptionalExtension, Params, Row};

use super::{JournalFile, effect_named, to_sql};
use crate::{CallState, JournalError, OpenCall, Reader, Record, record::digest_of};

/// How many prepared statements are kept: more than there are in this file.
const STATEMENTS: usize = 32;

#[derive(Debug)]
pub(super) struct SqliteReader {
    file: JournalFile,
    connection: Connection,
}

impl SqliteReader {
    pub(super) fn new(file: JournalFile, connection: Connection) -> Self {
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        Self { file, connection }
    }

    fn all<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl Fn(&JournalFile, &Row<'_>) -> Result<T, JournalError>,
    ) -> Result<Vec<T>, JournalError> {
        let sql_error = |error: rusqlite::Error| self.file.error(&error);
        let mut statement = self.connection.prepare_cached(sql).map_err(sql_error)?;
        let mut rows = statement.query(params).map_err(sql_error)?;
        let mut all = Vec::new();
        while let Some(row) = rows.next().map_err(sql_error)? {
            all.push(read(&self.file, row)?);
        }
        Ok(all)
    }

    fn one<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl Fn(&JournalFile, &Row<'_>) -> Result<T, JournalError>,
    ) -> Result<Option<T>, JournalError> {
        Ok(self.all(sql, params, read)?.into_iter().next())
    }
}

impl Reader for SqliteReader {
    fn newest(&self) -> Result<u64, JournalError> {
        let newest = self.one("SELECT max(seq) FROM records", [], |file, row| {
            column::<Option<i64>>(file, row, 0)
        })?;
        self.file.unsigned(newest.flatten().unwrap_or(0))
    }

    fn records(&self, after: u64, limit: usize) -> Result<Vec<Record>, JournalError> {
        self.all(
            "SELECT seq, session, at_ms, kind, body FROM records WHERE seq > ?1 \
             ORDER BY seq LIMIT ?2",
            (to_sql(after), to_sql(limit as u64)),
            record,
        )
    }

    fn session_records(
        &self,
        session: &SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Record>, JournalError> {
        self.all(
            "SELECT seq, session, at_ms, kind, body FROM records \
             WHERE session = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3",
            (session.as_str(), to_sql(after), to_sql(limit as u64)),
            record,
        )
    }

    fn call_records(&self, call: &CallId) -> Result<Vec<Record>, JournalError> {
        self.all(
            "SELECT seq, session, at_ms, kind, body FROM records WHERE call = ?1 ORDER BY seq",
            [call.as_str()],
            record,
        )
    }

    fn calls_with_prefix(&self, prefix: &str, limit: usize) -> Result<Vec<CallId>, JournalError> {
        // Ids are ASCII, so no id with the prefix sorts behind the prefix and a DEL.
        self.all(
            "SELECT call FROM calls WHERE call >= ?1 AND call < ?1 || char(127) \
             ORDER BY call LIMIT ?2",
            (prefix, to_sql(limit as u64)),
            |file, row| id(file, row, 0),
        )
    }

    fn last_call(&self) -> Result<Option<CallId>, JournalError> {
        self.one(
            "SELECT call FROM records WHERE kind = 'call/received' ORDER BY seq DESC LIMIT 1",
            [],
            |file, row| id(file, row, 0),
        )
    }

    fn call_state(&self, call: &CallId) -> Result<CallState, JournalError> {
        let state = self.one(
            "SELECT effect, finished FROM calls WHERE call = ?1",
            [call.as_str()],
            |file, row| {
                let effect = column::<Option<String>>(file, row, 0)?;
                Ok((effect, column::<Option<i64>>(file, row, 1)?))
            },
        )?;
        Ok(match state {
            None => CallState::Unseen,
            Some((None, None)) => CallState::Received,
            Some((Some(effect), None)) => CallState::Started(effect_named(&effect)),
            Some((_, Some(finished))) => {
                let finish = self.one(
                    "SELECT seq, session, at_ms, kind, body FROM records WHERE seq = ?1",
                    [finished],
                    record,
                )?;
                let missing = || self.file.damaged(format!("record {finished} is missing"));
                CallState::Finished(Box::new(finish.ok_or_else(missing)?))
            }
        })
    }

    fn open_calls(&self) -> Result<Vec<OpenCall>, JournalError> {
        self.all(
            "SELECT call, session, received, effect FROM calls WHERE finished IS NULL \
             ORDER BY received",
            [],
            |file, row| {
                Ok(OpenCall {
                    call: id(file, row, 0)?,
                    session: id(file, row, 1)?,
                    received: file.unsigned(column(file, row, 2)?)?,
                    started: column::<Option<String>>(file, row, 3)?
                        .map(|effect| effect_named(&effect)),
                })
            },
        )
    }

    fn open_approvals(&self) -> Result<Vec<Record>, JournalError> {
        self.all(
            "SELECT seq, session, at_ms, kind, body FROM approvals JOIN records ON seq = raised \
             WHERE answered IS NULL ORDER BY raised",
            [],
            record,
        )
    }

    fn content(&self, digest: &Digest) -> Result<Option<Vec<u8>>, JournalError> {
        let bytes = self
            .connection
            .prepare_cached("SELECT bytes FROM contents WHERE digest = ?1")
            .and_then(|mut statement| {
                statement
                    .query_row([digest.as_bytes()], |row| row.get::<_, Vec<u8>>(0))
                    .optional()
            })
            .map_err(|error| self.file.error(&error))?;
        match bytes {
            Some(bytes) if digest_of(&bytes) != *digest => {
                Err(self.file.damaged(format!("content {digest} has changed")))
            }
            found => Ok(found),
        }
    }

    fn state(&self, scope: &StateScope) -> Result<StateMap, JournalError> {
        let values = self.all(
            "SELECT key, value, version FROM states \
             WHERE row = ?1 AND plugin = ?2 AND session = ?3",
            (scope.row.as_str(), &scope.plugin, scope.session.as_str()),
            |file, row| {
                let entry = StateEntry {
                    value: column::<Vec<u8>>(file, row, 1)?.into(),
                    version: file.unsigned(column(file, row, 2)?)?,
                };
                Ok((column::<String>(file, row, 0)?, entry))
            },
        )?;
        Ok(values.into_iter().collect())
    }
}

fn record(file: &JournalFile, row: &Row<'_>) -> Result<Record, JournalError> {
    let seq = file.unsigned(column(file, row, 0)?)?;
    let session = id(file, row, 1)?;
    let at_ms = file.unsigned(column(file, row, 2)?)?;
    let kind = column(file, row, 3)?;
    let body: String = column(file, row, 4)?;
    Record::from_stored(seq, session, at_ms, kind, &body)
        .map_err(|error| file.damaged(format!("record {seq}: {error}")))
}

fn id<T: std::str::FromStr<Err: std::fmt::Display>>(
    file: &JournalFile,
    row: &Row<'_>,
    index: usize,
) -> Result<T, JournalError> {
    let text: String = column(file, row, index)?;
    text.parse()
        .map_err(|error: T::Err| file.damaged(error.to_string()))
}

fn column<T: rusqlite::types::FromSql>(
    file: &JournalFile,
    row: &Row<'_>,
    index: usize,
) -> Result<T, JournalError> {
    row.get(index).map_err(|error| file.error(&error))
}
