//! The JSON Schema that gives editors completion and checks while typing.
//!
//! It describes what [`crate::compose`] accepts; positions and better words come from there.

use serde_json::Value;

/// Returns the JSON Schema (draft 2020-12) of profile and patch files.
pub fn schema() -> Value {
    serde_json::from_str(include_str!("schema.json")).expect("a test reads this very file")
}
