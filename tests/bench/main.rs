//! Measures Damper beside what one would otherwise use, in one run, in small slices by turns.

mod durable;
mod each_hook;
mod edits;
mod gate;
mod guards;
mod inside;
mod live;
mod load;
mod mcp;
mod report;
mod sample;
mod start;

use std::{fs, io::Write as _, process::ExitCode};

use anyhow::{Context as _, bail};

use crate::report::{Line, table};

const HELP: &str = "\
Measures Damper beside bare baselines of the same run.

usage: cargo xtask bench [--quick] [--row NAME]... [--json FILE]

  --quick      few samples, to see that everything works; the numbers mean nothing
  --row NAME   only these: guards, each-hook, hooks, gate, edits, swaps, load, start, memory,
               durable, mcp
  --json FILE  write the lines as JSON too; - is stdout, instead of the table

Ends with 0 whether targets are met or not: numbers of a busy machine are no fault.
docs/benchmarks.md tells what each row means.";

/// How much is measured.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Scale {
    Full,
    Quick,
}

impl Scale {
    /// Returns the number of turns.
    pub(crate) const fn of(self, full: usize, quick: usize) -> usize {
        match self {
            Self::Full => full,
            Self::Quick => quick,
        }
    }
}

/// The rows, in the order in which they run.
const ROWS: [&str; 11] = [
    "guards",
    "each-hook",
    "hooks",
    "gate",
    "edits",
    "swaps",
    "load",
    "start",
    "memory",
    "durable",
    "mcp",
];

struct Options {
    scale: Scale,
    rows: Vec<&'static str>,
    json: Option<String>,
}

fn main() -> ExitCode {
    match options(std::env::args().skip(1)).and_then(|options| run(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("bench: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn options(mut arguments: impl Iterator<Item = String>) -> anyhow::Result<Options> {
    let mut options = Options {
        scale: Scale::Full,
        rows: Vec::new(),
        json: None,
    };
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--quick" => options.scale = Scale::Quick,
            "--row" => {
                let name = arguments.next().context("--row takes a name")?;
                let row = ROWS.iter().find(|row| **row == name);
                let row = row.with_context(|| format!("there is no row `{name}`\n\n{HELP}"))?;
                options.rows.push(row);
            }
            "--json" => options.json = Some(arguments.next().context("--json takes a file or -")?),
            "--help" | "-h" => {
                print(HELP)?;
                std::process::exit(0);
            }
            other => bail!("there is no option `{other}`\n\n{HELP}"),
        }
    }
    if options.rows.is_empty() {
        options.rows = ROWS.to_vec();
    }
    Ok(options)
}

fn run(options: &Options) -> anyhow::Result<()> {
    let mut lines = Vec::new();
    for row in &options.rows {
        say(&format!("measuring {row}"));
        lines.extend(measure(row, options.scale).with_context(|| format!("row `{row}`"))?);
    }
    match options.json.as_deref() {
        Some("-") => print(&serde_json::to_string_pretty(&lines)?),
        Some(file) => {
            fs::write(file, serde_json::to_vec_pretty(&lines)?)
                .with_context(|| format!("cannot write `{file}`"))?;
            print(&table(&lines))
        }
        None => print(&table(&lines)),
    }
}

fn measure(row: &str, scale: Scale) -> anyhow::Result<Vec<Line>> {
    match row {
        "guards" => on_threads(guards::one_and_all(scale)),
        "each-hook" => on_threads(each_hook::alone(scale)),
        "hooks" => on_threads(guards::beside_hooks(scale)),
        "gate" => {
            let mut lines = on_threads(gate::on_the_case_files(scale))?;
            lines.extend(on_threads(gate::beside_parsing(scale))?);
            Ok(lines)
        }
        "edits" => edits::edits(scale),
        "swaps" => edits::swaps(scale),
        "load" => on_threads(load::load(scale)),
        "start" => start::start(scale),
        "memory" => start::memory(scale),
        "durable" => on_threads(durable::durable(scale)),
        "mcp" => mcp::mcp(scale),
        other => bail!("the row `{other}` is not written"),
    }
}

/// Runs a measurement as a task on a runtime of several threads, which is how a host runs calls.
fn on_threads(
    measuring: impl Future<Output = anyhow::Result<Vec<Line>>> + Send + 'static,
) -> anyhow::Result<Vec<Line>> {
    let threads = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    threads.block_on(async { tokio::spawn(measuring).await? })
}

fn print(text: &str) -> anyhow::Result<()> {
    Ok(writeln!(std::io::stdout(), "{text}")?)
}

fn say(text: &str) {
    // Nothing is lost with a word that cannot be shown.
    drop(writeln!(std::io::stderr(), "{text}"));
}
