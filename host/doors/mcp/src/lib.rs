//! The MCP door: lets agents list and call tools over the Model Context Protocol.
//!
//! Owns the wire format, in both of its eras on the same endpoint: the handshake of
//! 2024-11-05 to 2025-11-25 and the stateless requests of 2026-07-28, over a byte
//! stream and over streamable HTTP. It decodes, asks `damper-dispatch`, encodes.
//! It must not know rows, guards, approvals or the journal.

mod http;
mod server;
mod stream;

mod conversation;
mod presence;
mod progress;
mod tools;

pub use http::{HttpSettings, router};
pub use stream::{Caller, Client, DoorError, serve_stream};
