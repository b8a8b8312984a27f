//! The approval gate on its case files.

use std::time::Duration;

use anyhow::Context as _;
use damper_call::Verdict;
use damper_wasm::measure::BareLoop;
use serde::Deserialize;

use crate::{
    Scale,
    inside::Inside,
    report::{Line, Target, Unit},
    sample::Samples,
};

#[derive(Deserialize)]
struct Case {
    shell: String,
    command: String,
}

/// Checks every bash command of the case files, each beside the bare loop.
pub(crate) async fn on_the_case_files(scale: Scale) -> anyhow::Result<Vec<Line>> {
    let inside = Inside::start().await?;
    let gate = inside.guards().into_iter().next().context("no guard")?;
    let path = damper_tests::root().join("tests/cases/gate-corpus.jsonl");
    let text = std::fs::read_to_string(path)?;
    let cases: Vec<Case> = text
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()?;
    let (mut ours, mut bare) = (Samples::default(), Samples::default());
    for _ in 0..scale.of(5, 1) {
        for case in cases
            .iter()
            .filter(|case| case.shell == "bash")
            .step_by(scale.of(1, 20))
        {
            let call = inside.bash(&case.command)?;
            let alone = BareLoop::new(gate.clone(), call.clone());
            bare.time_async(alone.check()).await?;
            let answers = inside.runtime.check(vec![gate.clone().into()], &call).await;
            let answer = &answers[0];
            anyhow::ensure!(answer.result.is_ok(), "{:?}", answer.result);
            ours.push(Duration::from_micros(answer.micros));
        }
    }
    Ok(vec![
        Line::of(
            "gate",
            "a bash command of the case files, fresh instance",
            Unit::Micros,
            &ours,
        )
        .beside(
            "the bare loop on the same command, the drop of the instance included",
            &bare,
        )
        .reach(Target::P50(60.0)),
    ])
}

/// Checks texts of several sizes, each beside a guest that only parses them.
pub(crate) async fn beside_parsing(scale: Scale) -> anyhow::Result<Vec<Line>> {
    let inside = Inside::start().await?;
    let gate = inside.guards().into_iter().next().context("no guard")?;
    let parser = inside.guard("parse-alone").await?;
    let mut lines = Vec::new();
    for (size, name) in [(205, "0.2"), (1024, "1"), (2048, "2")] {
        let call = inside.bash(&script(size))?;
        let (mut ours, mut parsing) = (Samples::default(), Samples::default());
        for _ in 0..scale.of(500, 5) {
            for (guest, samples) in [(&parser, &mut parsing), (&gate, &mut ours)] {
                let answers = inside
                    .runtime
                    .check(vec![guest.clone().into()], &call)
                    .await;
                let allows = matches!(answers[0].result, Ok(Verdict::Allow));
                anyhow::ensure!(allows, "{:?}", answers[0].result);
                samples.push(Duration::from_micros(answers[0].micros));
            }
        }
        lines.push(
            Line::of(
                "gate",
                format!("a harmless script of {name} KiB"),
                Unit::Micros,
                &ours,
            )
            .beside("a guest with the same parser that only parses", &parsing)
            .reach(Target::TimesBaseline(1.5)),
        );
    }
    Ok(lines)
}

/// Returns a script as agents write them, to which the gate does not object.
fn script(size: usize) -> String {
    const LINES: [&str; 5] = [
        "cd src && cargo test --workspace 2>&1 | tail -n 40\n",
        "git diff --stat HEAD~3 -- '*.rs' \"docs/$NAME.md\"\n",
        "for f in a b c; do grep -n \"fn $f\" lib.rs || echo none; done\n",
        "export LOG=/tmp/out.txt; python3 -m pytest -q -k 'not slow'\n",
        "if [ -f Makefile ]; then make -j4 check > \"$LOG\"; fi\n",
    ];
    let mut script = String::new();
    for line in LINES.iter().cycle() {
        if !script.is_empty() && script.len() + line.len() > size {
            return script;
        }
        script.push_str(line);
    }
    script
}
