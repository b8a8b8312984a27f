//! `damper plugin dev`

use std::{
    io::{IsTerminal as _, Write as _},
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use anyhow::Context as _;
use damper_call::RowId;
use damper_journal::{Event, Record};
use damper_kit::{BuildError, Step};
use damper_profile::{Source, remove};
use damper_serve::{
    Client, Home, ReloadReport, Request, RowView, Status, connect, connect_or_start,
};
use damper_wasm::Manifest;
use notify::{RecursiveMode, Watcher as _};
use tokio::sync::mpsc;

use super::build::default_out;
use crate::{
    arguments::DevArguments,
    commands::{home, on_runtime, row},
    exit, show,
};

/// How long the sources must be quiet before they are built: editors save in several steps.
const SETTLE: Duration = Duration::from_millis(200);

/// A plugin that was built, absolute as a row names it.
struct Made {
    path: PathBuf,
    manifest: Manifest,
}

pub(super) fn run(arguments: &DevArguments) -> anyhow::Result<ExitCode> {
    let Some(made) = make(&arguments.path)? else {
        return Ok(ExitCode::from(exit::REFUSED));
    };
    let row = match &arguments.row {
        Some(row) => row.parse(),
        None => made
            .manifest
            .id
            .rsplit('/')
            .next()
            .unwrap_or_default()
            .parse(),
    };
    let row: RowId = row.context("--row")?;
    if !agreed(&made.manifest, arguments.yes)? {
        show::error("no row was added");
        return Ok(ExitCode::from(exit::REFUSED));
    }
    on_runtime(live(arguments, &row, &made))
}

/// Builds the plugin and tells of it; nothing if this host would refuse it.
fn make(folder: &Path) -> anyhow::Result<Option<Made>> {
    let mut progress = |step: Step| show::line(&step.to_string());
    let built = match damper_kit::build(folder, &default_out(folder), &mut progress) {
        Ok(built) => built,
        Err(error @ BuildError::Refused { .. }) => {
            show::error(&error.to_string());
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    };
    let [component] = built.as_slice() else {
        anyhow::bail!(
            "`{}` has {} plugins; name the folder of one of them",
            folder.display(),
            built.len()
        );
    };
    let report = damper_kit::check(&component.path)?;
    show::plugin::summary(&report);
    let manifest = report.manifest.context("the component has no manifest")?;
    Ok(Some(Made {
        path: std::path::absolute(&component.path)?,
        manifest,
    }))
}

/// Asks for a yes to what the plugin is to be granted. A script says it with `--yes`.
fn agreed(manifest: &Manifest, yes: bool) -> anyhow::Result<bool> {
    if yes {
        return Ok(true);
    }
    if !std::io::stdin().is_terminal() {
        show::error("nobody is here to agree to the grants; look at them and say --yes");
        return Ok(false);
    }
    let grants = manifest.grants.lines();
    match grants.len() {
        0 => show::line("it asks for no grants"),
        _ => show::line(&format!("it is granted {}", grants.join("; "))),
    }
    show::line("add it to the running profile? [y/N]");
    std::io::stdout().flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Runs the plugin in a host, and builds it again whenever its sources change.
async fn live(arguments: &DevArguments, row: &RowId, made: &Made) -> anyhow::Result<ExitCode> {
    let home = home()?;
    let (client, _started) = connect_or_start(&home).await?;
    let status: Status = client.ask(&Request::Status).await?;
    let patch = home.patch(&status.profile);
    let brings = format!("plugin {}", made.path.display());
    match status.rows.iter().find(|known| known.id == row.as_str()) {
        Some(known) if known.brings == brings => {}
        Some(known) => {
            show::error(&format!(
                "the profile has a row `{row}` already, which brings in {}; choose another with --row",
                known.brings
            ));
            return Ok(ExitCode::from(exit::REFUSED));
        }
        None => add(&patch, row, made)?,
    }
    tell_row(&home, row).await?;
    let mut changes = watch(&arguments.path)?;
    let following = tokio::spawn(follow(journal(&home).await?, row.clone()));
    show::line("watching the sources; Ctrl-C ends this");
    loop {
        tokio::select! {
            ended = tokio::signal::ctrl_c() => {
                ended?;
                break;
            }
            changed = changes.recv() => {
                changed.context("the sources cannot be watched any more")?;
            }
        }
        while tokio::time::timeout(SETTLE, changes.recv()).await.is_ok() {}
        let folder = arguments.path.clone();
        // Building takes a while, and what calls are told meanwhile is told at once.
        match tokio::task::spawn_blocking(move || make(&folder)).await? {
            Ok(Some(_made)) => tell_row(&home, row).await?,
            Ok(None) => show::error("the one that runs is kept"),
            Err(error) => show::error(&format!("{error:#}; the one that runs is kept")),
        }
    }
    following.abort();
    if arguments.remove {
        let before = row::read(&patch)?;
        row::write(
            &patch,
            &remove(&Source::at(&patch, before.as_bytes()), row)?,
        )?;
        let _report: ReloadReport = connect(&home).await?.ask(&Request::Reload).await?;
        show::line(&format!("the row `{row}` is gone"));
    } else {
        let place = patch.display();
        show::line(&format!(
            "the row `{row}` stays in {place}; --remove takes it out"
        ));
    }
    Ok(ExitCode::from(exit::OK))
}

/// Adds the row at the end of the patch, with what the manifest asks for granted.
fn add(patch: &Path, row: &RowId, made: &Made) -> anyhow::Result<()> {
    let mut text = row::read(patch)?;
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    let plugin = serde_json::to_string(&made.path)?;
    text.push_str(&format!(
        "- insert:\n    - id: {row}\n      plugin: {plugin}\n"
    ));
    if !made.manifest.grants.lines().is_empty() {
        // JSON is YAML.
        let grants = serde_json::to_string(&made.manifest.grants)?;
        text.push_str(&format!("      grants: {grants}\n"));
    }
    row::write(patch, &text)
}

/// Waits for what the host makes of the newest component and tells it.
async fn tell_row(home: &Home, row: &RowId) -> anyhow::Result<()> {
    let report: ReloadReport = connect(home).await?.ask(&Request::Reload).await?;
    for problem in &report.problems {
        show::error(&problem.text);
    }
    let status: Status = connect(home).await?.ask(&Request::Status).await?;
    let rows: Vec<RowView> = status
        .rows
        .into_iter()
        .filter(|known| known.id == row.as_str())
        .collect();
    anyhow::ensure!(!rows.is_empty(), "the host did not take the row `{row}`");
    show::rows(&rows);
    Ok(())
}

/// Watches what a plugin is made of, and not what is made of it.
fn watch(folder: &Path) -> anyhow::Result<Watched> {
    let (sender, changes) = mpsc::unbounded_channel();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let is_change = event.is_ok_and(|event| !event.kind.is_access());
        if is_change && sender.send(()).is_err() {
            tracing::debug!("nobody waits for changes any more");
        }
    })?;
    let sources = ["src", "wit"].map(|name| (folder.join(name), RecursiveMode::Recursive));
    let files =
        ["Cargo.toml", "damper.toml"].map(|name| (folder.join(name), RecursiveMode::NonRecursive));
    for (path, mode) in sources
        .into_iter()
        .chain(files)
        .filter(|(path, _)| path.exists())
    {
        let named = || format!("cannot watch `{}`", path.display());
        watcher.watch(&path, mode).with_context(named)?;
    }
    Ok(Watched {
        _watcher: watcher,
        changes,
    })
}

/// Changes of the sources, for as long as this lives.
struct Watched {
    _watcher: notify::RecommendedWatcher,
    changes: mpsc::UnboundedReceiver<()>,
}

impl Watched {
    async fn recv(&mut self) -> Option<()> {
        self.changes.recv().await
    }
}

/// Returns a connection on which all records come from now on.
async fn journal(home: &Home) -> anyhow::Result<Client> {
    let mut client = connect(home).await?;
    let request = Request::Log {
        last: 1,
        follow: true,
    };
    client.begin(&request).await?;
    // Once the newest one has come, none that follows is missed.
    client.next::<Record>().await?;
    Ok(client)
}

/// Tells what the row's plugin says, as it happens.
async fn follow(mut client: Client, row: RowId) -> anyhow::Result<()> {
    while let Some(record) = client.next::<Record>().await? {
        if let Some(line) = told(&record.event, &row) {
            show::line(&line);
        }
    }
    Ok(())
}

fn told(event: &Event, row: &RowId) -> Option<String> {
    match event {
        Event::CallDecided(event) => {
            let opinion = event.opinions.iter().find(|opinion| opinion.row == *row)?;
            let rules = opinion.rules.join(", ");
            Some(format!(
                "{} {rules} ({} µs, call {})",
                opinion.verdict.as_str(),
                opinion.micros,
                event.call
            ))
        }
        Event::GuestFailed(event) if event.row == *row => {
            Some(format!("{} failed: {}", event.hook, event.failure))
        }
        Event::ToolsWithheld(event) if event.row == *row => {
            Some(format!("withholds {}", event.tools.join(", ")))
        }
        Event::CallFinished(event) => {
            let review = event.reviews.iter().find(|review| review.row == *row)?;
            Some(format!("reviewed call {}: {}", event.call, review.text))
        }
        Event::GuestFailed(_)
        | Event::ToolsWithheld(_)
        | Event::SessionOpened(_)
        | Event::CallReceived(_)
        | Event::CallStarted(_)
        | Event::ApprovalRaised(_)
        | Event::ApprovalAnswered(_)
        | Event::HostStarted(_)
        | Event::HostStopped(_)
        | Event::ProfileApplied(_)
        | Event::StateKept(_)
        | Event::MailRouted(_)
        | Event::Other { .. } => None,
    }
}
