//! Takes from a coordinator every tool that its mode does not keep, so that the work is left
//! to workers. What is withheld is gone from the list, and a call of it is unknown.
//!
//! The host asks at each list and each call, with the tools as they are before anything is
//! withheld. The guard keeps nothing between two asks, so much that a guard with memory must
//! take care of cannot arise:
//!
//! - *What stays.* The keep list that the session's mode declares, else a built-in one; `keep`
//!   adds to it, `extra_deny` beats both. Kept names that do not exist do nothing. A tool that
//!   comes later is withheld, as it is in the set of the next ask.
//! - *The set to judge.* It never holds the guard's own effect, so nothing must be lifted to
//!   read it. `run_code`, the transport of programs, is never withheld. Where no tools are
//!   known, none are withheld.
//! - *When to narrow and when to lift.* There is no restriction that lasts: the next ask heals
//!   what went wrong, follows a change of the tools or of the mode, and for a session that is
//!   gone there is none. No part of the prompt is ever assembled before an ask.
//! - *What is said.* The host logs and records the sorted names whenever they change, and so
//!   too when nothing is withheld any more.
//! - *Whom it concerns.* Sessions that are bound to one of `modes`, as [`is_ours`] tells, which
//!   comes before all else. The host offers no switch of mode for a session that has begun; if
//!   it ever does, the next ask sees it.
//! - *One id.* A mode's id is that of its preset's row. Who names that row otherwise says so in
//!   `modes` too, and in `for` where the guard's row has it. Several ids are several variants,
//!   each of which the session's own keep list belongs to.
//!
//! `cases/regression.jsonl` holds what must not go wrong again.

mod guard;
mod ownership;

pub use guard::{BUILT_IN_KEEP, Config, CoordinatorGuard};
pub use ownership::{Ownership, is_ours};

damper_guest::export_catalogue!(CoordinatorGuard);
