//! What people see. The only place that prints.
#![expect(clippy::print_stderr, reason = "printing is what this module is for")]

pub(crate) mod plugin;

use std::{
    fmt,
    io::{IsTerminal as _, Write as _},
};

use damper_call::shown as safe;
use damper_journal::{Event, Opinion, Record};
use damper_serve::{ApprovalView, ModeReport, RowView, Status, Watched};
use serde::Serialize;

/// Prints a line on stdout, like `println!`, and ends the command where nobody reads any more.
macro_rules! out {
    ($($text:tt)*) => { print_line(format_args!($($text)*)) };
}

fn print_line(text: fmt::Arguments<'_>) {
    let mut stdout = std::io::stdout().lock();
    if writeln!(stdout, "{text}").is_err() {
        // `damper log tail | head` has seen enough; there is nobody left to tell.
        std::process::exit(i32::from(crate::exit::OK));
    }
}

/// Prints a line on stdout.
pub(crate) fn line(text: &str) {
    out!("{text}");
}

/// Prints a line on stderr. What went wrong often quotes what somebody sent.
pub(crate) fn error(text: &str) {
    eprintln!("{}", safe(text));
}

/// Prints a value as indented JSON.
pub(crate) fn json<T: Serialize>(value: &T) -> anyhow::Result<()> {
    out!("{}", serde_json::to_string_pretty(value)?);
    Ok(())
}

/// Prints a value as one line of JSON.
pub(crate) fn json_line<T: Serialize>(value: &T) -> anyhow::Result<()> {
    out!("{}", serde_json::to_string(value)?);
    Ok(())
}

/// Prints the modes, each with why it cannot run if it cannot.
pub(crate) fn modes(modes: &[ModeReport]) {
    if modes.is_empty() {
        out!(
            "no row of the profile is a preset (`damper plugin new NAME --kind preset` makes one)"
        );
    }
    let width = modes.iter().map(|mode| mode.id.len()).max().unwrap_or(0);
    for mode in modes {
        let description = safe(&mode.description);
        out!("{:width$}  {}", mode.id, safe(&mode.name));
        if !description.is_empty() {
            out!("{:width$}  {description}", "");
        }
        if let Some(why) = &mode.cannot_run {
            out!("{:width$}  CANNOT RUN: {}", "", safe(why));
        }
    }
}

/// Prints what a tool answered: as it is for a program, made safe for a terminal.
pub(crate) fn answer(text: &str) {
    let text = text.trim_end_matches('\n');
    if std::io::stdout().is_terminal() {
        out!("{}", safe(text));
    } else {
        out!("{text}");
    }
}

/// Prints why there is no answer: as it is for a program, made safe for a terminal.
pub(crate) fn failed_answer(text: &str) {
    if std::io::stderr().is_terminal() {
        eprintln!("{}", safe(text));
    } else {
        eprintln!("{text}");
    }
}

/// The most of a text that is to stay on its line.
const LINE: usize = 400;

/// Returns a text of somebody else's on one line, in quotes where it stands for a name: it must
/// not be able to look like a line of ours.
fn one_line(text: &str) -> String {
    safe(text)
        .replace(['\n', '\t', '"'], " ")
        .chars()
        .take(LINE)
        .collect()
}

/// Prints the rows with their state.
pub(crate) fn rows(rows: &[RowView]) {
    for row in rows {
        out!("{:<20} {:<18} {}", row.id, row.state.as_str(), row.brings);
        if let Some(reason) = &row.reason {
            out!("{:<20}   {}", "", safe(reason));
        }
        if let Some(vote) = &row.vote {
            out!("{:<20}   it counts as a guard that says `{vote}`", "");
        }
        if let (Some(running), Some(on_disk)) = (&row.digest_running, &row.digest_on_disk)
            && running != on_disk
        {
            out!(
                "{:<20}   running {}, on disk {}",
                "",
                running.short(),
                on_disk.short()
            );
        }
    }
}

/// Prints the host's status.
pub(crate) fn status(status: &Status) {
    out!(
        "damper {}, pid {}, profile `{}`, generation {}",
        status.version,
        status.pid,
        status.profile,
        status.generation
    );
    out!("  home      {}", status.home.display());
    out!("  control   {}", status.socket.display());
    if let Some(http) = &status.http {
        out!(
            "  mcp       {} (token in {})",
            http.url,
            http.token_file.display()
        );
    }
    out!("  edits     noticed by {}", status.watcher);
    let attended = if status.attended {
        "somebody is attached"
    } else {
        "nobody is attached; `damper approvals watch`"
    };
    out!(
        "  approvals {} waiting; {attended}",
        status.approvals_waiting
    );
    out!("  calls     {} under way", status.calls_in_flight);
    if !status.ready {
        out!("  starting: the first generation is being prepared");
    }
    out!("rows");
    for row in &status.rows {
        row_status(row);
    }
    out!("files");
    for layer in &status.layers {
        out!(
            "  {} {}",
            if layer.applied {
                "applied "
            } else {
                "REFUSED "
            },
            layer.file
        );
    }
    for problem in &status.problems {
        out!("  refused: {}", one_line(&problem.text));
    }
    for note in &status.notes {
        out!("  note: {}", one_line(note));
    }
    for call in &status.recovered {
        out!(
            "recovered {}: {}: {}",
            call.call,
            call.ending.as_str(),
            call.text
        );
    }
}

fn row_status(row: &RowView) {
    let digest = row
        .digest_running
        .map(|digest| digest.short())
        .unwrap_or_default();
    out!(
        "  {:<18} {:<18} {} {digest}",
        row.id,
        row.state.as_str(),
        row.brings
    );
    if let Some(reason) = &row.reason {
        out!("  {:<18}   {}", "", safe(reason));
    }
    if let (Some(running), Some(on_disk)) = (&row.digest_running, &row.digest_on_disk)
        && running != on_disk
    {
        out!("  {:<18}   on disk is {}", "", on_disk.short());
    }
    if let Some(vote) = &row.vote {
        out!("  {:<18}   counts as a guard that says `{vote}`", "");
    }
    let counters = &row.counters;
    if counters.calls > 0 {
        out!(
            "  {:<18}   {} calls, {} µs each, {} allow, {} ask, {} deny",
            "",
            counters.calls,
            counters.micros / counters.calls,
            counters.allow,
            counters.ask,
            counters.deny
        );
    }
    for (kind, count) in &counters.failures {
        out!("  {:<18}   failures ({kind}): {count}", "");
    }
}

/// Prints questions that wait.
pub(crate) fn approvals(waiting: &[ApprovalView]) {
    if waiting.is_empty() {
        out!("nothing is waiting");
    }
    for approval in waiting {
        card(approval);
    }
}

/// Prints what happens to somebody who watches approvals.
pub(crate) fn watched(watched: &Watched) {
    match watched {
        Watched::Attached => {
            out!("attached: calls that need a person now wait for you (Ctrl-C detaches)")
        }
        Watched::Raised(approval) => {
            card(approval);
            out!("  a = allow once, d = deny");
        }
        Watched::Gone { id } => out!("{id} is settled"),
    }
}

fn card(approval: &ApprovalView) {
    let agent = approval.agent.as_deref().unwrap_or("an agent");
    out!(
        "{}  \"{}\" wants to use `{}` in {}",
        approval.id,
        one_line(agent),
        approval.tool,
        safe(&approval.cwd)
    );
    for line in safe(&approval.subject).lines() {
        out!("    {line}");
    }
    let shown = display_text(approval).unwrap_or_else(|| approval.reason.clone());
    for line in safe(&shown).lines() {
        out!("  {line}");
    }
}

/// Returns the texts for the person's language: Chinese where the locale says so, else English.
fn display_text(approval: &ApprovalView) -> Option<String> {
    let locale = ["LC_ALL", "LC_MESSAGES", "LANG"]
        .iter()
        .find_map(|name| std::env::var(name).ok())
        .unwrap_or_default();
    let language = if locale.starts_with("zh") { "zh" } else { "en" };
    let texts: Vec<&str> = approval
        .display
        .iter()
        .filter(|display| display.language.split('-').next() == Some(language))
        .map(|display| display.text.as_str())
        .collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

/// Prints the story of one call.
pub(crate) fn explanation(records: &[Record]) {
    for record in records {
        match &record.event {
            Event::CallReceived(event) => {
                out!("call {} in session {}", event.call, record.session);
                out!(
                    "  tool       {} {}",
                    safe(&event.tool),
                    safe(&event.arguments.to_string())
                );
                out!(
                    "  in         {} (generation {})",
                    event.cwd.display(),
                    event.generation
                );
            }
            Event::CallDecided(event) => {
                out!("  guards     {}", event.verdict.as_str());
                event.opinions.iter().for_each(opinion);
            }
            Event::ApprovalRaised(event) => out!("  approval   {} was raised", event.approval),
            Event::ApprovalAnswered(event) => {
                let answer = match event.answer {
                    damper_journal::Answer::Allowed => "allowed",
                    damper_journal::Answer::Denied => "denied",
                };
                let why = event
                    .why
                    .as_deref()
                    .map(|why| format!(": {}", safe(why)))
                    .unwrap_or_default();
                out!("  approval   {answer} by {}{why}", safe(&event.by));
            }
            Event::CallStarted(_) => out!("  started    the tool was started"),
            Event::CallFinished(event) => {
                out!(
                    "  outcome    {} after {} µs",
                    event.ending.as_str(),
                    event.micros
                );
                for line in safe(&event.text).lines().take(20) {
                    out!("             {line}");
                }
                for review in &event.reviews {
                    let what = if review.withheld { "withheld" } else { "noted" };
                    out!("  {what:<10} row `{}`: {}", review.row, safe(&review.text));
                }
            }
            Event::GuestFailed(event) => {
                out!("  failure    row `{}`: {}", event.row, safe(&event.failure))
            }
            Event::StateKept(event) => {
                let keys = safe(&event.keys.join(", "));
                out!("  kept       row `{}`: {keys}", event.row);
            }
            Event::SessionOpened(_)
            | Event::HostStarted(_)
            | Event::HostStopped(_)
            | Event::ProfileApplied(_)
            | Event::ToolsWithheld(_)
            | Event::MailRouted(_)
            | Event::Other { .. } => {}
        }
    }
}

fn opinion(opinion: &Opinion) {
    let rules = if opinion.rules.is_empty() {
        String::new()
    } else {
        format!(" [{}]", opinion.rules.join(", "))
    };
    out!(
        "    {:<16} {}{rules} ({} µs)",
        opinion.row.as_str(),
        opinion.verdict.as_str(),
        opinion.micros
    );
    if let Some(reason) = &opinion.reason {
        out!("    {:<16} {}", "", safe(reason));
    }
    if let Some(failure) = &opinion.failure {
        out!("    {:<16} it failed: {}", "", safe(failure));
    }
}

/// Prints a record of the journal on one line.
pub(crate) fn record(record: &Record) {
    let body = match serde_json::to_value(&record.event) {
        Ok(value) => value
            .get("body")
            .map(ToString::to_string)
            .unwrap_or_default(),
        Err(error) => error.to_string(),
    };
    out!(
        "{:>8} {} {:<18} {}",
        record.seq,
        record.session,
        record.event.kind(),
        safe(&body)
    );
}
