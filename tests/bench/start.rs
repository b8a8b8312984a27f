//! Starting a host, and what its plugins cost in memory.

use std::{
    fs,
    process::{Child, Stdio},
    thread,
    time::{Duration, Instant},
};

use damper_call::Ending;
use damper_serve::Request;
use damper_tests::{Host, guest};

use crate::{
    Scale,
    live::{Client, private_dirty, warm, write_file_to_read},
    report::{Line, Target, Unit},
    sample::Samples,
};

/// How often a starting host is tried.
const TRY: Duration = Duration::from_micros(200);

/// From `damper serve` to the first answered call.
pub(crate) fn start(scale: Scale) -> anyhow::Result<Vec<Line>> {
    let (mut cold, mut warm, mut bare) =
        (Samples::default(), Samples::default(), Samples::default());
    for _ in 0..scale.of(3, 1) {
        let host = Host::unwarmed();
        write_file_to_read(&host)?;
        stop(&host, start_one(&host, &mut cold)?)?;
        for _ in 0..scale.of(15, 3) {
            bare.time(|| host.damper(&["--version"]));
            stop(&host, start_one(&host, &mut warm)?)?;
        }
    }
    let version = "spawn `damper --version` and wait";
    Ok(vec![
        Line::of(
            "start",
            "host start, default profile, warm code cache -> first answered call",
            Unit::Micros,
            &warm,
        )
        .beside(version, &bare)
        .reach(Target::P50(30_000.0)),
        Line::of(
            "start",
            "the same in an empty home: everything is compiled",
            Unit::Micros,
            &cold,
        )
        .beside(version, &bare),
    ])
}

fn start_one(host: &Host, samples: &mut Samples) -> anyhow::Result<Child> {
    let client = Client::of(host);
    let log = fs::File::create(host.home().join("bench-host.log"))?;
    let began = Instant::now();
    let child = host
        .command()
        .arg("serve")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()?;
    let report = loop {
        match client.read() {
            Ok(report) => break report,
            Err(error) if began.elapsed() > Duration::from_secs(120) => return Err(error),
            Err(_not_yet) => thread::park_timeout(TRY),
        }
    };
    samples.push(began.elapsed());
    anyhow::ensure!(report.ending == Ending::Completed, "{report:?}");
    Ok(child)
}

fn stop(host: &Host, mut child: Child) -> anyhow::Result<()> {
    Client::of(host).ask(&Request::Stop)?;
    child.wait()?;
    Ok(())
}

/// Guests that differ in their code and are asked nothing that they answer badly to.
const DISTINCT: [&str; 8] = [
    "allow-guard",
    "deny-guard",
    "mark-guard",
    "hostile-answer",
    "hostile-calls",
    "hostile-exit",
    "hostile-log",
    "hostile-trap",
];

/// Further rows of one plugin.
const FURTHER: usize = 100;

/// What a plugin and a further row of it add to the host's memory.
pub(crate) fn memory(scale: Scale) -> anyhow::Result<Vec<Line>> {
    if !cfg!(target_os = "linux") {
        let why = "only Linux tells the private dirty memory of a process";
        return Ok(vec![Line::skipped("memory", "memory of a plugin", why)]);
    }
    let (mut host_alone, mut a_plugin, mut a_row) =
        (Samples::default(), Samples::default(), Samples::default());
    let row =
        |id: &str, name: &str| format!("  - id: {id}\n    plugin: {}\n", guest(name).display());
    let distinct: String = DISTINCT.iter().map(|name| row(name, name)).collect();
    let further: String = (0..FURTHER)
        .map(|number| row(&format!("further-{number}"), "allow-guard"))
        .collect();
    // One home compiles; the hosts that are measured only load.
    let mut host = warm(&format!("- insert:\n{distinct}"))?;
    let mut after_start = |patch: &str| -> anyhow::Result<f64> {
        host.kill();
        host.write_patch(patch);
        host.serve();
        let status = host.status();
        let rows = status["rows"].as_array().into_iter().flatten();
        let idle: Vec<_> = rows.filter(|row| row["state"] != "running").collect();
        anyhow::ensure!(idle.is_empty(), "rows that do not run: {idle:?}");
        private_dirty(host.pid())
    };
    for _ in 0..scale.of(5, 1) {
        let alone = after_start("")?;
        let with_distinct = after_start(&format!("- insert:\n{distinct}"))?;
        let with_all = after_start(&format!("- insert:\n{distinct}{further}"))?;
        host_alone.push_number(alone);
        #[expect(clippy::cast_precision_loss, reason = "small counts")]
        {
            a_plugin.push_number((with_distinct - alone) / DISTINCT.len() as f64);
            a_row.push_number((with_all - with_distinct) / FURTHER as f64);
        }
    }
    Ok(vec![
        Line::of(
            "memory",
            "private dirty of a host on the default profile",
            Unit::Kibibytes,
            &host_alone,
        ),
        Line::of(
            "memory",
            "a distinct Rust plugin, loaded and configured",
            Unit::Kibibytes,
            &a_plugin,
        )
        .reach(Target::P50(512.0)),
        Line::of(
            "memory",
            "a further row of a plugin",
            Unit::Kibibytes,
            &a_row,
        )
        .reach(Target::P50(16.0)),
    ])
}
