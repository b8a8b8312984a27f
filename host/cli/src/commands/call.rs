//! `damper call`

use std::process::ExitCode;

use anyhow::Context as _;
use damper_call::{CallId, Ending};
use damper_serve::{CallOrder, CallReport, Request, connect_or_start};

use super::{folder, home};
use crate::{arguments::CallArguments, exit, show};

pub(super) async fn run(arguments: CallArguments) -> anyhow::Result<ExitCode> {
    let id = arguments
        .id
        .as_deref()
        .map(str::parse::<CallId>)
        .transpose()
        .context("--id")?;
    let order = CallOrder {
        tool: arguments.tool,
        arguments: arguments.arguments,
        cwd: folder(arguments.cwd)?,
        id,
        mode: arguments.mode,
    };
    let (client, _started) = connect_or_start(&home()?).await?;
    let report: CallReport = client.ask(&Request::Call(order)).await?;
    if arguments.json.json {
        show::json(&report)?;
    } else if report.is_error {
        show::failed_answer(&report.text);
    } else {
        show::answer(&report.text);
    }
    Ok(ExitCode::from(match report.ending {
        Ending::Completed if !report.is_error => exit::OK,
        Ending::Denied => exit::REFUSED,
        Ending::Completed
        | Ending::Failed
        | Ending::Cancelled
        | Ending::TimedOut
        | Ending::Unknown => exit::FAILED,
    }))
}
