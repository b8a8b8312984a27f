//! Profiles: the text of a profile and its patches becomes a checked composition of
//! rows in which every key knows the line that set it.
//!
//! Pure: reads no file, starts nothing and knows no plugin. Whoever calls hands in bytes
//! and asks the plugins what they think of their configuration; what they complain about
//! is found in the text by [`Row::config_position`].

mod compose;
mod edit;
mod nearest;
mod position;
mod read;
mod row;
mod scalar;
mod schema;
mod show;
mod tree;
mod units;

pub use compose::{Composition, Layer, ProfileError, Rejection, Setting, compose};
pub use edit::{EditError, overridden_by, remove, revert, set, set_disabled};
pub use nearest::nearest;
pub use position::{Mistake, Position, Source};
pub use row::{
    Coverage, Folder, Grants, Limits, OnFailure, Origins, PluginRef, Row, RowKind, Tools,
};
pub use scalar::{Scalar, Style, Typed};
pub use schema::schema;
pub use tree::{Entry, Key, MAX_BYTES, MAX_DEPTH, MAX_VALUES, Node, Value, read_tree};
pub use units::{format_size, format_time, parse_size, parse_time};
