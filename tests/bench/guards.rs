//! Guards on one bash call, in this process, beside a bare loop and beside spawning hooks.

use std::process::{Command, Stdio};

use damper_call::VerdictKind;
use damper_dispatch::measure::decide;
use damper_wasm::measure::BareLoop;

use crate::{
    Scale,
    inside::{DESTRUCTIVE, HARMLESS, Inside},
    report::{Line, Target, Unit},
    sample::Samples,
};

/// Turns of one kind before the other kind gets its turn.
const SLICE: usize = 10;

/// One guard through the runtime, and all shipped guards through the dispatcher.
pub(crate) async fn one_and_all(scale: Scale) -> anyhow::Result<Vec<Line>> {
    let inside = Inside::start().await?;
    let call = inside.bash(HARMLESS)?;
    let guards = inside.guards();
    let bare: Vec<BareLoop> = guards
        .iter()
        .map(|guard| BareLoop::new(guard.clone(), call.clone()))
        .collect();
    let generation = inside.dispatcher.current();
    let mut times = Times::default();
    for slice in 0..scale.of(200, 5) {
        for _ in 0..SLICE {
            let allows = times.bare_one.time_async(bare[0].check()).await?;
            anyhow::ensure!(allows, "the harmless command is harmless");
        }
        for _ in 0..SLICE {
            let asking = inside.runtime.check(vec![guards[0].clone().into()], &call);
            let answers = times.one.time_async(asking).await;
            anyhow::ensure!(answers[0].result.is_ok(), "{:?}", answers[0].result);
            times.inside_one.push_number(micros(answers[0].micros));
        }
        for _ in 0..SLICE {
            let turn = async {
                for guard in &bare {
                    guard.check().await?;
                }
                anyhow::Ok(())
            };
            times.bare_all.time_async(turn).await?;
        }
        for _ in 0..SLICE {
            let deciding = decide(&inside.dispatcher, &generation, &call);
            let verdict = times.all.time_async(deciding).await;
            anyhow::ensure!(verdict == VerdictKind::Allow, "{verdict:?}");
        }
        for _ in 0..SLICE {
            let journey = inside.dispatcher.call(inside.request(DESTRUCTIVE));
            let outcome = times.journey.time_async(journey).await;
            anyhow::ensure!(outcome.ending == damper_call::Ending::Denied, "{outcome:?}");
        }
        if slice == 0 {
            // The first slice loads pages and starts threads.
            times = Times::default();
        }
    }
    Ok(times.lines(guards.len()))
}

#[expect(clippy::cast_precision_loss, reason = "times are small")]
fn micros(micros: u64) -> f64 {
    micros as f64
}

#[derive(Default)]
struct Times {
    one: Samples,
    inside_one: Samples,
    bare_one: Samples,
    all: Samples,
    bare_all: Samples,
    journey: Samples,
}

impl Times {
    fn lines(&self, guards: usize) -> Vec<Line> {
        let bare = "wasmtime alone on the calling thread: same engine, linked component and settings, no limits, no hop";
        vec![
            Line::of(
                "guards",
                "one guard, fresh instance",
                Unit::Micros,
                &self.one,
            )
            .beside(bare, &self.bare_one)
            .reach(Target::TimesBaseline(1.3)),
            Line::of(
                "guards",
                "  of which until the answer, the drop of the instance and the way back left out",
                Unit::Micros,
                &self.inside_one,
            )
            .beside(bare, &self.bare_one),
            Line::of(
                "guards",
                format!("all shipped guards ({guards}), one decision"),
                Unit::Micros,
                &self.all,
            )
            .beside(bare, &self.bare_all)
            .reach(Target::TimesBaseline(1.3)),
            Line::of(
                "guards",
                "the whole journey of a denied call, 5 records",
                Unit::Micros,
                &self.journey,
            ),
        ]
    }
}

/// All shipped guards beside spawning a hook for the call.
pub(crate) async fn beside_hooks(scale: Scale) -> anyhow::Result<Vec<Line>> {
    let inside = Inside::start().await?;
    let call = inside.bash(HARMLESS)?;
    let generation = inside.dispatcher.current();
    let hooks: [(&str, &str, &[&str], f64); 3] = [
        ("an empty native process", "true", &[], 3.0),
        ("an empty Python", "python3", &["-c", "pass"], 200.0),
        ("an empty Node", "node", &["-e", "0"], 400.0),
    ];
    let mut lines = Vec::new();
    for (name, program, arguments, times_faster) in hooks {
        let what = format!("all shipped guards, beside {name}");
        let mut hook = Command::new(itself(program));
        hook.args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        if hook.status().is_err() {
            lines.push(Line::skipped(
                "hooks",
                what,
                format!("there is no `{program}`"),
            ));
            continue;
        }
        let (mut ours, mut spawned) = (Samples::default(), Samples::default());
        for _ in 0..scale.of(40, 3) {
            spawned.time(|| hook.status())?;
            for _ in 0..SLICE {
                ours.time_async(decide(&inside.dispatcher, &generation, &call))
                    .await;
            }
        }
        let command = [&[program], arguments].concat().join(" ");
        lines.push(
            Line::of("hooks", what, Unit::Micros, &ours)
                .beside(format!("spawn `{command}` and wait"), &spawned)
                .reach(Target::BaselineTimes(times_faster)),
        );
    }
    Ok(lines)
}

/// Returns the interpreter behind a name: version managers put a script of theirs before it,
/// whose time would count for the interpreter.
fn itself(program: &str) -> String {
    let question: &[&str] = match program {
        "python3" => &["-c", "import sys; print(sys.executable)"],
        "node" => &["-p", "process.execPath"],
        _ => return program.to_owned(),
    };
    let answer = Command::new(program).args(question).output();
    let path = answer.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    path.ok()
        .filter(|path| !path.is_empty())
        .unwrap_or_else(|| program.to_owned())
}
