//! How soon an edit is obeyed, and that no call is lost or mixed while components are swapped.

use std::{
    collections::HashSet,
    fs,
    path::Path,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use damper_call::Ending;
use damper_serve::Request;
use damper_tests::guest;
use serde_json::Value;

use crate::{
    Scale,
    live::{Client, warm},
    report::{Line, Target, Unit},
    sample::Samples,
};

/// How long files have to be quiet before the host reads them.
const SETTLE: Duration = Duration::from_millis(100);

/// The two guards that edits switch between, with what each says to every call.
const GUARDS: [(&str, &str); 2] = [
    ("deny-guard", "this guard denies everything"),
    ("mark-guard", "mark-a"),
];

fn patch(guard: &str) -> String {
    format!(
        "- insert:\n  - id: bench\n    plugin: {}\n",
        guest(guard).display()
    )
}

/// Writes the patch and calls until a call obeys.
pub(crate) fn edits(scale: Scale) -> anyhow::Result<Vec<Line>> {
    let host = warm(&patch(GUARDS[1].0))?;
    let client = Client::of(&host);
    let obeys = |sign: &str| -> anyhow::Result<bool> {
        let report = client.read()?;
        Ok(report.text.contains(sign))
    };
    let (mut from_write, mut from_settled) = (Samples::default(), Samples::default());
    let mut on_request = Samples::default();
    for turn in 0..2 + scale.of(60, 6) {
        let (guard, sign) = GUARDS[turn % 2];
        let began = Instant::now();
        host.write_patch(&patch(guard));
        let written = Instant::now();
        while !obeys(sign)? {}
        // The first two compile.
        if turn >= 2 {
            from_write.push(began.elapsed());
            from_settled.push(written.elapsed());
        }
    }
    for turn in 0..scale.of(60, 6) {
        let (guard, sign) = GUARDS[turn % 2];
        host.write_patch(&patch(guard));
        let began = Instant::now();
        client.ask(&Request::Reload)?;
        anyhow::ensure!(obeys(sign)?, "the call after a reload does not obey it");
        on_request.push(began.elapsed());
    }
    let mut call = Samples::default();
    for _ in 0..scale.of(100, 5) {
        call.time(|| client.read())?;
    }
    let bare = "a call alone, through the same socket";
    Ok(vec![
        Line::of(
            "edits",
            "an edit settled -> a call that obeys is answered, cached code",
            Unit::Micros,
            &from_settled.less(SETTLE),
        )
        .beside(bare, &call)
        .reach(Target::P99(5_000.0)),
        Line::of(
            "edits",
            "the same from the write, 100 ms of settling included",
            Unit::Micros,
            &from_write,
        )
        .reach(Target::P99(150_000.0)),
        Line::of(
            "edits",
            "a reload on request and the next call",
            Unit::Micros,
            &on_request,
        )
        .beside(bare, &call),
    ])
}

/// Swaps a component under two rows while clients call, and counts what went wrong.
pub(crate) fn swaps(scale: Scale) -> anyhow::Result<Vec<Line>> {
    let folder = tempfile::tempdir()?;
    let component = folder.path().join("guard.wasm");
    put(&component, GUARDS[0].0)?;
    let path = component.display();
    let host = warm(&format!(
        "- insert:\n  - id: one\n    plugin: {path}\n  - id: two\n    plugin: {path}\n"
    ))?;
    let client = Client::of(&host);
    let (stop, calls, lost) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    let clients = scale.of(16, 8);
    let swaps = scale.of(1_000, 50);
    let mut swap_times = Samples::default();
    thread::scope(|scope| -> anyhow::Result<()> {
        for _ in 0..clients {
            scope.spawn(|| {
                while !stop.load(Ordering::SeqCst) {
                    calls.fetch_add(1, Ordering::SeqCst);
                    if !is_answered(&client) {
                        lost.fetch_add(1, Ordering::SeqCst);
                    }
                }
            });
        }
        let swapped = (1..=swaps).try_for_each(|turn| {
            put(&component, GUARDS[turn % 2].0)?;
            swap_times.time(|| client.ask(&Request::Reload)).map(drop)
        });
        stop.store(true, Ordering::SeqCst);
        swapped
    })?;
    let calls = calls.into_inner();
    let judged = judged(&client)?;
    let mixed = judged.iter().filter(|digests| digests.len() != 1).count();
    let seen: HashSet<&String> = judged.iter().flatten().collect();
    anyhow::ensure!(seen.len() == 2, "calls saw {} of 2 components", seen.len());
    let unjournalled = calls.saturating_sub(judged.len() as u64);
    Ok(vec![
        count(
            format!("calls lost, of {calls} by {clients} clients during {swaps} swaps"),
            lost.into_inner() + unjournalled,
        ),
        count(
            format!("calls judged by two versions, of {}", judged.len()),
            mixed as u64,
        ),
        Line::of(
            "swaps",
            "one swap under that load, from the request to its report",
            Unit::Micros,
            &swap_times,
        ),
    ])
}

fn put(component: &Path, guard: &str) -> anyhow::Result<()> {
    let draft = component.with_extension("draft");
    fs::copy(guest(guard), &draft)?;
    Ok(fs::rename(draft, component)?)
}

/// Returns whether a call was denied by one of the guards, as it must be.
fn is_answered(client: &Client) -> bool {
    client.read().is_ok_and(|report| {
        report.ending == Ending::Denied && GUARDS.iter().any(|(_, sign)| report.text.contains(sign))
    })
}

/// Returns, for each call that was judged, the versions that the two rows judged it with.
fn judged(client: &Client) -> anyhow::Result<Vec<HashSet<String>>> {
    let log = Request::Log {
        last: usize::MAX >> 1,
        follow: false,
    };
    let (records, _end) = client.ask(&log)?;
    let decided = records
        .iter()
        .filter(|record| record["kind"] == "call/decided");
    decided
        .map(|record| {
            let opinions = record["body"]["opinions"].as_array();
            let opinions = opinions.context("a decision without opinions")?.iter();
            let ours =
                opinions.filter(|opinion| opinion["row"] == "one" || opinion["row"] == "two");
            Ok(ours.map(version).collect())
        })
        .collect()
}

fn version(opinion: &Value) -> String {
    format!("{} {}", opinion["digest"], opinion["failure"])
}

fn count(what: String, number: u64) -> Line {
    let mut samples = Samples::default();
    #[expect(clippy::cast_precision_loss, reason = "a count of calls is small")]
    samples.push_number(number as f64);
    Line::of("swaps", what, Unit::Count, &samples).reach(Target::P50(0.0))
}
