//! The approval gate on its case files.

use anyhow::Context as _;
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
            let answers = inside.runtime.check(vec![gate.clone()], &call).await;
            let answer = &answers[0];
            anyhow::ensure!(answer.result.is_ok(), "{:?}", answer.result);
            ours.push(std::time::Duration::from_micros(answer.micros));
        }
    }
    let mut lines = vec![
        Line::of(
            "gate",
            "a bash command of the case files, fresh instance",
            Unit::Micros,
            &ours,
        )
        .beside("the bare loop on the same command", &bare)
        .reach(Target::P50(60.0)),
    ];
    lines.push(Line::skipped(
        "gate",
        "beside parsing alone, at 0.2, 1 and 2 KiB",
        "no guest parses alone yet",
    ));
    Ok(lines)
}
