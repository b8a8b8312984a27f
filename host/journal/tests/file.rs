//! What the backend on a disk does with its file.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers stand beside the tests, where clippy does not see that they are tests"
)]

use std::{
    fs,
    path::{Path, PathBuf},
};

use damper_call::{CallId, EffectClass, Ending, Expected, SessionId, StateScope, StateWrite};
use damper_journal::{
    CallFinished, CallReceived, CallStarted, CallState, Durability, Entry, Event, Journal,
    JournalError, host_stream, journalled_calls,
};
use rusqlite::Connection;
use serde_json::json;

fn session() -> SessionId {
    "s1".parse().unwrap()
}

fn call(name: &str) -> CallId {
    name.parse().unwrap()
}

fn received(name: &str) -> Event {
    Event::from(CallReceived {
        call: call(name),
        tool: "bash".to_owned(),
        arguments: json!({"command": "ls"}),
        cwd: "/w".into(),
        generation: 1,
    })
}

fn started(name: &str) -> Event {
    Event::from(CallStarted {
        call: call(name),
        effect: EffectClass::Once,
    })
}

fn finished(name: &str, text: &str) -> Event {
    Event::from(CallFinished {
        call: call(name),
        ending: Ending::Completed,
        text: text.to_owned(),
        structured: None,
        is_error: false,
        truncated: false,
        content: None,
        reviews: Vec::new(),
        micros: 12,
    })
}

async fn append(journal: &Journal, event: Event) -> u64 {
    journal
        .append(&session(), event, Durability::Process)
        .await
        .unwrap()
}

fn open_error(path: &Path) -> JournalError {
    match Journal::open(path) {
        Ok(_) => panic!("{} opens", path.display()),
        Err(error) => error,
    }
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    PathBuf::from(format!("{}{ending}", path.display()))
}

#[tokio::test(flavor = "multi_thread")]
async fn goes_on_where_it_was_closed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let journal = Journal::open(&path).unwrap();
    let first = append(&journal, received("c1")).await;
    drop(journal);
    assert!(!beside(&path, "-wal").exists(), "the log is tidied away");

    let journal = Journal::open(&path).unwrap();
    assert_eq!(*journal.subscribe().borrow(), first);
    let second = append(&journal, finished("c1", "ok")).await;
    assert!(second > first);
    let records = journal.records(0, 9).await.unwrap();
    assert_eq!(records.len(), 2);
}

fn scope() -> StateScope {
    StateScope {
        row: "counter".parse().unwrap(),
        plugin: "damper/counter".to_owned(),
        session: session(),
    }
}

async fn write(journal: &Journal, value: Option<&[u8]>, expected: Expected) {
    let write = StateWrite {
        key: "n".to_owned(),
        value: value.map(Into::into),
        expected,
    };
    let (scope, writes) = (scope(), vec![write]);
    let batch = vec![Entry::State { scope, writes }];
    journal.commit(batch, Durability::Process).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn state_and_its_versions_survive_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let journal = Journal::open(&path).unwrap();
    write(&journal, Some(b"one"), Expected::Absent).await;
    let kept = journal.state(&scope()).await.unwrap();
    assert_eq!(&*kept["n"].value, b"one");
    drop(journal);

    let journal = Journal::open(&path).unwrap();
    assert_eq!(journal.state(&scope()).await.unwrap(), kept);
    write(&journal, None, Expected::Version(kept["n"].version)).await;
    drop(journal);

    let journal = Journal::open(&path).unwrap();
    assert!(journal.state(&scope()).await.unwrap().is_empty());
    write(&journal, Some(b"one"), Expected::Absent).await;
    let again = journal.state(&scope()).await.unwrap();
    assert!(again["n"].version > kept["n"].version);
}

#[tokio::test(flavor = "multi_thread")]
async fn keeps_what_was_committed_before_a_crash() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let journal = Journal::open(&path).unwrap();
    append(&journal, received("c1")).await;
    append(&journal, started("c1")).await;
    append(&journal, received("c2")).await;
    append(&journal, finished("c2", "ok")).await;
    let digest = journal.put(b"spilled".to_vec(), Durability::Process).await;
    let digest = digest.unwrap();

    // What a killed host leaves behind: the file and its log, not closed.
    let copy = folder.path().join("copy.db");
    for ending in ["", "-wal"] {
        fs::copy(beside(&path, ending), beside(&copy, ending)).unwrap();
    }
    let after = Journal::open(&copy).unwrap();
    assert_eq!(
        after.records(0, 9).await.unwrap(),
        journal.records(0, 9).await.unwrap()
    );
    assert_eq!(after.content(&digest).await.unwrap().unwrap(), b"spilled");
    let recovered = after.recover().await.unwrap();
    assert_eq!(recovered.len(), 1);
    assert_eq!(recovered[0].call, call("c1"));
    assert_eq!(recovered[0].ending, Ending::Unknown);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_torn_log_loses_its_torn_end_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let journal = Journal::open(&path).unwrap();
    append(&journal, received("c1")).await;
    let whole = fs::metadata(beside(&path, "-wal")).unwrap().len();
    append(&journal, finished("c1", "ok")).await;

    let copy = folder.path().join("copy.db");
    fs::copy(&path, &copy).unwrap();
    let log = fs::read(beside(&path, "-wal")).unwrap();
    let torn = usize::try_from(whole).unwrap() + 100;
    assert!(torn < log.len());
    fs::write(beside(&copy, "-wal"), &log[..torn]).unwrap();
    let after = Journal::open(&copy).unwrap();
    assert_eq!(after.records(0, 9).await.unwrap().len(), 1);
    let state = after.outcome_of(&call("c1")).await.unwrap();
    assert_eq!(state, CallState::Received);
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn only_its_owner_can_read_it() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("home/state/journal.db");
    let journal = Journal::open(&path).unwrap();
    append(&journal, received("c1")).await;
    assert_eq!(mode(&folder.path().join("home")), 0o700);
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    for ending in ["", "-wal", "-shm"] {
        assert_eq!(mode(&beside(&path, ending)), 0o600, "{ending}");
    }
    drop(journal);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    drop(Journal::open(&path).unwrap());
    assert_eq!(mode(&path), 0o600);
}

#[test]
fn a_file_that_is_no_journal_is_named_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let foreign = folder.path().join("foreign.db");
    let connection = Connection::open(&foreign).unwrap();
    connection
        .execute_batch("CREATE TABLE mail (text)")
        .unwrap();
    drop(connection);
    let noise = folder.path().join("noise.db");
    fs::write(&noise, [0xa5; 9000]).unwrap();
    for path in [foreign, noise] {
        let before = fs::read(&path).unwrap();
        let error = open_error(&path);
        assert_eq!(error, JournalError::NotAJournal { path: path.clone() });
        assert!(error.to_string().contains(path.to_str().unwrap()));
        assert_eq!(fs::read(&path).unwrap(), before);
    }
    let error = open_error(folder.path());
    assert!(
        error.to_string().contains(folder.path().to_str().unwrap()),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn damage_is_an_error_that_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let journal = Journal::open(&path).unwrap();
    for number in 0..200 {
        append(&journal, received(&format!("c{number}"))).await;
    }
    drop(journal);
    let mut bytes = fs::read(&path).unwrap();
    let pages = bytes.len() / 4096;
    assert!(pages > 10);
    // All but the first page, which holds the schema.
    for byte in &mut bytes[4096..] {
        *byte = 0xa5;
    }
    fs::write(&path, bytes).unwrap();
    let error = match Journal::open(&path) {
        Err(error) => error,
        Ok(journal) => journal.records(0, 999).await.unwrap_err(),
    };
    assert!(
        matches!(&error, JournalError::Damaged { path: named, .. } if *named == path),
        "{error}"
    );
    assert!(error.to_string().contains("backup"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn content_that_has_changed_is_damage() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let journal = Journal::open(&path).unwrap();
    let digest = journal.put(b"whole".to_vec(), Durability::Process).await;
    Connection::open(&path)
        .unwrap()
        .execute("UPDATE contents SET bytes = x'00'", [])
        .unwrap();
    let error = journal.content(&digest.unwrap()).await.unwrap_err();
    assert!(matches!(error, JournalError::Damaged { .. }), "{error}");
}

#[test]
fn a_newer_schema_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    drop(Journal::open(&path).unwrap());
    let connection = Connection::open(&path).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    drop(connection);
    let error = open_error(&path);
    let JournalError::Newer { found, known, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!(*found, 99);
    let text = error.to_string();
    assert!(
        text.contains("99") && text.contains(&format!("up to {known}")),
        "{text}"
    );
    assert!(text.contains("run the newer damper"), "{text}");
    assert_eq!(open_error(&path), error, "refusing changes nothing");
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_cannot_be_written_is_named() {
    // Refuses everybody, the superuser too, who may write to any ordinary folder.
    let error = open_error(Path::new("/proc/damper/journal.db"));
    assert!(
        error.to_string().contains("/proc/damper/journal.db"),
        "{error}"
    );
}

#[cfg(unix)]
#[test]
fn missing_permission_says_what_to_give() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let closed = folder.path().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o500)).unwrap();
    if fs::write(closed.join("probe"), "").is_ok() {
        // The superuser is not stopped by a mode.
        return;
    }
    let error = open_error(&closed.join("journal.db"));
    assert!(matches!(error, JournalError::NotWritable { .. }), "{error}");
    assert!(error.to_string().contains("write permission"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_measured_calls_are_real_ones() {
    let folder = tempfile::tempdir().unwrap();
    let journal = Journal::open(&folder.path().join("journal.db")).unwrap();
    let measured = journalled_calls(&journal, 4, 5).await.unwrap();
    assert_eq!(measured.appends, 4 * 5 * 4);
    assert_eq!(journal.records(0, 999).await.unwrap().len(), 4 * 5 * 4);
    assert_eq!(journal.open_calls().await.unwrap(), []);
    let bare = damper_journal::bare_appends(&folder.path().join("bare.db"), 5).unwrap();
    assert_eq!(bare.appends, 5 * 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_hosts_own_stream_is_no_sessions() {
    let journal = Journal::in_memory().unwrap();
    let stopped = damper_journal::HostStopped {
        reason: "asked to".to_owned(),
    };
    journal
        .append(&host_stream(), stopped, Durability::Process)
        .await
        .unwrap();
    let records = journal.session_records(&host_stream(), 0, 9).await.unwrap();
    assert_eq!(records.len(), 1);
}
