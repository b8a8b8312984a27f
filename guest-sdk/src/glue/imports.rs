//! The host's functions, in the types of this crate.

use std::time::Duration;

use super::{
    Ours, Theirs,
    common::damper::plugin::{clock, files, http, log, roster, sessions, state},
};
use crate::{
    Session,
    clock::ClockError,
    files::{FileError, Metadata, Piece},
    http::{HttpError, Request, Response},
    log::Level,
    roster::{Mode, RosterError},
    sessions::SessionsError,
    state::{Entry, StateError},
};

pub(crate) fn write_log(level: Level, message: &str) {
    log::write(level.theirs(), message);
}

pub(crate) fn started() -> Duration {
    Duration::from_millis(clock::started())
}

pub(crate) fn now() -> Result<Duration, ClockError> {
    clock::now().map(Duration::from_millis).map_err(Ours::ours)
}

pub(crate) fn modes() -> Result<Vec<Mode>, RosterError> {
    roster::modes().ours()
}

pub(crate) fn current_session() -> Option<Session<'static>> {
    sessions::current().ours()
}

pub(crate) fn session(id: &str) -> Result<Session<'static>, SessionsError> {
    sessions::get(id).ours()
}

pub(crate) fn session_tree() -> Result<Vec<String>, SessionsError> {
    sessions::tree().ours()
}

pub(crate) fn get_state(key: &str) -> Result<Option<Entry>, StateError> {
    state::get(key).ours()
}

pub(crate) fn put_state(key: &str, value: &[u8]) -> Result<(), StateError> {
    state::put(key, value).ours()
}

pub(crate) fn put_state_if(
    key: &str,
    value: &[u8],
    version: Option<u64>,
) -> Result<(), StateError> {
    state::put_if(key, value, version).ours()
}

pub(crate) fn delete_state(key: &str) -> Result<(), StateError> {
    state::delete(key).ours()
}

pub(crate) fn state_keys() -> Result<Vec<String>, StateError> {
    state::keys().ours()
}

pub(crate) fn stat(path: &str) -> Result<Metadata, FileError> {
    files::stat(path).ours()
}

pub(crate) fn read_file(path: &str, offset: u64, length: u32) -> Result<Piece, FileError> {
    files::read(path, offset, length).ours()
}

pub(crate) fn send(request: Request) -> Result<Response, HttpError> {
    http::send(&request.theirs()).ours()
}
