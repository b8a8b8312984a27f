//! `damper modes`

use std::process::ExitCode;

use damper_serve::{ModeReport, Request, connect_or_start};

use super::home;
use crate::{arguments::Json, exit, show};

pub(super) async fn run(json: Json) -> anyhow::Result<ExitCode> {
    let (client, _started) = connect_or_start(&home()?).await?;
    let modes: Vec<ModeReport> = client.ask(&Request::Modes).await?;
    if json.json {
        show::json(&modes)?;
    } else {
        show::modes(&modes);
    }
    Ok(ExitCode::from(exit::OK))
}
