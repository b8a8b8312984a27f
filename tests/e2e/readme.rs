//! The commands of the README, run as they stand there.
//!
//! Blocks fenced as `console` are run in order. A line `$ COMMAND` is given to bash, the lines
//! below it are what it must print, on stdout and stderr together. `...` in a line stands for
//! anything, a line that is only `...` for any number of lines. A block fenced as
//! `console second terminal` goes on while the next block runs; there a line `> TEXT` is typed.
//! A block fenced as `console needs PROGRAM` is left out where that program is missing.

use std::{
    fs,
    io::BufRead as _,
    process::{Command, Stdio},
    sync::mpsc,
    time::{Duration, Instant},
};

use damper_tests::{Host, Piped, damper, root};

/// How long an edit by hand may take until status tells of it. Readers look again, too.
const PATIENCE: Duration = Duration::from_secs(20);

/// One fenced block.
#[derive(Debug)]
struct Block {
    /// What follows `console` on the fence.
    kind: String,
    steps: Vec<Step>,
}

/// One command and what it must print.
#[derive(Debug)]
struct Step {
    command: String,
    expected: Vec<String>,
}

#[test]
fn every_command_of_the_readme_does_what_it_says() {
    let mut host = Host::stopped();
    host.arguments(&["--http", "127.0.0.1:0"]);
    host.serve();
    let text = fs::read_to_string(root().join("README.md")).unwrap();
    let blocks = blocks(&text);
    assert!(blocks.len() > 8, "the walk is gone: {blocks:?}");
    let mut aside: Option<Aside> = None;
    for block in &blocks {
        match block.kind.split_once(' ') {
            Some(("second", "terminal")) => {
                aside = Some(Aside::start(&host, block));
                continue;
            }
            Some(("needs", program)) if !is_there(program) => continue,
            _ => block.steps.iter().for_each(|step| check(&host, step)),
        }
        if let Some(aside) = aside.take() {
            aside.join();
        }
    }
}

fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(kind) = line.strip_prefix("```console") else {
            continue;
        };
        let mut block = Block {
            kind: kind.trim().to_owned(),
            steps: Vec::new(),
        };
        for line in lines.by_ref().take_while(|line| *line != "```") {
            match (line.strip_prefix("$ "), block.steps.last_mut()) {
                (Some(command), _) => block.steps.push(Step {
                    command: command.to_owned(),
                    expected: Vec::new(),
                }),
                (None, Some(step)) => step.expected.push(line.to_owned()),
                (None, None) => panic!("no command before `{line}`"),
            }
        }
        blocks.push(block);
    }
    blocks
}

#[expect(
    clippy::print_stdout,
    reason = "what a test leaves out is told where the test's output is read"
)]
fn is_there(program: &str) -> bool {
    let found = Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .status();
    if found.is_err() {
        println!("skipped: a block of the README needs `{program}`, which is not here");
    }
    found.is_ok()
}

/// Returns bash, ready for a command of the README.
fn bash(host: &Host, command: &str) -> Command {
    let folder = damper().parent().unwrap().to_owned();
    let path = std::env::var("PATH").unwrap();
    let mut bash = Command::new("bash");
    bash.args(["-c", &format!("exec 2>&1\n{command}")])
        .current_dir(host.work())
        .env("PATH", format!("{}:{path}", folder.display()))
        .env("DAMPER_HOME", host.home())
        .env("GUESTS", root().join("target/guests"))
        .env("LC_ALL", "C.UTF-8")
        .env_remove("XDG_RUNTIME_DIR");
    bash
}

fn check(host: &Host, step: &Step) {
    // What only looks may be done again, until an edit by hand has been noticed.
    let looks = step.command == "damper status";
    let began = Instant::now();
    loop {
        let output = bash(host, &step.command)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<&str> = printed.lines().collect();
        if lines_match(&step.expected, &lines) {
            return;
        }
        assert!(
            looks && began.elapsed() < PATIENCE,
            "$ {}\n--- the README says\n{}\n--- it printed\n{printed}",
            step.command,
            step.expected.join("\n"),
        );
    }
}

/// A command in a second terminal.
struct Aside(std::thread::JoinHandle<()>);

impl Aside {
    /// Starts it and waits for its first line.
    fn start(host: &Host, block: &Block) -> Self {
        let [step] = block.steps.as_slice() else {
            panic!("one command in a second terminal: {block:?}");
        };
        let mut command = bash(host, &format!("exec {}", step.command));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = Piped::new(&mut command);
        let expected = step.expected.clone();
        let (began, has_begun) = mpsc::channel();
        let following = std::thread::spawn(move || {
            for pattern in expected {
                if let Some(typed) = pattern.strip_prefix("> ") {
                    process.type_line(typed);
                    continue;
                }
                let mut line = String::new();
                process.stdout.read_line(&mut line).unwrap();
                assert!(
                    line_matches(&pattern, line.trim_end_matches('\n')),
                    "in the second terminal the README says\n{pattern}\nit printed\n{line}"
                );
                if began.send(()).is_err() {
                    // Only the first line is waited for.
                    continue;
                }
            }
        });
        has_begun.recv().unwrap();
        Self(following)
    }

    fn join(self) {
        assert!(self.0.join().is_ok(), "the second terminal went wrong");
    }
}

fn lines_match(patterns: &[String], lines: &[&str]) -> bool {
    let Some((pattern, rest)) = patterns.split_first() else {
        return lines.is_empty();
    };
    if pattern == "..." {
        return (0..=lines.len()).any(|skipped| lines_match(rest, &lines[skipped..]));
    }
    match lines.split_first() {
        Some((line, others)) => line_matches(pattern, line) && lines_match(rest, others),
        None => false,
    }
}

/// Ends of lines are trimmed: nobody sees them.
fn line_matches(pattern: &str, line: &str) -> bool {
    let mut parts = pattern.trim_end().split("...");
    let Some(mut rest) = line.trim_end().strip_prefix(parts.next().unwrap_or("")) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else {
        return rest.is_empty();
    };
    for part in middle {
        match rest.split_once(part) {
            Some((_any, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[test]
fn dots_stand_for_anything() {
    let table = [
        ("a", "a", true),
        ("a", "ab", false),
        ("a...", "abc", true),
        ("a...c", "abbc", true),
        ("a...c", "abbd", false),
        ("...b...", "abc", true),
        ("a...b...c", "axbyc", true),
        ("a...b...c", "axc", false),
    ];
    for (pattern, line, expected) in table {
        assert_eq!(line_matches(pattern, line), expected, "{pattern} {line}");
    }
    let pattern = ["a", "...", "d"].map(str::to_owned);
    assert!(lines_match(&pattern, &["a", "b", "c", "d"]));
    assert!(lines_match(&pattern, &["a", "d"]));
    assert!(!lines_match(&pattern, &["a", "b"]));
}
