//! The bench, on few samples: it measures every row, and no call is lost or mixed.

use std::process::Command;

use damper_tests::damper;
use serde_json::Value;

#[test]
fn the_bench_measures_every_row_and_loses_no_call() {
    let ran = Command::new(damper().with_file_name("bench"))
        .args(["--quick", "--json", "-"])
        .output()
        .unwrap();
    assert!(ran.status.success(), "{ran:?}");
    let lines: Vec<Value> = serde_json::from_slice(&ran.stdout).unwrap();
    for row in [
        "guards",
        "each-hook",
        "hooks",
        "gate",
        "edits",
        "swaps",
        "start",
        "memory",
        "durable",
        "mcp",
    ] {
        assert!(lines.iter().any(|line| line["row"] == row), "no `{row}`");
    }
    let counts: Vec<&Value> = lines
        .iter()
        .filter(|line| line["unit"] == "count" && line["skipped"].is_null())
        .collect();
    assert_eq!(counts.len(), 2, "{counts:?}");
    assert!(counts.iter().all(|line| line["p50"] == 0.0), "{counts:?}");
}
