//! What guests can ask the host: one file an interface.

pub(crate) mod call;
pub(crate) mod files;
