//! The native tools as a caller sees them: one table a tool, ordinary, edge and hostile.

// Marked as tests for clippy, which takes helpers outside of test functions for host code.
#[cfg(test)]
mod stage;

#[cfg(test)]
mod bash;
#[cfg(test)]
mod definitions;
#[cfg(test)]
mod grep;
#[cfg(test)]
mod processes;
#[cfg(test)]
mod read;
