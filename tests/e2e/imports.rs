//! What plugins can use, one table an import: allowed, refused, hostile.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpListener,
    os::unix::fs::symlink,
    thread,
};

use damper_tests::{Host, guest};
use serde_json::{Value, json};

use crate::modes::Agent;

/// The port that the guest's manifest asks for.
const ASKED_PORT: &str = "47163";

/// Returns a patch with the probe, with more keys of its row.
fn probe(more: &str) -> String {
    row(&guest("import-probe").display().to_string(), more)
}

fn row(plugin: &str, more: &str) -> String {
    // A tool may be slow on a busy machine; what it is to run into is said by the test.
    format!("- insert:\n    - id: probe\n      plugin: {plugin}\n{more}",)
}

/// Returns an agent whose calls all belong to one session.
fn agent(host: &Host) -> Agent {
    Agent::start(host, &["mcp"])
}

/// Checks what each use answers: a part of the text.
#[track_caller]
fn check(agent: &mut Agent, table: &[(Value, &str)]) {
    for (arguments, expected) in table {
        let answer = agent.call("probe", arguments);
        assert!(answer.contains(expected), "{arguments}: {answer}");
    }
}

#[test]
fn log_lines_stay_lines_and_their_limit_is_named() {
    let host = Host::with_patch(&probe("      limits: {log: 1KiB}\n"));
    let mut agent = agent(&host);
    let text = "one\nerror: forged\u{1b}[2J";
    check(
        &mut agent,
        &[
            (json!({"use": "log", "text": text, "times": 1}), "logged"),
            (
                json!({"use": "log", "text": text, "times": 100}),
                "hit the log size limit of 1 KiB (raise `limits.log` in its row)",
            ),
        ],
    );
    let log = host.log();
    assert!(log.contains("warn: one error: forged"), "{log}");
    assert!(!log.contains('\u{1b}'), "{log}");
}

#[test]
fn settings_are_those_of_the_row() {
    let host = Host::with_patch(&probe("      config: {words: [a, b], deep: {er: 1}}\n"));
    let mut agent = agent(&host);
    let expected = r#"{"deep":{"er":1},"words":["a","b"]}"#;
    let answer: Value =
        serde_json::from_str(&agent.call("probe", &json!({"use": "settings"}))).unwrap();
    assert_eq!(answer, serde_json::from_str::<Value>(expected).unwrap());
}

#[test]
fn state_is_kept_by_session_and_within_its_limit() {
    let host = Host::with_patch(&probe("      limits: {state: 1KiB}\n"));
    let mut one = agent(&host);
    let get = |key: &str| json!({"use": "state-get", "key": key});
    let put = |key: &str, size: usize| json!({"use": "state-put", "key": key, "size": size});
    check(
        &mut one,
        &[
            (get("a"), "Ok(None)"),
            (put("a", 10), "Ok(())"),
            (get("a"), "10 bytes"),
            (put("", 1), "InvalidKey"),
            (put(&"k".repeat(129), 1), "InvalidKey"),
            (put("b", 2_000), "Full(1024)"),
            (put("b", 1_012), "Ok(())"),
            (put("c", 1), "Full(1024)"),
            (json!({"use": "state-keys"}), r#"Ok(["a", "b"])"#),
            (
                json!({"use": "state-put-if", "key": "a", "version": null}),
                "Conflict",
            ),
            (json!({"use": "state-delete", "key": "b"}), "Ok(())"),
            (
                json!({"use": "state-put-if", "key": "b", "version": null}),
                "Ok(())",
            ),
            (
                json!({"use": "put-and-trap", "key": "t"}),
                "import-probe fails after it has written",
            ),
            (get("t"), "Ok(None)"),
            (put("large", 300_000), "hit the answer size limit"),
        ],
    );
    check(&mut agent(&host), &[(get("a"), "Ok(None)")]);
}

#[test]
fn no_count_is_lost_where_calls_are_made_at_once() {
    const CALLERS: usize = 4;
    let mut host = Host::stopped();
    host.arguments(&["--http", "127.0.0.1:0"]);
    host.write_patch(&probe("      limits: {wall_time: 1m}\n"));
    host.serve();
    let count = |host: &Host| named_call(host, &json!({"use": "count"}));
    let answers: Vec<String> = thread::scope(|scope| {
        let callers: Vec<_> = (0..CALLERS).map(|_| scope.spawn(|| count(&host))).collect();
        callers
            .into_iter()
            .map(|caller| caller.join().unwrap())
            .collect()
    });
    // Each counted, or was told that it lost twice; none counted over another.
    let counted = answers
        .iter()
        .filter(|answer| answer.contains("Ok("))
        .count();
    let lost = answers
        .iter()
        .filter(|answer| answer.contains("other calls changed its state"));
    assert_eq!(counted + lost.count(), CALLERS, "{answers:?}");
    assert!(counted > 0, "{answers:?}");
    let next = count(&host);
    assert!(
        next.contains(&format!("Ok({})", counted + 1)),
        "{next}: {answers:?}"
    );

    // The same session after a crash, and with another version of the plugin.
    host.kill();
    host.serve();
    assert!(count(&host).contains(&format!("Ok({})", counted + 2)));
    let mut bytes = fs::read(guest("import-probe")).unwrap();
    overwrite(&mut bytes, ASKED_PORT, "47199");
    let newer = host.work().join("newer.wasm");
    fs::write(&newer, bytes).unwrap();
    host.edit(&row(
        &newer.display().to_string(),
        "      limits: {wall_time: 1m}\n",
    ));
    assert!(count(&host).contains(&format!("Ok({})", counted + 3)));
}

/// Calls the probe in the session that `/mcp/counting` names.
fn named_call(host: &Host, arguments: &Value) -> String {
    let http = host.status()["http"].clone();
    let token = fs::read_to_string(http["token_file"].as_str().unwrap()).unwrap();
    let url = http["url"].as_str().unwrap();
    let authority = url
        .strip_prefix("http://")
        .unwrap()
        .split('/')
        .next()
        .unwrap();
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "probe", "arguments": arguments,
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    }})
    .to_string();
    let mut stream = std::net::TcpStream::connect(authority).unwrap();
    write!(
        stream,
        "POST /mcp/counting HTTP/1.1\r\nHost: {authority}\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: probe\r\n\
         Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
        token.trim(),
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn files_are_reached_where_both_sides_say_so() {
    let both = "      grants: {files: {metadata: [workspace], read: [workspace]}}\n";
    let host = Host::with_patch(&probe(both));
    fs::write(host.work().join("file"), "content").unwrap();
    fs::create_dir(host.work().join("folder")).unwrap();
    symlink("/etc/hostname", host.work().join("link")).unwrap();
    let pipe = std::process::Command::new("mkfifo")
        .arg(host.work().join("pipe"))
        .status();
    assert!(pipe.unwrap().success());
    let stat = |path: &str| json!({"use": "stat", "path": path});
    let read = |path: &str| json!({"use": "read", "path": path});
    check(
        &mut agent(&host),
        &[
            (stat("file"), "File of Some(7) bytes"),
            (stat("folder"), "Directory"),
            (stat("pipe"), "Other"),
            (read("file"), "content"),
            (read("folder"), "not a regular file"),
            (read("pipe"), "not a regular file"),
            (read("none"), "NotFound"),
            (stat("link"), "NotGranted"),
            (read("link"), "NotGranted"),
            (read("/etc/hostname"), "NotGranted"),
            (read("../../../etc/hostname"), "NotGranted"),
            (read(""), "InvalidPath"),
            (read("a\u{0}b"), "InvalidPath"),
        ],
    );
    host.edit(&probe(""));
    let nothing = [(stat("file"), "NotGranted"), (read("file"), "NotGranted")];
    check(&mut agent(&host), &nothing);
    // Looking is not reading, and no grant covers the host's own folder.
    host.edit(&probe("      grants: {files: {metadata: [/]}}\n"));
    let key = host.home().join("host.key").display().to_string();
    check(
        &mut agent(&host),
        &[
            (stat("/etc/hostname"), "File of"),
            (read("/etc/hostname"), "NotGranted"),
            (stat(&key), "NotGranted"),
        ],
    );
}

#[test]
fn clocks_stand_still_and_randomness_repeats_unless_granted() {
    let host = Host::with_patch(&probe(""));
    let clock = json!({"use": "clock"});
    let random = json!({"use": "random"});
    let stands = "NotGranted, WASI stands still: true";
    check(&mut agent(&host), &[(clock.clone(), stands)]);
    let once = |host: &Host, id: &str| {
        let told = host.damper(&["call", "probe", &random.to_string(), "--id", id, "--json"]);
        told.json()["text"].clone()
    };
    let one = once(&host, "one");
    assert_ne!(once(&host, "two"), one, "another call has other randomness");
    host.edit(&probe("      grants: {clock: true, random: true}\n"));
    check(&mut agent(&host), &[(clock, "runs: true")]);
    assert_ne!(once(&host, "three"), once(&host, "four"));
}

#[test]
fn only_granted_hosts_are_spoken_to() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port().to_string();
    let large = "x".repeat(2_000);
    thread::spawn(move || {
        for stream in server.incoming() {
            let mut stream = stream.unwrap();
            let mut request = [0; 4096];
            let read = stream.read(&mut request).unwrap();
            let request = String::from_utf8_lossy(&request[..read]).into_owned();
            let (head, body) = match request.split(' ').nth(1) {
                Some("/redirect") => ("302 Found\r\nLocation: http://127.0.0.1:1/", ""),
                Some("/large") => ("200 OK", large.as_str()),
                // Never answered; the connection is kept open.
                Some("/slow") => {
                    std::mem::forget(stream);
                    continue;
                }
                _ => ("200 OK", "hello"),
            };
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 {head}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
            );
            // A client that has seen enough hangs up.
            if stream.write_all(answer.as_bytes()).is_err() {
                continue;
            }
        }
    });
    let mut host = Host::stopped();
    let mut bytes = fs::read(guest("import-probe")).unwrap();
    let port = format!("{port:0>5}");
    overwrite(&mut bytes, ASKED_PORT, &port);
    let plugin = host.work().join("probe.wasm");
    fs::write(&plugin, bytes).unwrap();
    let with = |grants: &str| {
        let more = format!(
            "      grants: {{{grants}}}\n      limits: {{arguments: 1KiB, wall_time: 3s}}\n"
        );
        row(&plugin.display().to_string(), &more)
    };
    host.write_patch(&with(&format!("http: ['127.0.0.1:{port}']")));
    host.serve();
    let get = |path: &str| json!({"use": "http", "url": format!("http://127.0.0.1:{port}{path}")});
    check(
        &mut agent(&host),
        &[
            (get("/"), "200: hello"),
            (get("/redirect"), "302: "),
            (get("/large"), "TooLarge(1024)"),
            (get("/slow"), "wall time limit of 3 s"),
            (
                json!({"use": "http", "url": "http://127.0.0.1:1/"}),
                "NotGranted",
            ),
            (
                json!({"use": "http", "url": "http://example.com/"}),
                "NotGranted",
            ),
            (
                json!({"use": "http", "url": "file:///etc/hostname"}),
                "InvalidRequest",
            ),
        ],
    );
    host.edit(&with("http: ['127.0.0.1:1']"));
    check(&mut agent(&host), &[(get("/"), "NotGranted")]);
}

#[test]
fn modes_and_sessions_are_shown_with_a_grant() {
    let host = Host::with_patch(&probe(""));
    let roster = json!({"use": "roster"});
    let current = json!({"use": "current-session"});
    let tree = json!({"use": "session-tree"});
    let session = |id: &str| json!({"use": "session", "id": id});
    let mut one = agent(&host);
    let own = one.call("probe", &current);
    check(
        &mut one,
        &[
            (roster.clone(), "NotGranted"),
            (tree.clone(), "NotGranted"),
            (session(&own), "NotGranted"),
        ],
    );
    host.edit(&probe("      grants: {roster: true, sessions: true}\n"));
    let mut other = agent(&host);
    let stranger = other.call("probe", &current);
    check(
        &mut one,
        &[
            (roster, "solo\nplan\nmultitask\n"),
            (tree, &own),
            (session(&own), "is external"),
            (session(&stranger), "NotFound"),
            (session("no such session"), "NotFound"),
        ],
    );
}

#[test]
fn handles_and_the_stack_are_limited() {
    let host = Host::with_patch(&probe(
        "      limits: {host_calls: 100000, guest_time: 30s}\n",
    ));
    let mut agent = agent(&host);
    let leak = |times: u32| json!({"use": "leak-handles", "times": times});
    check(
        &mut agent,
        &[
            (leak(500), "leaked"),
            (leak(5_000), "trapped"),
            (leak(500), "leaked"),
            (json!({"use": "recurse"}), "call stack exhausted"),
            (leak(500), "leaked"),
        ],
    );
}

#[test]
fn the_world_is_empty() {
    let host = Host::with_patch(&probe(""));
    let empty = "file: false, variables: 0, arguments: 0, input: Ok(0) bytes";
    check(&mut agent(&host), &[(json!({"use": "world"}), empty)]);
}

#[test]
fn nothing_of_one_instance_is_left_for_the_next() {
    let host = Host::with_patch(&probe("      limits: {guest_time: 30s, wall_time: 1m}\n"));
    let mut agent = agent(&host);
    let leave = json!({"use": "leave", "secret": "correct horse battery"});
    let scan = json!({"use": "scan", "secret": "correct horse battery"});
    // Again and again, so that slots of the pool are used again.
    for _ in 0..20 {
        let turn = [
            (leave.clone(), "left 210000 bytes"),
            (scan.clone(), "nowhere else"),
        ];
        check(&mut agent, &turn);
    }
}

/// Writes over each place where a text stands with another of the same length.
fn overwrite(bytes: &mut [u8], old: &str, new: &str) {
    assert_eq!(old.len(), new.len());
    let places: Vec<usize> = bytes
        .windows(old.len())
        .enumerate()
        .filter(|(_at, window)| *window == old.as_bytes())
        .map(|(at, _window)| at)
        .collect();
    assert!(!places.is_empty(), "there is no `{old}`");
    for at in places {
        bytes[at..at + new.len()].copy_from_slice(new.as_bytes());
    }
}
