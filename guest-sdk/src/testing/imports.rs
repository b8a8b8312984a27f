//! The host's functions, as a test's surroundings answer them.

use std::time::Duration;

use super::{AROUND, File, Line, Surroundings};
use crate::{
    Session,
    clock::ClockError,
    files::{FileError, FileKind, MAX_PIECE_BYTES, Metadata, Piece},
    http::{HttpError, Request, Response},
    log::Level,
    roster::{Mode, RosterError},
    sessions::SessionsError,
    state::{Entry, StateError},
};

/// The longest key, as the contract says.
const MAX_KEY_BYTES: usize = 128;

pub(crate) fn write_log(level: Level, message: &str) {
    let message = message.to_owned();
    AROUND.with_borrow_mut(|around| around.log.push(Line { level, message }));
}

pub(crate) fn started() -> Duration {
    AROUND.with_borrow(|around| around.started)
}

pub(crate) fn now() -> Result<Duration, ClockError> {
    AROUND.with_borrow(|around| {
        let granted = around.grants.clock.then_some(around.now);
        granted.ok_or(ClockError::NotGranted)
    })
}

pub(crate) fn modes() -> Result<Vec<Mode>, RosterError> {
    AROUND.with_borrow(|around| {
        let granted = around.grants.roster.then(|| around.modes.clone());
        granted.ok_or(RosterError::NotGranted)
    })
}

pub(crate) fn current_session() -> Option<Session<'static>> {
    AROUND.with_borrow(|around| around.session.clone())
}

pub(crate) fn session(id: &str) -> Result<Session<'static>, SessionsError> {
    let tree = AROUND.with_borrow(tree)?;
    let found = tree.into_iter().find(|session| session.id() == id);
    found.ok_or(SessionsError::NotFound)
}

pub(crate) fn session_tree() -> Result<Vec<String>, SessionsError> {
    let tree = AROUND.with_borrow(tree)?;
    let mut ids: Vec<String> = tree.iter().map(Session::id).collect();
    ids.sort();
    Ok(ids)
}

fn tree(around: &Surroundings) -> Result<Vec<Session<'static>>, SessionsError> {
    if !around.grants.sessions {
        return Err(SessionsError::NotGranted);
    }
    Ok(around
        .session
        .iter()
        .chain(&around.others)
        .cloned()
        .collect())
}

pub(crate) fn get_state(key: &str) -> Result<Option<Entry>, StateError> {
    with_state(key, |around| Ok(around.state.get(key).cloned()))
}

pub(crate) fn put_state(key: &str, value: &[u8]) -> Result<(), StateError> {
    with_state(key, |around| put(around, key, value))
}

pub(crate) fn put_state_if(
    key: &str,
    value: &[u8],
    version: Option<u64>,
) -> Result<(), StateError> {
    with_state(key, |around| {
        if around.state.get(key).map(|entry| entry.version) != version {
            return Err(StateError::Conflict);
        }
        put(around, key, value)
    })
}

pub(crate) fn delete_state(key: &str) -> Result<(), StateError> {
    with_state(key, |around| {
        around.state.remove(key);
        Ok(())
    })
}

pub(crate) fn state_keys() -> Result<Vec<String>, StateError> {
    AROUND.with_borrow(|around| {
        let kept = around.session.is_some();
        let keys = kept.then(|| around.state.keys().cloned().collect());
        keys.ok_or(StateError::NoSession)
    })
}

fn with_state<R>(
    key: &str,
    use_it: impl FnOnce(&mut Surroundings) -> Result<R, StateError>,
) -> Result<R, StateError> {
    AROUND.with_borrow_mut(|around| {
        if around.session.is_none() {
            return Err(StateError::NoSession);
        }
        if key.is_empty() || key.len() > MAX_KEY_BYTES {
            return Err(StateError::InvalidKey);
        }
        use_it(around)
    })
}

fn put(around: &mut Surroundings, key: &str, value: &[u8]) -> Result<(), StateError> {
    let others = around.state.iter().filter(|(other, _)| *other != key);
    let used: usize = others
        .map(|(key, entry)| key.len() + entry.value.len())
        .sum();
    let needed = u64::try_from(used + key.len() + value.len()).unwrap_or(u64::MAX);
    if needed > around.max_state_bytes {
        return Err(StateError::Full(around.max_state_bytes));
    }
    let entry = Entry {
        value: value.to_vec(),
        version: 0,
    };
    around.state.insert(key.to_owned(), entry);
    Ok(())
}

pub(crate) fn stat(path: &str) -> Result<Metadata, FileError> {
    AROUND.with_borrow(|around| {
        find(around, around.grants.files.metadata, path)?
            .metadata
            .clone()
    })
}

pub(crate) fn read_file(path: &str, offset: u64, length: u32) -> Result<Piece, FileError> {
    AROUND.with_borrow(|around| {
        let file = find(around, around.grants.files.read, path)?;
        if file.metadata.clone()?.kind != FileKind::File {
            return Err(FileError::Failed("it is not a regular file".to_owned()));
        }
        let index = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
        let start = index(offset).min(file.content.len());
        let end = index(offset.saturating_add(length.min(MAX_PIECE_BYTES).into()));
        Ok(Piece {
            bytes: file.content[start..end.min(file.content.len())].to_vec(),
            size: file.content.len().try_into().unwrap_or(u64::MAX),
        })
    })
}

/// Returns what is at a path, if it and what it leads to are covered by these folders.
fn find<'around>(
    around: &'around Surroundings,
    granted: &[&str],
    path: &str,
) -> Result<&'around File, FileError> {
    let (roots, cwd) = around
        .session
        .as_ref()
        .map(|session| (session.roots(), session.cwd()))
        .unwrap_or_default();
    let covered = |path: &str| {
        let below = |folder: &str| {
            let rest = path.strip_prefix(folder.trim_end_matches('/'));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        granted.iter().any(|folder| match *folder {
            "workspace" => roots.iter().any(|root| below(root)),
            folder => below(folder),
        })
    };
    let path = absolute(path, &cwd);
    if !covered(&path) {
        return Err(FileError::NotGranted);
    }
    let file = around.files.get(&path).ok_or(FileError::NotFound)?;
    match &file.metadata {
        Ok(metadata) if !covered(&metadata.resolved) => Err(FileError::NotGranted),
        Ok(_) | Err(_) => Ok(file),
    }
}

fn absolute(path: &str, cwd: &str) -> String {
    let whole = if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("{cwd}/{path}")
    };
    let mut names = Vec::new();
    for name in whole.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    format!("/{}", names.join("/"))
}

pub(crate) fn send(request: Request) -> Result<Response, HttpError> {
    AROUND.with_borrow_mut(|around| {
        let host = host(&request.url)?;
        if !around.grants.http.contains(&&*host) {
            return Err(HttpError::NotGranted(host));
        }
        let asked = (request.method.clone(), request.url.clone());
        around.requests.push(request);
        around.responses.get(&asked).cloned().ok_or_else(|| {
            let (method, url) = asked;
            HttpError::Failed(format!("the test has no response for {method} {url}"))
        })
    })
}

/// Returns the host of a URL as a grant names it: with its port, unless it is that of the
/// scheme.
fn host(url: &str) -> Result<String, HttpError> {
    let rest = |scheme| url.strip_prefix(scheme);
    let (rest, port) = match (rest("http://"), rest("https://")) {
        (Some(rest), _) => (rest, ":80"),
        (_, Some(rest)) => (rest, ":443"),
        (None, None) => {
            let message = format!("{url} is no URL of the scheme http or https");
            return Err(HttpError::InvalidRequest(message));
        }
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let authority = authority.rsplit('@').next().unwrap_or(authority);
    let host = authority.strip_suffix(port).unwrap_or(authority);
    Ok(host.to_ascii_lowercase())
}
