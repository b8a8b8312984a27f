//! `damper log`

use std::process::ExitCode;

use anyhow::Context as _;
use damper_call::Digest;
use damper_journal::Record;
use damper_serve::{Request, connect};

use super::home;
use crate::{arguments::TailArguments, exit, show};

pub(super) async fn tail(arguments: TailArguments) -> anyhow::Result<ExitCode> {
    let mut client = connect(&home()?).await?;
    client
        .begin(&Request::Log {
            last: arguments.lines,
            follow: arguments.follow,
        })
        .await?;
    while let Some(record) = client.next::<Record>().await? {
        if arguments.json.json {
            show::json_line(&record)?;
        } else {
            show::record(&record);
        }
    }
    Ok(ExitCode::from(exit::OK))
}

pub(super) async fn content(digest: String) -> anyhow::Result<ExitCode> {
    let digest: Digest = digest.parse().context("the hash")?;
    let text: String = connect(&home()?)
        .await?
        .ask(&Request::Content { digest })
        .await?;
    show::line(&text);
    Ok(ExitCode::from(exit::OK))
}
