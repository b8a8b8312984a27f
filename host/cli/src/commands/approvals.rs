//! `damper approvals`

use std::process::ExitCode;

use damper_serve::{AnswerReport, ApprovalView, Home, Request, Watched, connect};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines, Stdin, stdin};

use super::home;
use crate::{
    arguments::{AnswerArguments, ApprovalsCommand, Json},
    exit, show,
};

pub(super) async fn run(command: ApprovalsCommand) -> anyhow::Result<ExitCode> {
    let home = home()?;
    match command {
        ApprovalsCommand::Watch(json) => watch(&home, json).await,
        ApprovalsCommand::List(json) => {
            let waiting: Vec<ApprovalView> = connect(&home).await?.ask(&Request::Approvals).await?;
            if json.json {
                show::json(&waiting)?;
            } else {
                show::approvals(&waiting);
            }
            Ok(ExitCode::from(exit::OK))
        }
        ApprovalsCommand::Allow(arguments) => answer(&home, arguments, true).await,
        ApprovalsCommand::Deny(arguments) => answer(&home, arguments, false).await,
    }
}

async fn answer(home: &Home, arguments: AnswerArguments, allow: bool) -> anyhow::Result<ExitCode> {
    let report = send(home, &arguments.id, allow, arguments.why).await?;
    if arguments.json.json {
        show::json(&report)?;
    } else {
        show::line(&answered(&report));
    }
    Ok(ExitCode::from(exit::OK))
}

fn answered(report: &AnswerReport) -> String {
    let what = if report.allowed {
        "allowed, once"
    } else {
        "denied"
    };
    format!("{} is {what}", report.id)
}

async fn send(
    home: &Home,
    id: &str,
    allow: bool,
    why: Option<String>,
) -> anyhow::Result<AnswerReport> {
    let by = std::env::var("USER").unwrap_or_else(|_unset| "somebody at a terminal".to_owned());
    let request = Request::Answer {
        id: id.to_owned(),
        allow,
        by,
        why,
    };
    Ok(connect(home).await?.ask(&request).await?)
}

/// Attaches this terminal: shows questions and takes answers until it ends.
async fn watch(home: &Home, json: Json) -> anyhow::Result<ExitCode> {
    let mut client = connect(home).await?;
    client.begin(&Request::WatchApprovals).await?;
    let mut waiting: Vec<ApprovalView> = Vec::new();
    let mut typed = Some(BufReader::new(stdin()).lines());
    loop {
        tokio::select! {
            watched = client.next::<Watched>() => {
                let Some(watched) = watched? else { break };
                if json.json {
                    show::json_line(&watched)?;
                } else {
                    show::watched(&watched);
                }
                match watched {
                    Watched::Attached => {}
                    Watched::Raised(raised) => waiting.push(raised),
                    Watched::Gone { id } => waiting.retain(|view| view.id != id),
                }
            }
            line = next_line(&mut typed) => match line? {
                Some(line) => take(home, &line, &waiting, &json).await?,
                None => typed = None,
            },
        }
    }
    show::line("the host has stopped");
    Ok(ExitCode::from(exit::OK))
}

/// Returns the next line that a person types; waits for ever once there will be none, so that
/// a watch without a terminal stays attached.
async fn next_line(typed: &mut Option<Lines<BufReader<Stdin>>>) -> std::io::Result<Option<String>> {
    match typed {
        Some(lines) => lines.next_line().await,
        None => std::future::pending().await,
    }
}

async fn take(
    home: &Home,
    line: &str,
    waiting: &[ApprovalView],
    json: &Json,
) -> anyhow::Result<()> {
    let mut words = line.split_whitespace();
    let Some(word) = words.next() else {
        return Ok(());
    };
    let allow = match word {
        "a" | "allow" => true,
        "d" | "deny" => false,
        _ => {
            show::error(
                "type `a` to allow the oldest question or `d` to deny it; `a ID` and `d ID` answer another",
            );
            return Ok(());
        }
    };
    let Some(id) = words
        .next()
        .or_else(|| waiting.first().map(|view| view.id.as_str()))
    else {
        show::error("nothing is waiting");
        return Ok(());
    };
    match send(home, id, allow, None).await {
        // What became of the question is told by the stream itself.
        Ok(_) if json.json => {}
        Ok(report) => show::line(&answered(&report)),
        Err(error) => show::error(&format!("{error:#}")),
    }
    Ok(())
}
