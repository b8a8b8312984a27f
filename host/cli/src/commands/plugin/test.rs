//! `damper plugin test`

use std::{fs, process::ExitCode, sync::Arc, time::Instant};

use anyhow::Context as _;
use damper_call::ToolDefinition;
use damper_kit::{BuildError, CaseResult, Line, Step, read_cases, run_case};
use damper_tools::NativeTool;
use damper_wasm::{Ceilings, CompilerCommand, Plugin, Runtime, RuntimeSettings};

use super::build::default_out;
use crate::{
    arguments::TestArguments,
    commands::{hidden::COMPILE, on_runtime},
    exit, show,
};

pub(super) fn run(arguments: &TestArguments) -> anyhow::Result<ExitCode> {
    let folder = arguments.path.join("cases");
    // Relative where the project is named so, for an author reads it.
    let mut cases = read_cases(folder.strip_prefix(".").unwrap_or(&folder))?;
    if let Some(filter) = &arguments.filter {
        cases.retain(|case| case.name.contains(filter.as_str()));
        anyhow::ensure!(!cases.is_empty(), "no case has `{filter}` in its name");
    }
    let began = Instant::now();
    let mut progress = |step: Step| show::error(&step.to_string());
    let out = default_out(&arguments.path);
    let built = match damper_kit::build(&arguments.path, &out, &mut progress) {
        Ok(built) => built,
        Err(error @ BuildError::Refused { .. }) => {
            show::error(&error.to_string());
            return Ok(ExitCode::from(exit::REFUSED));
        }
        Err(error) => return Err(error.into()),
    };
    let [component] = built.as_slice() else {
        anyhow::bail!(
            "`{}` has {} plugins; name the folder of one of them",
            arguments.path.display(),
            built.len()
        );
    };
    let bytes = fs::read(&component.path)
        .with_context(|| format!("cannot read `{}`", component.path.display()))?;
    on_runtime(async {
        // Compiled code of a test is nobody else's: the folder goes with the command.
        let cache = tempfile::tempdir().context("cannot make a folder for compiled code")?;
        let runtime = Runtime::start(RuntimeSettings {
            cache: cache.path().to_owned(),
            // A fixed key: what a plugin draws from the call is the same in each run.
            host_key: [0; 32],
            compiler: CompilerCommand {
                program: std::env::current_exe().context("cannot tell where this program is")?,
                arguments: vec![COMPILE.into()],
            },
            ceilings: Ceilings::default(),
            hidden: Vec::new(),
        })?;
        let plugin = match runtime.load(&bytes, || ()).await {
            Ok(plugin) => plugin,
            Err(error) => {
                show::error(&format!("`{}` {error}", component.path.display()));
                return Ok(ExitCode::from(exit::REFUSED));
            }
        };
        let ready = began.elapsed();
        let results = run_all(&runtime, &plugin, &cases, arguments.json.json).await?;
        let failed = results.iter().filter(|result| !result.passed).count();
        if arguments.json.json {
            show::json(&results)?;
        } else {
            let micros = results.iter().map(|result| result.micros).sum();
            show::line(&format!(
                "{} of {} cases passed in {}, after {:.1} s of building",
                results.len() - failed,
                results.len(),
                show::plugin::millis(micros),
                ready.as_secs_f64()
            ));
        }
        Ok(ExitCode::from(if failed == 0 {
            exit::OK
        } else {
            exit::FAILED
        }))
    })
}

async fn run_all(
    runtime: &Runtime,
    plugin: &Arc<Plugin>,
    cases: &[Line],
    is_json: bool,
) -> anyhow::Result<Vec<CaseResult>> {
    let natives: Vec<ToolDefinition> = NativeTool::ALL
        .into_iter()
        .map(NativeTool::definition)
        .collect();
    let mut results = Vec::with_capacity(cases.len());
    for case in cases {
        let result = run_case(runtime, plugin, &natives, case).await?;
        if !is_json {
            show::plugin::case(&result);
        }
        results.push(result);
    }
    Ok(results)
}
