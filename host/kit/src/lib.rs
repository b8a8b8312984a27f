//! The plugin author's commands, and the toolchain that makes components.
//!
//! Owns how source becomes a component with its manifest inside. Knows nothing of
//! profiles or calls; it runs a guest only to ask it for its manifest.

mod bindings;
mod bounded;
mod build_guests;
mod componentize;
mod foreign;
mod target;

pub use bindings::{BindingsError, write_c, write_wit};
pub use build_guests::{BuildError, Built, Step, build};
pub use foreign::ForeignError;
pub use target::{TargetError, Toolchain};
