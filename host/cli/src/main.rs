//! The `damper` binary.
fn main() {}
