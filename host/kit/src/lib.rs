//! The plugin author's commands, and the toolchain that makes components.
//!
//! Owns how a project begins, how source becomes a component with its manifest inside, and
//! what can be told of a component without running it. Knows nothing of profiles or calls; it
//! runs a guest only to ask it for its manifest.

mod bindings;
mod build_guests;
mod cases;
mod check;
mod scaffold;
mod told;

mod bounded;
mod componentize;
mod contract;
mod foreign;
mod target;
mod vendor;

pub use bindings::{BindingsError, write_c, write_wit};
pub use build_guests::{BuildError, Built, Step, build, target_folder};
pub use cases::{CaseError, CaseResult, Difference, Line, Place, read_cases, run_case};
pub use check::{Finding, Report, Surface, Weight, check};
pub use foreign::ForeignError;
pub use scaffold::{DEFAULT_OWNER, Kind, NewError, PluginName, new_plugin};
pub use target::{TargetError, Toolchain};
pub use told::{Setting, asked_grants, asked_limits, hooks, settings};
pub use vendor::VendorError;
