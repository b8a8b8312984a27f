//! The host process: one per home, held by a lock, reached through a socket.
//!
//! Owns files and time: the home folder, the lock, the control socket, the watcher, starting,
//! draining and stopping. Decides nothing about calls.

mod host;

mod client;
mod control;
mod crash;
mod find;
mod home;
mod http;
mod lock;
mod peer;
mod reload;
mod status;
mod watch;

pub use client::{Client, ClientError, Started, connect, connect_or_start, start_detached};
pub use control::{
    AnswerReport, ApprovalView, CallOrder, CallReport, ControlError, ErrorKind, Frame, ModeReport,
    Reply, Request, Watched,
};
pub use find::{Share, component_path, component_paths};
pub use home::{Home, HomeError};
pub use host::{ServeError, ServeSettings, serve};
pub use lock::{Holder, LockError};
pub use reload::{Layers, ReloadReport, compose_layers};
pub use status::{
    HttpView, LayerView, LimitsView, ProblemView, RecoveredView, RowStateView, RowView, Status,
};
