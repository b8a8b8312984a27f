//! Shells, and programs that hand text to a shell.

use super::{is_unknown, join};
use crate::base64;
use crate::classify::Walk;
use crate::invocation::{Dialect, Invocation, Word};
use crate::options::{Arguments, Grammar, Style};

static SHELL: Grammar = Grammar::LEADING.values("oO", &["rcfile", "init-file"]);
static GIT: Grammar =
    Grammar::LEADING.values("Cc", &["git-dir", "work-tree", "namespace", "config-env"]);

static POWERSHELL: Grammar = Grammar {
    style: Style::PowerShell,
    short_values: "",
    long_values: &[
        "ExecutionPolicy",
        "ep",
        "ex",
        "WindowStyle",
        "Version",
        "InputFormat",
        "if",
        "OutputFormat",
        "of",
        "ConfigurationName",
        "CustomPipeName",
        "SettingsFile",
        "WorkingDirectory",
        "wd",
        "PSConsoleFile",
    ],
    longs: &[
        "NoProfile",
        "nop",
        "NoLogo",
        "NoExit",
        "noe",
        "NonInteractive",
        "noni",
        "Interactive",
        "Login",
        "Sta",
        "Mta",
        "Command",
        "c",
        "EncodedCommand",
        "e",
        "ec",
        "enc",
        "File",
        "f",
        "Help",
    ],
    operand_values: &[],
};

/// Judges `sh -c TEXT`, and `sh` alone, which takes its code from the standard input.
pub(super) fn run_shell(walk: &mut Walk<'_>, words: &[Word], invocation: &Invocation<'_>) {
    let options = Arguments::read(words, &SHELL);
    let rest = words.get(options.rest..).unwrap_or_default();
    if options.has(&["n", "help", "version"]) && !options.has(&["c"]) {
        return;
    }
    if options.has(&["c"]) {
        if let Some((code, positional)) = rest.split_first()
            && !is_unknown(&code.text)
        {
            walk.shell_code(&code.text, positional, invocation.feed);
        }
        return;
    }
    let reads_input = rest.is_empty()
        || options.has(&["s"])
        || matches!(rest[0].text.as_str(), "/dev/stdin" | "-");
    if reads_input && let Some(code) = &invocation.feed.text {
        walk.code(code, Dialect::Bash, invocation.feed);
    }
}

/// Judges `pwsh -Command ...` and `powershell -EncodedCommand ...`.
pub(super) fn run_powershell(walk: &mut Walk<'_>, words: &[Word], invocation: &Invocation<'_>) {
    // `/Command` is the same as `-Command` here.
    let is_option = |word: &Word| word.text.len() > 1 && word.text.starts_with(['-', '/']);
    let mut index = 0;
    while let Some(word) = words.get(index).filter(|word| is_option(word)) {
        index += 1;
        let dashed = [Word::plain(format!("-{}", &word.text[1..]))];
        let read = Arguments::read(&dashed, &POWERSHELL);
        let Some(given) = read.options.first() else {
            continue;
        };
        match given.name {
            "Command" | "c" => break,
            "EncodedCommand" | "e" | "ec" | "enc" => {
                if let Some(code) = words
                    .get(index)
                    .and_then(|word| base64::decode_utf16(&word.text))
                {
                    walk.code(&code, Dialect::PowerShell, invocation.feed);
                }
                return;
            }
            "File" | "f" => return,
            name if POWERSHELL.long_values.contains(&name) => index += 1,
            _ => {}
        }
    }
    let code = join(words.get(index..).unwrap_or_default());
    let from_input = invocation
        .feed
        .text
        .as_deref()
        .filter(|_| code.is_empty() || code == "-");
    let code = from_input.unwrap_or(&code);
    if !is_unknown(code) {
        walk.code(code, Dialect::PowerShell, invocation.feed);
    }
}

/// Judges `cmd /c ...`; shells that rewrite paths need it spelled `//c`.
pub(super) fn run_cmd(walk: &mut Walk<'_>, words: &[Word], invocation: &Invocation<'_>) {
    let starts_code = |text: &str| {
        let switch = text.trim_start_matches('/');
        switch.len() < text.len() && switch.starts_with(['c', 'C', 'k', 'K', 'r', 'R'])
    };
    let Some(at) = words.iter().position(|word| starts_code(&word.text)) else {
        return;
    };
    let attached = words[at].text.trim_start_matches('/');
    let code = format!("{} {}", &attached[1..], join(&words[at + 1..]));
    walk.code(&code, Dialect::Cmd, invocation.feed);
}

/// Judges an alias that is given on the command line, and the commands git runs for each
/// submodule, commit or step.
pub(super) fn run_git(walk: &mut Walk<'_>, words: &[Word], invocation: &Invocation<'_>) {
    let options = Arguments::read(words, &GIT);
    let Some((subcommand, arguments)) = words.get(options.rest..).and_then(<[Word]>::split_first)
    else {
        return;
    };
    for given in options.options.iter().filter(|given| given.name == "c") {
        let alias = given.value.and_then(|value| value.strip_prefix("alias."));
        let Some((name, text)) = alias.and_then(|alias| alias.split_once('=')) else {
            continue;
        };
        if name.eq_ignore_ascii_case(&subcommand.text) {
            let code = match text.strip_prefix('!') {
                Some(command) => format!("{command} {}", join(arguments)),
                None => format!("git {text} {}", join(arguments)),
            };
            walk.code(&code, Dialect::Bash, invocation.feed);
        }
    }
    let code = match (
        subcommand.text.as_str(),
        arguments.first().map(|word| word.text.as_str()),
    ) {
        ("submodule", Some("foreach")) | ("bisect", Some("run")) => join(&arguments[1..]),
        _ => return,
    };
    walk.code(
        code.trim_start_matches("--recursive "),
        Dialect::Bash,
        invocation.feed,
    );
}
