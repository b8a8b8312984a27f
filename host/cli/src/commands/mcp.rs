//! `damper mcp`: copies bytes between the agent and the host. The session lives in the host.

use std::process::ExitCode;

use damper_serve::{Request, connect_or_start};
use tokio::io::{AsyncWriteExt as _, copy, stdin, stdout};

use super::{folder, home};
use crate::{arguments::McpArguments, exit};

pub(super) async fn run(arguments: McpArguments) -> anyhow::Result<ExitCode> {
    let cwd = folder(arguments.cwd)?;
    let roots = arguments
        .root
        .into_iter()
        .map(|root| folder(Some(root)))
        .collect::<anyhow::Result<_>>()?;
    let (client, _started) = connect_or_start(&home()?).await?;
    let stream = client
        .open(&Request::Mcp {
            cwd,
            roots,
            agent: arguments.agent,
            mode: arguments.mode,
        })
        .await?;
    let (mut from_host, mut to_host) = tokio::io::split(stream);
    let outward = async {
        let copied = copy(&mut stdin(), &mut to_host).await;
        // The agent has said all; what the host still answers goes on.
        to_host.shutdown().await?;
        copied
    };
    let inward = async {
        let mut agent = stdout();
        let copied = copy(&mut from_host, &mut agent).await;
        agent.flush().await?;
        copied
    };
    let mut outward = std::pin::pin!(outward);
    let mut inward = std::pin::pin!(inward);
    tokio::select! {
        copied = &mut inward => {
            copied?;
        }
        copied = &mut outward => {
            copied?;
            inward.await?;
        }
    }
    Ok(ExitCode::from(exit::OK))
}
