//! `damper explain`

use std::process::ExitCode;

use damper_journal::Record;
use damper_serve::{Request, connect};

use super::home;
use crate::{arguments::ExplainArguments, exit, show};

pub(super) async fn run(arguments: ExplainArguments) -> anyhow::Result<ExitCode> {
    let call = arguments.call.filter(|_call| !arguments.last);
    let records: Vec<Record> = connect(&home()?)
        .await?
        .ask(&Request::Explain { call })
        .await?;
    if arguments.json.json {
        show::json(&records)?;
    } else {
        show::explanation(&records);
    }
    Ok(ExitCode::from(exit::OK))
}
