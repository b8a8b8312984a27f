//! What every backend does, checked on each of them.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the checks are functions beside the tests, where clippy does not see that they are tests"
)]

use std::{collections::BTreeSet, sync::Arc};

use damper_call::{
    ApprovalId, CallId, Door, EffectClass, Ending, Expected, SessionId, StateScope, StateWrite,
    VerdictKind,
};
use damper_journal::{
    Answer, ApprovalAnswered, ApprovalRaised, CallDecided, CallFinished, CallReceived, CallStarted,
    CallState, Durability, Entry, Event, Journal, JournalError, NewRecord, Record, Refusal,
    SessionOpened,
};
use serde_json::json;
use tempfile::TempDir;

/// A fresh journal and the folder that must outlive it.
struct Fresh {
    journal: Journal,
    _folder: Option<TempDir>,
}

fn memory() -> Fresh {
    Fresh {
        journal: Journal::in_memory().unwrap(),
        _folder: None,
    }
}

fn sqlite() -> Fresh {
    let folder = tempfile::tempdir().unwrap();
    Fresh {
        journal: Journal::open(&folder.path().join("journal.db")).unwrap(),
        _folder: Some(folder),
    }
}

macro_rules! contract {
    ($($check:ident)*) => {
        mod on_memory {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $check() {
                super::$check(super::memory().journal).await;
            })*
        }
        mod on_sqlite {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $check() {
                let super::Fresh { journal, _folder } = super::sqlite();
                super::$check(journal).await;
            })*
        }
    };
}

contract! {
    keeps_what_was_appended_in_order
    reads_a_session_alone
    reads_a_call_alone
    commits_a_batch_wholly_or_not_at_all
    a_refused_append_leaves_its_neighbours_alone
    loses_nothing_of_sixteen_writers
    takes_each_step_of_a_call_once
    takes_the_first_answer_to_an_approval
    finds_calls_by_the_beginning_of_their_id
    keeps_events_that_it_cannot_read
    keeps_content_by_its_hash
    refuses_an_event_above_the_limit
    tells_of_new_records
    recovers_each_kind_of_open_call
    keeps_state_with_the_record_of_its_batch
    keeps_nothing_of_a_batch_whose_state_has_changed
    takes_each_version_of_a_value_once
    gives_no_version_twice
    keeps_the_states_of_rows_plugins_and_sessions_apart
    checks_each_write_against_the_ones_before_it
    a_conflict_leaves_its_neighbours_alone
}

fn session(name: &str) -> SessionId {
    name.parse().unwrap()
}

fn call(name: &str) -> CallId {
    name.parse().unwrap()
}

fn approval(name: &str) -> ApprovalId {
    name.parse().unwrap()
}

fn opened() -> Event {
    Event::from(SessionOpened {
        door: Door::Mcp,
        agent: Some("codex".to_owned()),
        cwd: "/w".into(),
        roots: vec!["/w".into()],
        composed: None,
        notices: Vec::new(),
    })
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

fn decided(name: &str) -> Event {
    Event::from(CallDecided {
        call: call(name),
        verdict: VerdictKind::Allow,
        opinions: Vec::new(),
    })
}

fn started(name: &str, effect: EffectClass) -> Event {
    Event::from(CallStarted {
        call: call(name),
        effect,
    })
}

fn finished(name: &str) -> Event {
    Event::from(CallFinished {
        call: call(name),
        ending: Ending::Completed,
        text: "done".to_owned(),
        structured: Some(json!({"exit_code": 0})),
        is_error: false,
        truncated: false,
        content: None,
        reviews: Vec::new(),
        micros: 12,
    })
}

fn raised(name: &str, of: &str) -> Event {
    Event::from(ApprovalRaised {
        approval: approval(name),
        call: call(of),
        asked: None,
        reason: "deletes".to_owned(),
        display: Vec::new(),
    })
}

fn answered(name: &str, of: &str, answer: Answer) -> Event {
    Event::from(ApprovalAnswered {
        approval: approval(name),
        call: call(of),
        answer,
        by: "ann".to_owned(),
        why: None,
    })
}

async fn append(journal: &Journal, to: &str, event: Event) -> u64 {
    journal
        .append(&session(to), event, Durability::Process)
        .await
        .unwrap()
}

async fn try_append(journal: &Journal, event: Event) -> Result<u64, JournalError> {
    journal
        .append(&session("s1"), event, Durability::Process)
        .await
}

async fn all(journal: &Journal) -> Vec<Record> {
    journal.records(0, usize::MAX).await.unwrap()
}

fn events(records: &[Record]) -> Vec<Event> {
    records.iter().map(|record| record.event.clone()).collect()
}

async fn keeps_what_was_appended_in_order(journal: Journal) {
    let told = [
        opened(),
        received("c1"),
        decided("c1"),
        started("c1", EffectClass::Once),
        finished("c1"),
    ];
    let mut seqs = Vec::new();
    for event in &told {
        seqs.push(append(&journal, "s1", event.clone()).await);
    }
    assert!(seqs.is_sorted_by(|a, b| a < b), "{seqs:?}");
    let records = all(&journal).await;
    assert_eq!(events(&records), told);
    assert_eq!(
        records.iter().map(|record| record.seq).collect::<Vec<_>>(),
        seqs
    );
    assert!(
        records
            .iter()
            .all(|record| record.at_ms > 1_600_000_000_000)
    );
    let page = journal.records(seqs[1], 2).await.unwrap();
    assert_eq!(events(&page), told[2..4]);
    assert_eq!(journal.records(seqs[4], 9).await.unwrap(), []);
    assert_eq!(journal.records(u64::MAX, 9).await.unwrap(), []);
}

async fn reads_a_session_alone(journal: Journal) {
    let first = append(&journal, "s1", received("c1")).await;
    append(&journal, "s2", received("c2")).await;
    append(&journal, "s1", decided("c1")).await;
    let read = |after, limit| {
        let journal = journal.clone();
        async move {
            let records = journal
                .session_records(&session("s1"), after, limit)
                .await
                .unwrap();
            events(&records)
        }
    };
    assert_eq!(read(0, 9).await, [received("c1"), decided("c1")]);
    assert_eq!(read(0, 1).await, [received("c1")]);
    assert_eq!(read(first, 9).await, [decided("c1")]);
    let nobody = journal.session_records(&session("s3"), 0, 9).await.unwrap();
    assert_eq!(nobody, []);
}

async fn reads_a_call_alone(journal: Journal) {
    let told = [
        received("c1"),
        decided("c1"),
        raised("a1", "c1"),
        answered("a1", "c1", Answer::Allowed),
        started("c1", EffectClass::None),
        finished("c1"),
    ];
    append(&journal, "s1", received("c2")).await;
    for event in &told {
        append(&journal, "s1", event.clone()).await;
        append(&journal, "s1", decided("c2")).await;
    }
    let records = journal.call_records(&call("c1")).await.unwrap();
    assert_eq!(events(&records), told);
    assert_eq!(journal.call_records(&call("c3")).await.unwrap(), []);
}

async fn commits_a_batch_wholly_or_not_at_all(journal: Journal) {
    let entry = |event: Event| Entry::Record(NewRecord::now(session("s1"), &event).unwrap());
    append(&journal, "s1", received("c1")).await;
    let broken = vec![
        entry(started("c1", EffectClass::Once)),
        entry(received("c2")),
        entry(raised("a1", "c2")),
        entry(finished("c3")),
    ];
    assert_eq!(
        journal.commit(broken, Durability::Power).await,
        Err(Refusal::CallCannotEnd(call("c3")).into())
    );
    assert_eq!(events(&all(&journal).await), [received("c1")]);
    let state = |name| {
        let journal = journal.clone();
        async move { journal.outcome_of(&call(name)).await.unwrap() }
    };
    assert_eq!(state("c1").await, CallState::Received);
    assert_eq!(state("c2").await, CallState::Unseen);
    assert_eq!(journal.open_approvals().await.unwrap(), []);

    let whole = vec![
        entry(started("c1", EffectClass::Once)),
        entry(received("c2")),
        entry(raised("a1", "c2")),
        entry(finished("c1")),
    ];
    let seqs = journal.commit(whole, Durability::Power).await.unwrap();
    assert_eq!(seqs.len(), 4);
    assert_eq!(all(&journal).await.len(), 5);
    assert!(matches!(state("c1").await, CallState::Finished(_)));
    assert_eq!(
        journal.commit(Vec::new(), Durability::Power).await,
        Ok(vec![])
    );
}

async fn a_refused_append_leaves_its_neighbours_alone(journal: Journal) {
    let mut running = tokio::task::JoinSet::new();
    for number in 0..64 {
        let journal = journal.clone();
        running.spawn(async move {
            let name = format!("c{number}");
            if number % 2 == 0 {
                try_append(&journal, received(&name)).await.is_ok()
            } else {
                try_append(&journal, finished(&name)).await
                    == Err(Refusal::CallCannotEnd(call(&name)).into())
            }
        });
    }
    assert_eq!(running.join_all().await, [true; 64]);
    let records = all(&journal).await;
    assert_eq!(records.len(), 32);
    assert!(records.is_sorted_by(|a, b| a.seq < b.seq));
}

async fn loses_nothing_of_sixteen_writers(journal: Journal) {
    let journal = Arc::new(journal);
    let runtime = tokio::runtime::Handle::current();
    let writers = (0..16).map(|writer| {
        let (journal, runtime) = (Arc::clone(&journal), runtime.clone());
        std::thread::spawn(move || {
            let name = format!("s{writer}");
            let append = async |number: usize| {
                let call = format!("c{writer}-{}", number / 2);
                let (event, durability) = if number.is_multiple_of(2) {
                    (received(&call), Durability::Process)
                } else {
                    (finished(&call), Durability::Power)
                };
                journal.append(&session(&name), event, durability).await
            };
            (0..200)
                .map(|number| runtime.block_on(append(number)).unwrap())
                .collect::<Vec<u64>>()
        })
    });
    let writers: Vec<_> = writers.collect();
    let told = tokio::task::spawn_blocking(move || {
        let joined = writers.into_iter().map(|writer| writer.join().unwrap());
        joined.collect::<Vec<_>>()
    });
    let told = told.await.unwrap();
    let records = all(&journal).await;
    assert_eq!(records.len(), 16 * 200);
    assert!(records.is_sorted_by(|a, b| a.seq < b.seq));
    for (writer, seqs) in told.iter().enumerate() {
        let name = session(&format!("s{writer}"));
        let stream = journal.session_records(&name, 0, usize::MAX).await.unwrap();
        let kept: Vec<u64> = stream.iter().map(|record| record.seq).collect();
        assert_eq!(&kept, seqs);
    }
    let distinct: BTreeSet<u64> = told.into_iter().flatten().collect();
    assert_eq!(distinct.len(), 16 * 200);
    assert_eq!(journal.open_calls().await.unwrap(), []);
}

async fn takes_each_step_of_a_call_once(journal: Journal) {
    let once = EffectClass::Once;
    let cannot_start = || Err(Refusal::CallCannotStart(call("c1")).into());
    let cannot_end = || Err(Refusal::CallCannotEnd(call("c1")).into());
    let state = || async { journal.outcome_of(&call("c1")).await.unwrap() };

    assert_eq!(state().await, CallState::Unseen);
    assert_eq!(
        try_append(&journal, started("c1", once)).await,
        cannot_start()
    );
    assert_eq!(try_append(&journal, finished("c1")).await, cannot_end());
    append(&journal, "s1", received("c1")).await;
    assert_eq!(state().await, CallState::Received);
    let again = try_append(&journal, received("c1")).await;
    assert_eq!(again, Err(Refusal::CallKnown(call("c1")).into()));
    append(&journal, "s1", started("c1", once)).await;
    assert_eq!(state().await, CallState::Started(once));
    assert_eq!(
        try_append(&journal, started("c1", once)).await,
        cannot_start()
    );
    let end = append(&journal, "s1", finished("c1")).await;
    assert_eq!(try_append(&journal, finished("c1")).await, cannot_end());
    assert_eq!(
        try_append(&journal, started("c1", once)).await,
        cannot_start()
    );
    let again = try_append(&journal, received("c1")).await;
    assert_eq!(again, Err(Refusal::CallKnown(call("c1")).into()));
    let CallState::Finished(record) = state().await else {
        panic!("not finished");
    };
    assert_eq!((record.seq, record.event), (end, finished("c1")));
    assert_eq!(all(&journal).await.len(), 3);
}

async fn takes_the_first_answer_to_an_approval(journal: Journal) {
    let not_open = || Err(Refusal::ApprovalNotOpen(approval("a1")).into());
    let allowed = || answered("a1", "c1", Answer::Allowed);
    append(&journal, "s1", received("c1")).await;
    assert_eq!(try_append(&journal, allowed()).await, not_open());
    append(&journal, "s1", raised("a1", "c1")).await;
    let open = journal.open_approvals().await.unwrap();
    assert_eq!(events(&open), [raised("a1", "c1")]);
    let again = try_append(&journal, raised("a1", "c1")).await;
    assert_eq!(again, Err(Refusal::ApprovalKnown(approval("a1")).into()));
    append(&journal, "s1", answered("a1", "c1", Answer::Denied)).await;
    assert_eq!(try_append(&journal, allowed()).await, not_open());
    assert_eq!(journal.open_approvals().await.unwrap(), []);
}

async fn finds_calls_by_the_beginning_of_their_id(journal: Journal) {
    assert_eq!(journal.last_call().await.unwrap(), None);
    for name in ["cab2", "cab1", "cac", "d%", "ca"] {
        if name != "d%" {
            append(&journal, "s1", received(name)).await;
        }
    }
    let find = |prefix: &'static str, limit| {
        let journal = journal.clone();
        async move {
            let found = journal.calls_with_prefix(prefix, limit).await.unwrap();
            found.iter().map(ToString::to_string).collect::<Vec<_>>()
        }
    };
    assert_eq!(find("cab", 9).await, ["cab1", "cab2"]);
    assert_eq!(find("cab1", 9).await, ["cab1"]);
    assert_eq!(find("ca", 2).await, ["ca", "cab1"]);
    assert_eq!(find("", 9).await, ["ca", "cab1", "cab2", "cac"]);
    for nothing in ["cb", "c%", "c_b1", "CAB", "cab1 ", "ca\u{e4}", "'"] {
        assert!(find(nothing, 9).await.is_empty(), "{nothing:?}");
    }
    assert_eq!(journal.last_call().await.unwrap(), Some(call("ca")));
}

async fn keeps_events_that_it_cannot_read(journal: Journal) {
    let newer = Event::Other {
        kind: "team/formed".to_owned(),
        body: json!({"of": [1, {"deep": null}], "text": "\u{0}ü"}),
    };
    append(&journal, "s1", opened()).await;
    append(&journal, "s1", newer.clone()).await;
    append(&journal, "s1", received("c1")).await;
    let records = all(&journal).await;
    assert_eq!(events(&records), [opened(), newer, received("c1")]);
    for record in records {
        let line = serde_json::to_string(&record).unwrap();
        assert_eq!(serde_json::from_str::<Record>(&line).unwrap(), record);
    }
}

async fn keeps_content_by_its_hash(journal: Journal) {
    let bytes = b"\x00\xffall of it".repeat(10_000);
    let digest = journal
        .put(bytes.clone(), Durability::Process)
        .await
        .unwrap();
    let again = journal.put(bytes.clone(), Durability::Power).await.unwrap();
    let empty = journal.put(Vec::new(), Durability::Process).await.unwrap();
    assert_eq!(digest, again);
    assert_eq!(
        empty.to_string(),
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    );
    assert_eq!(journal.content(&digest).await.unwrap(), Some(bytes));
    assert_eq!(journal.content(&empty).await.unwrap(), Some(Vec::new()));
    let unknown = damper_call::Digest::from_sha256([7; 32]);
    assert_eq!(journal.content(&unknown).await.unwrap(), None);
    assert_eq!(all(&journal).await, []);
}

async fn refuses_an_event_above_the_limit(journal: Journal) {
    let huge = Event::Other {
        kind: "x/huge".to_owned(),
        body: json!("x".repeat(5 << 20)),
    };
    let error = try_append(&journal, huge).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "an event of 5242882 bytes is above the journal's limit of 4194304 bytes"
    );
    append(&journal, "s1", opened()).await;
}

async fn tells_of_new_records(journal: Journal) {
    let mut newest = journal.subscribe();
    assert_eq!(*newest.borrow_and_update(), 0);
    let seq = append(&journal, "s1", opened()).await;
    newest.changed().await.unwrap();
    assert_eq!(*newest.borrow_and_update(), seq);
    let late = journal.subscribe();
    assert_eq!(*late.borrow(), seq);
    drop(journal);
    assert!(newest.changed().await.is_err(), "the end is told too");
}

async fn recovers_each_kind_of_open_call(journal: Journal) {
    assert_eq!(journal.recover().await.unwrap(), []);
    append(&journal, "s1", received("received")).await;
    append(&journal, "s1", received("asked")).await;
    append(&journal, "s1", raised("a1", "asked")).await;
    for (name, effect) in [
        ("none", EffectClass::None),
        ("idempotent", EffectClass::Idempotent),
        ("once", EffectClass::Once),
        ("over", EffectClass::Once),
    ] {
        append(&journal, "s2", received(name)).await;
        append(&journal, "s2", started(name, effect)).await;
    }
    append(&journal, "s2", finished("over")).await;
    let before = all(&journal).await.len();

    let recovered = journal.recover().await.unwrap();
    let told: Vec<_> = recovered
        .iter()
        .map(|end| (end.call.as_str(), end.session.as_str(), end.ending))
        .collect();
    assert_eq!(
        told,
        [
            ("received", "s1", Ending::Cancelled),
            ("asked", "s1", Ending::Cancelled),
            ("none", "s2", Ending::Unknown),
            ("idempotent", "s2", Ending::Unknown),
            ("once", "s2", Ending::Unknown),
        ]
    );
    for (end, words) in recovered.iter().zip([
        "before the tool ran; nothing was done",
        "before the tool ran; nothing was done",
        "is safe to repeat",
        "is safe to repeat",
        "is not safe to repeat",
    ]) {
        assert!(end.text.contains(words), "{}: {}", end.call, end.text);
        let CallState::Finished(record) = journal.outcome_of(&end.call).await.unwrap() else {
            panic!("{} has no end", end.call);
        };
        let Event::CallFinished(finish) = record.event else {
            panic!("{} ends otherwise", end.call);
        };
        assert_eq!((finish.ending, &finish.text), (end.ending, &end.text));
        assert!(finish.is_error);
    }
    let asked = journal.call_records(&call("asked")).await.unwrap();
    let denied = asked.iter().find_map(|record| {
        if let Event::ApprovalAnswered(answered) = &record.event {
            return Some((answered.answer, answered.why.as_deref()));
        }
        None
    });
    assert_eq!(denied, Some((Answer::Denied, Some("host stopped"))));
    assert_eq!(journal.open_approvals().await.unwrap(), []);
    assert_eq!(journal.open_calls().await.unwrap(), []);

    let after = all(&journal).await.len();
    assert_eq!(after, before + 6);
    assert_eq!(journal.recover().await.unwrap(), []);
    assert_eq!(all(&journal).await.len(), after);
}

fn scope(row: &str, plugin: &str, of: &str) -> StateScope {
    StateScope {
        row: row.parse().unwrap(),
        plugin: plugin.to_owned(),
        session: session(of),
    }
}

fn counter() -> StateScope {
    scope("counter", "damper/counter", "s1")
}

fn put(key: &str, value: &str, expected: Expected) -> StateWrite {
    StateWrite {
        key: key.to_owned(),
        value: Some(value.as_bytes().into()),
        expected,
    }
}

fn delete(key: &str, expected: Expected) -> StateWrite {
    StateWrite {
        key: key.to_owned(),
        value: None,
        expected,
    }
}

async fn write(
    journal: &Journal,
    scope: &StateScope,
    writes: impl Into<Vec<StateWrite>>,
) -> Result<Vec<u64>, JournalError> {
    let entry = Entry::State {
        scope: scope.clone(),
        writes: writes.into(),
    };
    journal.commit(vec![entry], Durability::Process).await
}

/// Returns the keys and values that are kept.
async fn kept(journal: &Journal, scope: &StateScope) -> Vec<(String, String)> {
    let state = journal.state(scope).await.unwrap();
    let text = |value: &[u8]| String::from_utf8(value.to_vec()).unwrap();
    let values = state.iter();
    values
        .map(|(key, entry)| (key.clone(), text(&entry.value)))
        .collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    expected.iter().map(owned).collect()
}

async fn version(journal: &Journal, scope: &StateScope, key: &str) -> u64 {
    journal.state(scope).await.unwrap()[key].version
}

async fn keeps_state_with_the_record_of_its_batch(journal: Journal) {
    assert_eq!(kept(&journal, &counter()).await, []);
    let batch = vec![
        Entry::Record(NewRecord::now(session("s1"), &received("c1")).unwrap()),
        Entry::State {
            scope: counter(),
            writes: vec![
                put("b", "2", Expected::Anything),
                put("a", "", Expected::Absent),
            ],
        },
        Entry::Record(NewRecord::now(session("s1"), &decided("c1")).unwrap()),
    ];
    let seqs = journal.commit(batch, Durability::Power).await.unwrap();
    assert_eq!(seqs.len(), 2, "only records have numbers");
    assert_eq!(
        events(&all(&journal).await),
        [received("c1"), decided("c1")]
    );
    let all_kept = pairs(&[("a", ""), ("b", "2")]);
    assert_eq!(kept(&journal, &counter()).await, all_kept);

    write(&journal, &counter(), [delete("b", Expected::Anything)])
        .await
        .unwrap();
    write(&journal, &counter(), [delete("b", Expected::Absent)])
        .await
        .unwrap();
    assert_eq!(kept(&journal, &counter()).await, pairs(&[("a", "")]));
}

async fn keeps_nothing_of_a_batch_whose_state_has_changed(journal: Journal) {
    let other = scope("other", "damper/counter", "s1");
    let before = [
        put("a", "1", Expected::Absent),
        put("gone", "x", Expected::Absent),
    ];
    write(&journal, &counter(), before).await.unwrap();
    let stale = version(&journal, &counter(), "a").await;
    write(&journal, &counter(), [put("a", "2", Expected::Anything)])
        .await
        .unwrap();
    let unchanged = journal.state(&counter()).await.unwrap();
    let content = damper_journal::Content::new(b"spilled".to_vec()).unwrap();
    let digest = content.digest();

    for conflicting in [
        put("a", "3", Expected::Version(stale)),
        put("a", "3", Expected::Absent),
        delete("a", Expected::Version(stale)),
        put("missing", "3", Expected::Version(stale)),
        delete("missing", Expected::Version(0)),
    ] {
        let batch = vec![
            Entry::Record(NewRecord::now(session("s1"), &received("c1")).unwrap()),
            Entry::Content(content.clone()),
            Entry::State {
                scope: other.clone(),
                writes: vec![put("new", "1", Expected::Absent)],
            },
            Entry::State {
                scope: counter(),
                writes: vec![
                    put("new", "1", Expected::Absent),
                    delete("gone", Expected::Anything),
                    conflicting.clone(),
                ],
            },
        ];
        assert_eq!(
            journal.commit(batch, Durability::Process).await,
            Err(Refusal::StateConflict(counter()).into()),
            "{conflicting:?}"
        );
        assert_eq!(journal.state(&counter()).await.unwrap(), unchanged);
        assert_eq!(kept(&journal, &other).await, []);
        assert_eq!(all(&journal).await, []);
        assert_eq!(journal.content(&digest).await.unwrap(), None);
    }
}

async fn takes_each_version_of_a_value_once(journal: Journal) {
    write(&journal, &counter(), [put("n", "0", Expected::Absent)])
        .await
        .unwrap();
    let mut running = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let journal = journal.clone();
        running.spawn(async move {
            for _ in 0..5 {
                add_one(&journal).await;
            }
        });
    }
    running.join_all().await;
    assert_eq!(kept(&journal, &counter()).await, pairs(&[("n", "40")]));
}

/// Adds one to the counter as a plugin does that is asked once more when another was faster.
async fn add_one(journal: &Journal) {
    loop {
        let state = journal.state(&counter()).await.unwrap();
        let number: u32 = std::str::from_utf8(&state["n"].value)
            .unwrap()
            .parse()
            .unwrap();
        let expected = Expected::Version(state["n"].version);
        let next = put("n", &(number + 1).to_string(), expected);
        match write(journal, &counter(), [next]).await {
            Ok(_) => return,
            Err(error) => assert_eq!(error, Refusal::StateConflict(counter()).into()),
        }
    }
}

async fn gives_no_version_twice(journal: Journal) {
    let mut seen = BTreeSet::new();
    for round in 0..4 {
        write(&journal, &counter(), [put("a", "same", Expected::Absent)])
            .await
            .unwrap();
        let created = version(&journal, &counter(), "a").await;
        write(&journal, &counter(), [put("a", "same", Expected::Anything)])
            .await
            .unwrap();
        let replaced = version(&journal, &counter(), "a").await;
        assert!(seen.insert(created) && seen.insert(replaced), "{seen:?}");
        assert!(
            !seen.contains(&0),
            "0 is the version of what is not committed"
        );
        if round == 2 {
            // A batch that is refused gives no version back either.
            let refused = [
                put("b", "", Expected::Absent),
                put("b", "", Expected::Absent),
            ];
            write(&journal, &counter(), refused).await.unwrap_err();
        }
        let last = [delete("a", Expected::Version(replaced))];
        write(&journal, &counter(), last).await.unwrap();
    }
}

async fn keeps_the_states_of_rows_plugins_and_sessions_apart(journal: Journal) {
    let scopes = [
        scope("r1", "damper/one", "s1"),
        scope("r2", "damper/one", "s1"),
        scope("r1", "damper/two", "s1"),
        scope("r1", "damper/one", "s2"),
    ];
    for (number, scope) in scopes.iter().enumerate() {
        let value = number.to_string();
        write(&journal, scope, [put("key", &value, Expected::Absent)])
            .await
            .unwrap();
    }
    write(&journal, &scopes[1], [delete("key", Expected::Anything)])
        .await
        .unwrap();
    for (number, scope) in scopes.iter().enumerate() {
        let value = number.to_string();
        let expected = if number == 1 {
            Vec::new()
        } else {
            pairs(&[("key", &value)])
        };
        assert_eq!(kept(&journal, scope).await, expected, "{scope:?}");
    }
}

async fn checks_each_write_against_the_ones_before_it(journal: Journal) {
    let writes = [
        put("a", "1", Expected::Absent),
        delete("a", Expected::Anything),
        put("a", "2", Expected::Absent),
    ];
    write(&journal, &counter(), writes).await.unwrap();
    assert_eq!(kept(&journal, &counter()).await, pairs(&[("a", "2")]));
    let twice = [
        put("b", "1", Expected::Absent),
        put("b", "2", Expected::Absent),
    ];
    assert_eq!(
        write(&journal, &counter(), twice).await,
        Err(Refusal::StateConflict(counter()).into())
    );
    assert_eq!(kept(&journal, &counter()).await, pairs(&[("a", "2")]));
}

async fn a_conflict_leaves_its_neighbours_alone(journal: Journal) {
    let mut running = tokio::task::JoinSet::new();
    for number in 0..64 {
        let journal = journal.clone();
        running.spawn(async move {
            let name = format!("c{number}");
            let batch = vec![
                Entry::Record(NewRecord::now(session("s1"), &received(&name)).unwrap()),
                Entry::State {
                    scope: counter(),
                    writes: vec![put("first", &name, Expected::Absent)],
                },
            ];
            let own = vec![Entry::State {
                scope: counter(),
                writes: vec![put(&name, "", Expected::Absent)],
            }];
            let (contended, alone) = tokio::join!(
                journal.commit(batch, Durability::Process),
                journal.commit(own, Durability::Process),
            );
            alone.unwrap();
            match contended {
                Ok(_) => Some(name),
                Err(error) => {
                    assert_eq!(error, Refusal::StateConflict(counter()).into());
                    None
                }
            }
        });
    }
    let won: Vec<String> = running.join_all().await.into_iter().flatten().collect();
    assert_eq!(won.len(), 1, "{won:?}");
    let state = journal.state(&counter()).await.unwrap();
    assert_eq!(state.len(), 65);
    assert_eq!(&*state["first"].value, won[0].as_bytes());
    assert_eq!(events(&all(&journal).await), [received(&won[0])]);
}
