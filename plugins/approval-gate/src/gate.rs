//! The guard: from a call to a verdict.

use damper_guest::{Call, Guard, JsonSchema, LocalizedText, Objection, Verdict};
use serde::Deserialize;

use crate::classify::{Context, classify};
use crate::finding::Finding;
use crate::invocation::Dialect;

/// How much of a command is quoted to the person who decides, in characters.
const MAX_QUOTED: usize = 400;

/// The settings of the row.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[schemars(crate = "damper_guest::schemars")]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Whether commands are judged at all.
    pub classify: bool,
    /// Names of further tools whose argument `command` is a shell command.
    pub shell_tools: Vec<String>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            classify: true,
            shell_tools: Vec::new(),
        }
    }
}

/// The guard that asks about destructive commands.
pub struct ApprovalGate {
    config: Config,
}

impl Guard for ApprovalGate {
    const ID: &'static str = "damper/approval-gate";

    type Config = Config;

    fn new(config: Config) -> Self {
        Self { config }
    }

    fn check(&self, call: &Call) -> Verdict {
        if !self.config.classify {
            return Verdict::Allow;
        }
        let Some((text, dialect)) = self.command(call) else {
            return Verdict::Allow;
        };
        let (cwd, home, roots, temp_roots) =
            (call.cwd(), call.home(), call.roots(), call.temp_roots());
        let context = Context {
            cwd: &cwd,
            home: home.as_deref(),
            roots: &roots,
            temp_roots: &temp_roots,
        };
        match classify(&text, dialect, &context).as_slice() {
            [] => Verdict::Allow,
            findings => Verdict::Ask(objection(findings, &text)),
        }
    }
}

impl ApprovalGate {
    /// Returns the command of the call: what the host says it is, or the argument of a
    /// tool that the row names.
    fn command(&self, call: &Call) -> Option<(String, Dialect)> {
        if let Some(command) = call.command() {
            return Some((command.text, dialect(&command.dialect)));
        }
        let tool = call.tool();
        if !self.config.shell_tools.contains(&tool) {
            return None;
        }
        let arguments: serde_json::Value = serde_json::from_str(&call.arguments()).ok()?;
        let text = arguments.get("command")?.as_str()?.to_owned();
        Some((text, dialect_of_tool(&tool)))
    }
}

/// A dialect that is not known here is read as bash, which most shells resemble.
fn dialect(dialect: &damper_guest::Dialect) -> Dialect {
    match dialect {
        damper_guest::Dialect::Powershell => Dialect::PowerShell,
        damper_guest::Dialect::Cmd => Dialect::Cmd,
        damper_guest::Dialect::Bash | damper_guest::Dialect::Other(_) => Dialect::Bash,
    }
}

fn dialect_of_tool(tool: &str) -> Dialect {
    let tool = tool.to_ascii_lowercase();
    if tool.contains("pwsh") || tool.contains("powershell") {
        Dialect::PowerShell
    } else if tool == "cmd" || tool.ends_with("_cmd") {
        Dialect::Cmd
    } else {
        Dialect::Bash
    }
}

/// Returns why a person should decide about `text`. `findings` is not empty.
fn objection(findings: &[Finding], text: &str) -> Objection {
    let first = &findings[0];
    let quoted = quote(text, first);
    let id = first.rule.id;
    let mut objection = Objection::new(
        id,
        format!("approval gate flagged a destructive shell command ({id}): {quoted}"),
    );
    objection.rules = findings
        .iter()
        .map(|finding| finding.rule.id.to_owned())
        .collect();
    objection.span = first.span.clone().map(Into::into);
    objection.effect = Some(first.rule.effect.words().to_owned());
    objection.display = vec![
        display(
            "en",
            &quoted,
            findings.iter().map(|finding| finding.rule.english),
        ),
        display(
            "zh-Hans",
            &quoted,
            findings.iter().map(|finding| finding.rule.chinese),
        ),
    ];
    objection
}

fn display<'a>(
    language: &str,
    quoted: &str,
    texts: impl Iterator<Item = &'a str>,
) -> LocalizedText {
    let mut text = texts.collect::<Vec<_>>().join("\n");
    text.push_str(if language == "en" { ": " } else { "：" });
    text.push_str(quoted);
    LocalizedText {
        language: language.to_owned(),
        text,
    }
}

/// Returns the command that matched, cut where it is too long to show.
fn quote(text: &str, finding: &Finding) -> String {
    let matched = finding
        .span
        .clone()
        .and_then(|span| text.get(span))
        .unwrap_or(text);
    match matched.char_indices().nth(MAX_QUOTED) {
        Some((end, _)) => format!("{}…", &matched[..end]),
        None => matched.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use damper_guest::{Call, Guard, Verdict};

    use super::{ApprovalGate, Config};

    fn verdict(call: &Call) -> Verdict {
        ApprovalGate::new(Config::default()).check(call)
    }

    #[test]
    fn says_what_matched_where_and_why_in_two_languages() {
        let call = Call::new("bash").with_command("ls && rm -rf build");
        let verdict = verdict(&call);
        let objection = verdict.objection().expect("it asks");
        assert_eq!(objection.rules, ["rm-recursive-force"]);
        assert_eq!(
            objection.reason,
            "approval gate flagged a destructive shell command (rm-recursive-force): rm -rf build"
        );
        let span = objection.span.expect("it is known");
        assert_eq!((span.start, span.end), (6, 18));
        assert_eq!(
            objection.effect.as_deref(),
            Some("deletes recursively or by force")
        );
        let texts: Vec<_> = objection
            .display
            .iter()
            .map(|display| (display.language.as_str(), display.text.as_str()))
            .collect();
        assert_eq!(
            texts,
            [
                ("en", "Deletes files recursively or by force: rm -rf build"),
                ("zh-Hans", "递归或强制删除文件：rm -rf build"),
            ]
        );
    }

    #[test]
    fn lets_harmless_commands_and_other_tools_go() {
        assert_eq!(
            verdict(&Call::new("bash").with_command("ls -la")),
            Verdict::Allow
        );
        assert_eq!(verdict(&Call::new("read")), Verdict::Allow);
    }

    #[test]
    fn judges_nothing_when_told_so() {
        let gate = ApprovalGate::new(Config {
            classify: false,
            ..Config::default()
        });
        assert_eq!(
            gate.check(&Call::new("bash").with_command("rm -rf x")),
            Verdict::Allow
        );
    }

    #[test]
    fn refuses_settings_it_does_not_know() {
        let settings = damper_guest::read_config::<Config>(r#"{"shell_tools": ["run"]}"#)
            .expect("it is right");
        assert!(settings.classify);
        assert_eq!(settings.shell_tools, ["run"]);
        let error = damper_guest::read_config::<Config>(r#"{"clasify": false}"#)
            .expect_err("it is misspelt");
        assert_eq!(error.pointer, "/clasify");
    }
}
