//! A tool that uses what the host offers, as its arguments say, and answers what came of it.

use std::{
    collections::hash_map::RandomState,
    hash::BuildHasher as _,
    time::{SystemTime, UNIX_EPOCH},
};

use damper_guest::{
    Call, Definition, Deserialize, EffectClass, FileGrants, Grants, JsonSchema, Output, Tool,
    ToolError, clock, export_tool, files, http, log, roster, sessions, state,
};
use serde_json::{Value, json};

struct Probe {
    settings: Value,
}

/// The settings of the row: whatever they are, they are told.
#[derive(Deserialize, JsonSchema)]
struct Settings {
    #[serde(flatten)]
    all: serde_json::Map<String, Value>,
}

/// One use of what the host offers.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", tag = "use")]
enum Use {
    Log {
        text: String,
        times: u32,
    },
    Settings,
    StateGet {
        key: String,
    },
    StatePut {
        key: String,
        size: usize,
    },
    StatePutIf {
        key: String,
        version: Option<u64>,
    },
    StateDelete {
        key: String,
    },
    StateKeys,
    /// Adds one to a number.
    Count,
    /// Writes and then fails.
    PutAndTrap {
        key: String,
    },
    Stat {
        path: String,
    },
    Read {
        path: String,
    },
    Clock,
    Random,
    Http {
        url: String,
    },
    Roster,
    CurrentSession,
    SessionTree,
    Session {
        id: String,
    },
    /// Holds on to handles of the host.
    LeakHandles {
        times: u32,
    },
    /// Calls itself until the stack is used up.
    Recurse,
    /// Looks for files, an environment, arguments and input.
    World,
    /// Leaves a secret in memory.
    Leave {
        secret: String,
    },
    /// Looks for one all over memory.
    Scan {
        secret: String,
    },
}

impl Tool for Probe {
    const ID: &'static str = "test/import-probe";
    const GRANTS: Grants = Grants {
        files: FileGrants {
            metadata: &["workspace", "/"],
            read: &["workspace", "/"],
        },
        // A test writes its own port over this one.
        http: &["127.0.0.1:47163"],
        clock: true,
        random: true,
        sessions: true,
        roster: true,
    };

    type Config = Settings;

    fn new(settings: Settings) -> Self {
        Self {
            settings: Value::Object(settings.all),
        }
    }

    fn definitions(&self) -> Vec<Definition> {
        vec![Definition {
            name: "probe".to_owned(),
            description: "Uses what the host offers.".to_owned(),
            input_schema: json!({"type": "object", "additionalProperties": true}),
            effect: EffectClass::Idempotent,
            command: None,
            paths: Vec::new(),
        }]
    }

    fn run(&self, call: &Call) -> Result<Output, ToolError> {
        Ok(Output::text(self.use_it(call.read_arguments()?)))
    }
}

impl Probe {
    #[expect(
        clippy::too_many_lines,
        reason = "one arm a use, which reads best as a list"
    )]
    fn use_it(&self, what: Use) -> String {
        match what {
            Use::Log { text, times } => {
                for _ in 0..times {
                    log::warn(&text);
                }
                "logged".to_owned()
            }
            Use::Settings => self.settings.to_string(),
            Use::StateGet { key } => match state::get(&key) {
                Ok(Some(entry)) => format!("{} bytes", entry.value.len()),
                other => format!("{other:?}"),
            },
            Use::StatePut { key, size } => format!("{:?}", state::put(&key, &vec![7; size])),
            Use::StatePutIf { key, version } => format!("{:?}", state::put_if(&key, b"1", version)),
            Use::StateDelete { key } => format!("{:?}", state::delete(&key)),
            Use::StateKeys => format!("{:?}", state::keys()),
            Use::Count => format!(
                "{:?}",
                state::update("count", |count: &mut u64| *count += 1)
            ),
            Use::PutAndTrap { key } => {
                let put = state::put(&key, b"1");
                assert!(put.is_err(), "import-probe fails after it has written");
                format!("{put:?}")
            }
            Use::Stat { path } => match files::stat(&path) {
                Ok(found) => format!("{:?} of {:?} bytes", found.kind, found.size),
                Err(error) => format!("{error:?}"),
            },
            Use::Read { path } => match files::read(&path, 0, 1_000) {
                Ok(piece) => String::from_utf8_lossy(&piece.bytes).into_owned(),
                Err(error) => format!("{error:?}"),
            },
            Use::Clock => {
                let wall = SystemTime::now().duration_since(UNIX_EPOCH);
                let wall = wall.map_or(0, |wall| wall.as_millis());
                let started = clock::started().as_millis();
                match clock::now() {
                    Ok(now) => format!("runs: {}", now.as_millis() >= started && wall >= started),
                    Err(error) => format!("{error:?}, WASI stands still: {}", wall == started),
                }
            }
            Use::Random => format!("{:x}", RandomState::new().hash_one(0)),
            Use::Http { url } => match http::send(http::Request::new("GET", url)) {
                Ok(response) => format!(
                    "{}: {}",
                    response.status,
                    String::from_utf8_lossy(&response.body)
                ),
                Err(error) => format!("{error:?}"),
            },
            Use::Roster => match roster::modes() {
                Ok(modes) => modes.iter().map(|mode| format!("{}\n", mode.id)).collect(),
                Err(error) => format!("{error:?}"),
            },
            Use::CurrentSession => {
                sessions::current().map_or_else(|| "none".to_owned(), |session| session.id())
            }
            Use::SessionTree => format!("{:?}", sessions::tree()),
            Use::Session { id } => match sessions::get(&id) {
                Ok(session) => format!("is {}", session.role()),
                Err(error) => format!("{error:?}"),
            },
            Use::LeakHandles { times } => {
                for _ in 0..times {
                    std::mem::forget(sessions::current());
                }
                "leaked".to_owned()
            }
            Use::Recurse => recurse(1).to_string(),
            Use::World => world(),
            Use::Leave { secret } => format!("left {} bytes", secret.repeat(10_000).len()),
            Use::Scan { secret } => scan(&secret),
        }
    }
}

fn recurse(depth: u64) -> u64 {
    std::hint::black_box(if depth == 0 {
        0
    } else {
        recurse(depth + 1) + 1
    })
}

fn world() -> String {
    format!(
        "file: {}, variables: {}, arguments: {}, input: {:?} bytes",
        std::fs::read("/etc/hostname").is_ok(),
        std::env::vars().count(),
        std::env::args().count(),
        std::io::read_to_string(std::io::stdin()).map(|input| input.len()),
    )
}

/// Looks for a text in all memory that there is, and in 8 MiB more.
#[expect(
    unsafe_code,
    reason = "looking where one should not is what this guest is for"
)]
fn scan(text: &str) -> String {
    let fresh = std::hint::black_box(vec![0_u8; 8 << 20]);
    let length = fresh.as_ptr().addr() + fresh.len();
    // SAFETY: the memory of an instance begins at 0 and never shrinks; 1 is the first address
    // that is not null.
    let memory: &[u8] =
        unsafe { std::slice::from_raw_parts(std::ptr::without_provenance(1), length - 1) };
    let found = memory
        .windows(text.len())
        .filter(|window| *window == text.as_bytes())
        .count();
    // The arguments of this very call have it, and so have their copies.
    match found {
        1..100 => "found it nowhere else".to_owned(),
        _ => format!("found it {found} times"),
    }
}

export_tool!(Probe);
