//! What guests can ask the host: one file an interface, and one a resource of `types`.

pub(crate) mod call;
pub(crate) mod mail;
pub(crate) mod outcome;
pub(crate) mod question;
pub(crate) mod session;

pub(crate) mod clock;
mod config;
mod files;
mod http;
mod log;
mod roster;
mod sessions;
pub(crate) mod state;
