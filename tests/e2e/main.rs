//! The end-to-end tests: one binary, one module an idea.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, where it can be read"
)]

/// A plugin from an empty folder to a host that runs it.
mod author;
/// The bench, on few samples.
mod bench;
/// Calls, guards and the person who is asked.
mod calls;
/// Real MCP clients and the conformance suite.
mod clients;
/// Guests of other versions of the contract.
mod gallery;
/// Every hook but guard and tool, answering well and badly.
mod hooks;
/// Guests that loop, trap, eat memory, flood and lie.
mod hostile;
/// The rules of the repository itself: arrows between crates, the table of hooks.
mod house_rules;
/// What plugins can use: allowed, refused, hostile.
mod imports;
/// A host that is killed between any two records.
mod kill;
/// Plugins in other languages than Rust.
mod languages;
/// Sessions in a mode, and coordinators that are narrowed.
mod modes;
/// The profile that is edited while calls are made.
mod profile;
/// The commands of the README, run as they stand there.
mod readme;
/// Components that are swapped while calls are made.
mod swap;
