//! `damper serve`

use std::process::ExitCode;

use anyhow::Context as _;
use damper_serve::{RowStateView, ServeSettings, Status};
use damper_wasm::CompilerCommand;

use super::{hidden::COMPILE, home};
use crate::{arguments::ServeArguments, exit, show};

pub(super) fn run(arguments: ServeArguments) -> anyhow::Result<ExitCode> {
    let program = std::env::current_exe().context("cannot tell where this program is")?;
    let settings = ServeSettings {
        home: home()?,
        profile: arguments.profile,
        patches: absolute(arguments.patch)?,
        http: arguments.http,
        leave_when_idle: arguments.leave_when_idle,
        compiler: CompilerCommand {
            program: program.clone(),
            arguments: vec![COMPILE.into()],
        },
        launcher: Some(program),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let served = runtime.block_on(damper_serve::serve(settings, announce));
    runtime.shutdown_background();
    served?;
    Ok(ExitCode::from(exit::OK))
}

fn absolute(paths: Vec<std::path::PathBuf>) -> anyhow::Result<Vec<std::path::PathBuf>> {
    let here = std::env::current_dir().context("cannot tell the current folder")?;
    Ok(paths.into_iter().map(|path| here.join(path)).collect())
}

/// Tells a person what runs and what to try.
fn announce(status: &Status) {
    let running = status
        .rows
        .iter()
        .filter(|row| row.state == RowStateView::Running)
        .count();
    show::line(&format!(
        "damper {} serves profile `{}`: {running} of {} rows running",
        status.version,
        status.profile,
        status.rows.len()
    ));
    show::line(&format!("  home     {}", status.home.display()));
    show::line(&format!("  control  {}", status.socket.display()));
    if let Some(http) = &status.http {
        show::line(&format!("  mcp      {}", http.url));
        show::line(&format!("  token    {}", http.token_file.display()));
    }
    for row in status.rows.iter().filter(|row| row.reason.is_some()) {
        show::line(&format!(
            "  {} is {}: {}",
            row.id,
            row.state.as_str(),
            row.reason.as_deref().unwrap_or("")
        ));
    }
    for problem in &status.problems {
        show::line(&format!("  refused: {}", problem.text));
    }
    let program = std::env::args()
        .next()
        .unwrap_or_else(|| "damper".to_owned());
    let home = if std::env::var_os("DAMPER_HOME").is_some() {
        format!("DAMPER_HOME={} ", status.home.display())
    } else {
        String::new()
    };
    show::line("try, in another terminal:");
    show::line(&format!("  {home}{program} approvals watch"));
    show::line(&format!(
        "  {home}{program} call bash '{{\"command\": \"rm -rf build\"}}'"
    ));
    show::line(&format!("  {home}{program} explain --last"));
}
