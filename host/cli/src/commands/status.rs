//! `damper status` and `damper stop`

use std::process::ExitCode;

use damper_serve::{ClientError, Request, Status, connect};

use super::home;
use crate::{arguments::Json, exit, show};

pub(super) async fn run(json: Json) -> anyhow::Result<ExitCode> {
    let home = home()?;
    let status: Status = connect(&home).await?.ask(&Request::Status).await?;
    if json.json {
        show::json(&status)?;
    } else {
        show::status(&status);
    }
    Ok(ExitCode::from(exit::OK))
}

pub(super) async fn stop() -> anyhow::Result<ExitCode> {
    let home = home()?;
    let client = connect(&home).await?;
    let _accepted: serde_json::Value = client.ask(&Request::Stop).await?;
    // The host takes its socket away last, when everything has ended.
    loop {
        match connect(&home).await {
            Err(ClientError::NotRunning(_)) => break,
            Ok(_) | Err(_) => tokio::time::sleep(std::time::Duration::from_millis(20)).await,
        }
    }
    show::line("stopped");
    Ok(ExitCode::from(exit::OK))
}
