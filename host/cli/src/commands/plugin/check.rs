//! `damper plugin check`

use std::process::ExitCode;

use damper_kit::Report;
use serde::Serialize;

use crate::{arguments::CheckArguments, exit, show};

/// A report, for programs.
#[derive(Serialize)]
struct ReportView<'a> {
    verdict: &'static str,
    #[serde(flatten)]
    report: &'a Report,
}

pub(super) fn run(arguments: &CheckArguments) -> anyhow::Result<ExitCode> {
    let reports = arguments
        .files
        .iter()
        .map(|file| damper_kit::check(file))
        .collect::<anyhow::Result<Vec<Report>>>()?;
    if arguments.json.json {
        let views: Vec<ReportView<'_>> = reports.iter().map(view).collect();
        show::json(&views)?;
    } else {
        for report in &reports {
            show::line(&format!("{}: {}", report.file.display(), verdict(report)));
            show::plugin::summary(report);
        }
    }
    let exists = |report: &Report| report.file.exists();
    let code = if reports.iter().all(|report| !report.is_refused()) {
        exit::OK
    } else if reports
        .iter()
        .any(|report| report.is_refused() && exists(report))
    {
        exit::REFUSED
    } else {
        exit::NOT_FOUND
    };
    Ok(ExitCode::from(code))
}

fn view(report: &Report) -> ReportView<'_> {
    ReportView {
        verdict: verdict(report),
        report,
    }
}

fn verdict(report: &Report) -> &'static str {
    if report.is_refused() {
        "refused"
    } else {
        "fine"
    }
}
