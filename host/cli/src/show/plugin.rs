//! Plugins, as people see them. What a plugin says of itself cannot look like a line of ours.

use damper_kit::{CaseResult, Report, Setting, Surface, Weight};

use super::{LINE, line, one_line, safe};
use crate::commands::ListedView;

/// Prints what a component is and what it asks for, then what is wrong with it.
pub(crate) fn summary(report: &Report) {
    if let Some(manifest) = &report.manifest {
        field("plugin", &format!("{} {}", manifest.id, manifest.version));
        let built_for = format!(
            "contract {}; this host serves {}",
            manifest.api, report.host_api
        );
        field("for", &built_for);
        list_field("hooks", &damper_kit::hooks(manifest), "none");
        list_field("grants", &damper_kit::asked_grants(manifest), "none asked");
        list_field(
            "limits",
            &damper_kit::asked_limits(manifest),
            "the defaults",
        );
    }
    if let Some(bytes) = report.bytes {
        field("size", &size(bytes));
    }
    if let Some(digest) = report.digest {
        field("digest", &digest.to_string());
    }
    findings(report);
}

fn findings(report: &Report) {
    for finding in &report.findings {
        let word = match finding.weight {
            Weight::Refused => "refused",
            Weight::Remark => "remark",
        };
        field(word, &finding.what);
        field("", &format!("-> {}", finding.way_out));
    }
}

/// Prints what became of a case, and of one that failed all that was not as expected.
pub(crate) fn case(case: &CaseResult) {
    let word = if case.passed { "ok" } else { "FAILED" };
    line(&format!(
        "{word:<7} {}  {}  ({})",
        case.place,
        one_line(&case.name),
        millis(case.micros)
    ));
    for difference in &case.differences {
        // Its values are JSON, in which nothing begins a new line.
        let difference: String = safe(&difference.to_string()).chars().take(LINE).collect();
        line(&format!("          {difference}"));
    }
    if !case.passed && !case.log.is_empty() {
        line(&format!("          its log: {}", one_line(&case.log)));
    }
}

/// Returns a time as people read it.
pub(crate) fn millis(micros: u64) -> String {
    format!("{}.{} ms", micros / 1_000, micros % 1_000 / 100)
}

/// Prints all that a plugin says about itself.
pub(crate) fn whole(report: &Report, settings: &[Setting]) {
    line(&one_line(&report.file.display().to_string()));
    if let Some(manifest) = &report.manifest {
        field("about", &manifest.description);
    }
    summary(report);
    surface("imports", &report.imports);
    surface("exports", &report.exports);
    if !settings.is_empty() {
        line("\nconfig of its row:");
        let mut rows = vec![["key", "holds", "default", "meaning"].map(str::to_owned)];
        rows.extend(settings.iter().map(|setting| {
            let default = setting.default.as_deref().unwrap_or("(required)");
            [&setting.key, &setting.holds, default, &setting.meaning].map(one_line)
        }));
        table(&rows);
    }
    let texts = report.manifest.as_ref().map(|manifest| &manifest.texts);
    if let Some(texts) = texts
        && !texts.is_empty()
    {
        line("\ntexts:");
        for (rule, text) in texts {
            line(&format!(
                "  {}: {}",
                one_line(rule),
                one_line(&text.to_string())
            ));
        }
    }
}

fn surface(name: &str, interfaces: &[Surface]) {
    for (index, interface) in interfaces.iter().enumerate() {
        let functions = if interface.functions.is_empty() {
            String::new()
        } else {
            format!(": {}", interface.functions.join(", "))
        };
        let name = if index == 0 { name } else { "" };
        field(name, &format!("{}{functions}", interface.interface));
    }
}

/// Prints plugins, a line each, and below it why one would be refused.
pub(crate) fn list(plugins: &[ListedView]) {
    let mut rows = vec![
        [
            "plugin", "version", "hooks", "found", "rows", "digest", "file",
        ]
        .map(str::to_owned),
    ];
    rows.extend(plugins.iter().map(|plugin| {
        let digest = plugin.digest.map(|digest| digest.to_string());
        [
            one_line(plugin.id.as_deref().unwrap_or("?")),
            one_line(plugin.version.as_deref().unwrap_or("?")),
            plugin.hooks.join(","),
            plugin.found.name().to_owned(),
            or_dash(&plugin.rows.join(",")),
            digest.map_or_else(
                || "-".to_owned(),
                |digest| digest.chars().take(19).collect(),
            ),
            one_line(&plugin.file.display().to_string()),
        ]
    }));
    table(&rows);
    for plugin in plugins {
        if let Some(why) = &plugin.refused {
            let file = plugin.file.display().to_string();
            line(&format!("{}: refused: {}", one_line(&file), one_line(why)));
        }
    }
}

fn or_dash(text: &str) -> String {
    if text.is_empty() {
        "-".to_owned()
    } else {
        one_line(text)
    }
}

fn field(name: &str, text: &str) {
    line(&format!("  {name:<8} {}", one_line(text)));
}

fn list_field(name: &str, entries: &[String], none: &str) {
    if entries.is_empty() {
        field(name, none);
    } else {
        field(name, &entries.join("; "));
    }
}

/// Prints columns as wide as their widest cell; the last may be as long as it likes.
fn table<const COLUMNS: usize>(rows: &[[String; COLUMNS]]) {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..COLUMNS).map(width).collect();
    for row in rows {
        let cells: Vec<String> = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:<width$}"))
            .collect();
        line(&format!("  {}", cells.join("  ").trim_end()));
    }
}

fn size(bytes: u64) -> String {
    if bytes >= 1 << 20 {
        format!(
            "{bytes} bytes ({:.1} MiB)",
            bytes as f64 / f64::from(1 << 20)
        )
    } else {
        format!("{bytes} bytes ({} KiB)", bytes.div_ceil(1024))
    }
}
