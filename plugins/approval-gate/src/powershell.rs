//! PowerShell: statements, pipelines and the script blocks in them.
//!
//! Everything in braces and parentheses is judged as code, whether or not the command
//! it is given to runs it. That can only add questions.

mod extent;
mod lexer;

use crate::classify::Walk;
use crate::families::REMOVE_ITEM_RULE;
use crate::invocation::{Dialect, Feed, Invocation, MAX_VALUE, UNKNOWN, Word, program_name};
use lexer::{End, Item, Kind, Lexer};

/// Words that lead to a statement and do not begin a command.
const LEADING_KEYWORDS: &[&str] = &[
    "return", "throw", "exit", "else", "do", "try", "finally", "begin", "process", "end",
];

/// Commands that hand on what they get, so that a listed tree stays one.
const LISTS: &[&str] = &["get-childitem", "gci", "dir", "ls"];

/// Judges a text.
pub(crate) fn walk(walk: &mut Walk<'_>, text: &str, feed: &Feed) {
    let mut variables = Vec::new();
    statements(walk, text, &mut variables, feed);
}

/// Strings that variables are known to hold.
type Variables = Vec<(String, String)>;

fn statements(walk: &mut Walk<'_>, text: &str, variables: &mut Variables, feed: &Feed) {
    let mut lexer = Lexer::new(text);
    let mut piped = feed.clone();
    loop {
        let (items, end, range) = lexer.command(variables);
        if walk.is_outermost() && !items.is_empty() {
            walk.span = Some(range);
        }
        let lists_tree = command(walk, &items, variables, &piped);
        match end {
            End::Pipe => piped.lists_tree |= lists_tree,
            End::Statement => piped = feed.clone(),
            End::Text => return,
        }
    }
}

/// Judges one command of a pipeline; returns whether it hands on a tree of files.
fn command(walk: &mut Walk<'_>, items: &[Item], variables: &mut Variables, feed: &Feed) -> bool {
    let mut rest = items;
    while let Some((first, after)) = rest.split_first()
        && first.kind == Kind::Bare
        && LEADING_KEYWORDS
            .iter()
            .any(|word| word.eq_ignore_ascii_case(&first.word.text))
    {
        rest = after;
    }
    if let Some(value) = assigned(rest, variables) {
        return command(walk, value, variables, feed);
    }
    nested(walk, rest, variables, feed);
    if deletes_tree(rest) {
        walk.report(&REMOVE_ITEM_RULE);
    }
    let Some(words) = command_words(rest) else {
        return false;
    };
    walk.invoke(&Invocation {
        words: &words,
        dialect: Dialect::PowerShell,
        feed,
        open_ended: false,
    });
    let name = program_name(&words[0].text, Dialect::PowerShell);
    LISTS.contains(&name.as_str()) && words[1..].iter().any(is_recurse)
}

/// Judges the code in braces, parentheses and strings.
fn nested(walk: &mut Walk<'_>, items: &[Item], variables: &mut Variables, feed: &Feed) {
    for code in items.iter().flat_map(|item| &item.codes) {
        let known = &mut *variables;
        walk.enter(code, |walk| statements(walk, code, known, feed));
    }
}

/// Returns the items after `$x =`, and remembers a constant string.
fn assigned<'i>(items: &'i [Item], variables: &mut Variables) -> Option<&'i [Item]> {
    let [target, operator, value @ ..] = items else {
        return None;
    };
    let assigns = matches!(operator.word.text.as_str(), "=" | "+=" | "-=" | "??=")
        && operator.kind == Kind::Bare;
    if !assigns || !matches!(target.kind, Kind::Variable | Kind::Bracketed) {
        return None;
    }
    if let [only] = value
        && only.kind == Kind::Quoted
        && only.word.is_constant()
        && only.word.text.len() <= MAX_VALUE
        && let Some(name) = &target.name
    {
        variables.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        variables.push((name.clone(), only.word.text.clone()));
    }
    Some(value)
}

/// Returns the words of a command, or none where the items are an expression.
fn command_words(items: &[Item]) -> Option<Vec<Word>> {
    let (first, rest) = items.split_first()?;
    let calls = first.kind == Kind::Bare && matches!(first.word.text.as_str(), "&" | ".");
    let items = if calls { rest } else { items };
    let first = items.first()?;
    let is_command = match first.kind {
        Kind::Bare => {
            !first.word.text.starts_with(['-', '!', '='])
                && !first.word.text.starts_with(|c: char| c.is_ascii_digit())
        }
        Kind::Quoted | Kind::Variable | Kind::Group => calls,
        Kind::Block | Kind::Bracketed => false,
    };
    is_command.then(|| items.iter().map(|item| item.word.clone()).collect())
}

/// Returns whether an expression deletes a tree, as `[IO.Directory]::Delete("x", $true)`.
fn deletes_tree(items: &[Item]) -> bool {
    items.windows(2).any(|pair| {
        let method = pair[0].word.text.to_ascii_lowercase();
        let arguments = pair[1].word.text.to_ascii_lowercase();
        pair[1].kind == Kind::Group
            && (method.ends_with("directory]::delete") || method.ends_with(".delete"))
            && arguments.contains("$true")
            || method.ends_with("]::deletedirectory")
    })
}

fn is_recurse(word: &Word) -> bool {
    let text = word.text.to_ascii_lowercase();
    let name = text.split(':').next().unwrap_or(&text);
    !word.quoted && name.len() > 1 && "-recurse".starts_with(name) || name == "-s" || name == "-r"
}

/// Returns a word that stands for a value only known at run time.
fn unknown() -> Word {
    Word {
        text: UNKNOWN.to_string(),
        ..Word::default()
    }
}
