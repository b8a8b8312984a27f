//! The host's functions in a native test: what is granted, and what is left behind.

use std::time::Duration;

use damper_guest::{
    FileError, FileGrants, FileKind, Grants, Metadata, Session,
    clock::{self, ClockError},
    files,
    http::{self, HttpError, Request, Response},
    log::{self, Level},
    roster::{self, RosterError},
    sessions::{self, SessionsError},
    state::{self, StateError},
    testing::{Line, Surroundings},
};

#[test]
fn outside_of_a_hook_nothing_is_granted_and_nothing_is_kept() {
    assert_eq!(clock::now(), Err(ClockError::NotGranted));
    assert_eq!(roster::modes(), Err(RosterError::NotGranted));
    assert_eq!(sessions::tree(), Err(SessionsError::NotGranted));
    assert!(sessions::current().is_none());
    assert_eq!(state::put("a", b"b"), Err(StateError::NoSession));
    assert_eq!(state::keys(), Err(StateError::NoSession));
    assert_eq!(files::stat("/workspace/a"), Err(FileError::NotGranted));
}

#[test]
fn state_lives_from_one_hook_to_the_next() {
    let mut around = Surroundings::new();
    let count = |count: &mut u32| *count += 1;
    assert_eq!(around.ask(|| state::update("count", count)), Ok(1));
    assert_eq!(around.ask(|| state::update("count", count)), Ok(2));
    assert_eq!(around.kept("count"), Ok(Some(2)));
    assert_eq!(around.ask(state::keys), Ok(vec!["count".to_owned()]));
    assert_eq!(around.ask(|| state::delete("count")), Ok(()));
    assert_eq!(around.kept::<u32>("count"), Ok(None));
}

#[test]
fn a_write_has_version_0_until_it_is_committed() {
    let mut around = Surroundings::new();
    let version = || state::get("a").map(|entry| entry.map(|entry| entry.version));
    let own = around.ask(|| {
        state::put("a", b"1")?;
        version()
    });
    assert_eq!(own, Ok(Some(0)));
    let first = around
        .ask(version)
        .expect("it is kept")
        .expect("it is there");
    around.ask(|| state::put("a", b"2")).expect("it is written");
    let second = around
        .ask(version)
        .expect("it is kept")
        .expect("it is there");
    assert_ne!(first, second);
    let stale = around.ask(|| state::put_if("a", b"3", Some(first)));
    assert_eq!(stale, Err(StateError::Conflict));
    assert_eq!(
        around.ask(|| state::put_if("a", b"3", None)),
        Err(StateError::Conflict)
    );
    assert_eq!(
        around.ask(|| state::put_if("a", b"3", Some(second))),
        Ok(())
    );
    assert_eq!(around.kept("a"), Ok(Some(3)));
}

#[test]
fn a_hook_that_panics_writes_nothing() {
    let mut around = Surroundings::new();
    let hook = std::panic::AssertUnwindSafe(|| {
        around.ask(|| {
            state::put("a", b"1").expect("it is written");
            panic!("it fails");
        })
    });
    std::panic::catch_unwind(hook).expect_err("it panics");
    assert!(sessions::current().is_none(), "the thread is outside again");
    assert_eq!(around.kept::<u32>("a"), Ok(None));
}

#[test]
fn state_has_limits() {
    let mut around = Surroundings::new();
    around.max_state_bytes = 4;
    assert_eq!(around.ask(|| state::put("a", b"123")), Ok(()));
    assert_eq!(around.ask(|| state::put("a", b"456")), Ok(()));
    assert_eq!(
        around.ask(|| state::put("b", b"")),
        Err(StateError::Full(4))
    );
    assert_eq!(
        around.ask(|| state::put("", b"")),
        Err(StateError::InvalidKey)
    );
    let long = "k".repeat(129);
    assert_eq!(
        around.ask(|| state::get(&long)),
        Err(StateError::InvalidKey)
    );
    let text = around.ask(|| state::read::<String>("a"));
    assert!(matches!(text, Err(StateError::Unreadable(_))), "{text:?}");
}

#[test]
fn the_clock_needs_its_grant() {
    let mut around = Surroundings::new();
    around.now += Duration::from_secs(1);
    assert_eq!(around.ask(clock::now), Err(ClockError::NotGranted));
    assert_eq!(around.ask(clock::started), around.started);
    around.grants.clock = true;
    let now = around.ask(clock::now).expect("it is granted");
    assert_eq!(now - around.ask(clock::started), Duration::from_secs(1));
}

#[test]
fn files_are_covered_or_not() {
    let link = Metadata {
        resolved: "/etc/passwd".to_owned(),
        kind: FileKind::File,
        size: Some(1),
    };
    let mut around = Surroundings::new()
        .granting(Grants::WORKSPACE_METADATA)
        .with_file("/workspace/a", "12345")
        .with_file("/etc/passwd", "x")
        .with_file("/workspace2/a", "x")
        .with_path("/workspace/link", Ok(link));
    let mut size = |path: &str| around.ask(|| files::stat(path).map(|file| file.size));
    assert_eq!(size("/workspace/a"), Ok(Some(5)));
    assert_eq!(size("./a"), Ok(Some(5)));
    assert_eq!(size("b"), Err(FileError::NotFound));
    for path in ["/etc/passwd", "../etc/passwd", "/workspace2/a", "link"] {
        assert_eq!(size(path), Err(FileError::NotGranted), "{path}");
    }
    let unread = around.ask(|| files::read("a", 0, 1));
    assert_eq!(unread, Err(FileError::NotGranted));
}

#[test]
fn files_are_read_in_pieces() {
    let long = vec![7; 150_000];
    let mut around = Surroundings::new()
        .granting(Grants {
            files: FileGrants {
                read: &["/data"],
                ..FileGrants::NONE
            },
            ..Grants::NONE
        })
        .with_file("/data/short", "12345")
        .with_file("/data/empty", "")
        .with_file("/data/long", long.clone());
    let piece = around
        .ask(|| files::read("/data/short", 3, 9))
        .expect("it is read");
    assert_eq!((&*piece.bytes, piece.size), (&b"45"[..], 5));
    let piece = around
        .ask(|| files::read("/data/long", 0, u32::MAX))
        .expect("it is read");
    assert_eq!(piece.bytes.len(), 64 * 1024);
    assert_eq!(
        around.ask(|| files::read_whole("/data/long", 150_000)),
        Ok(long)
    );
    assert_eq!(
        around.ask(|| files::read_whole("/data/empty", 0)),
        Ok(Vec::new())
    );
    assert_eq!(
        around.ask(|| files::read_whole("/data/long", 149_999)),
        Err(FileError::Failed(
            "the file has 150000 bytes, more than 149999".to_owned()
        ))
    );
    assert_eq!(
        around.ask(|| files::stat("/data/short")),
        Err(FileError::NotGranted)
    );
}

#[test]
fn only_granted_hosts_are_spoken_to() {
    const URL: &str = "https://api.example.com/a?b";
    let mut around = Surroundings::new()
        .granting(Grants {
            http: &["api.example.com", "api.example.com:8443"],
            ..Grants::NONE
        })
        .with_response("POST", URL, Response::new(200, r#"{"ok": true}"#));
    let request = Request::new("POST", URL)
        .header("accept", "application/json")
        .json(&["x"])
        .expect("it is JSON");
    let response = around
        .ask(|| http::send(request.clone()))
        .expect("it is answered");
    assert_eq!(response.status, 200);
    assert_eq!(response.json(), Ok(serde_json::json!({"ok": true})));
    assert_eq!(around.requests, [request]);

    let mut error = |url: &str| {
        around
            .ask(|| http::send(Request::new("GET", url)))
            .unwrap_err()
    };
    for url in ["http://API.example.com:80/", "https://api.example.com:8443"] {
        let message = format!("the test has no response for GET {url}");
        assert_eq!(error(url), HttpError::Failed(message));
    }
    for (url, host) in [
        ("https://example.com", "example.com"),
        ("https://api.example.com:1/", "api.example.com:1"),
        ("https://api.example.com@evil.example/", "evil.example"),
    ] {
        assert_eq!(error(url), HttpError::NotGranted(host.to_owned()));
    }
    assert!(matches!(error("ftp://a"), HttpError::InvalidRequest(_)));
}

#[test]
fn headers_are_found_in_whatever_case() {
    let mut response = Response::new(200, "");
    response.headers = Request::new("GET", "").header("Retry-After", "1").headers;
    assert_eq!(response.header("retry-after"), Some(&b"1"[..]));
    assert_eq!(response.header("retry"), None);
}

#[test]
fn the_tree_needs_its_grant_and_the_own_session_none() {
    let root = Session::new().bound_to("plan");
    let worker = root.clone().worker("subagent");
    let mut around = Surroundings::new().in_session(worker);
    around.others.push(root);
    let own = around.ask(sessions::current).expect("there is one");
    assert_eq!(own.parent().as_deref(), Some("session-1"));
    let denied = around.ask(|| sessions::get("session-1").map(|session| session.id()));
    assert_eq!(denied, Err(SessionsError::NotGranted));
    around.grants.sessions = true;
    let ids = around.ask(sessions::tree);
    assert_eq!(ids, Ok(vec!["session-1".to_owned(), own.id()]));
    let role = |id: &str| sessions::get(id).map(|session| session.role());
    assert_eq!(around.ask(|| role("session-1")), Ok("solo".to_owned()));
    assert_eq!(
        around.ask(|| role("session-2")),
        Err(SessionsError::NotFound)
    );
}

#[test]
fn modes_need_their_grant() {
    let mut around = Surroundings::new().with_mode("plan").with_mode("solo");
    assert_eq!(around.ask(roster::modes), Err(RosterError::NotGranted));
    around.grants.roster = true;
    let modes = around.ask(roster::modes).expect("it is granted");
    assert_eq!(
        modes.iter().map(|mode| &*mode.id).collect::<Vec<_>>(),
        ["plan", "solo"]
    );
}

#[test]
fn lines_are_captured_in_their_order() {
    let mut around = Surroundings::new();
    around.ask(|| {
        log::debug("a");
        log::info(format!("b{}", 1));
    });
    around.ask(|| log::warn("c"));
    around.ask(|| log::error("d"));
    let line = |level, message: &str| Line {
        level,
        message: message.to_owned(),
    };
    assert_eq!(
        around.log,
        [
            line(Level::Debug, "a"),
            line(Level::Info, "b1"),
            line(Level::Warn, "c"),
            line(Level::Error, "d"),
        ]
    );
}
