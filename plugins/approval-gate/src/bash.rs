//! bash and its relatives: the parser's syntax tree, walked in the order things execute.

mod braces;
mod command;
mod extent;
mod output;
mod scan;
mod shell;
mod words;

use std::ops::Range;

use brush_parser::ast::{self, Command, CommandPrefixOrSuffixItem as Item, CompoundCommand};
use brush_parser::{ParserOptions, TokenizerOptions};

use crate::classify::Walk;
use crate::families;
use crate::finding::{PARSE_ERROR, TOO_DEEP, TOO_LARGE};
use crate::invocation::{Feed, Word};
use scan::Refusal;
use shell::Shell;
use words::{Cook, Found};

/// Judges a text, run by a new shell that is given `positional` (its `$0` first).
pub(crate) fn walk(walk: &mut Walk<'_>, text: &str, positional: &[Word], feed: &Feed) {
    let mut shell = Shell::default();
    if let Some((_, parameters)) = positional.split_first() {
        shell.positional = Some(parameters.to_vec());
    }
    walk_in(walk, &mut shell, text, feed);
}

/// Judges a text, run by a shell that is already running.
fn walk_in(walk: &mut Walk<'_>, shell: &mut Shell, text: &str, feed: &Feed) {
    match parse(text) {
        Ok(program) => {
            let mut reader = Reader { walk, shell, text };
            for list in &program.complete_commands {
                reader.list(list, feed);
            }
        }
        Err(Refusal::TooDeep) => walk.report(&TOO_DEEP),
        Err(Refusal::TooLarge) => walk.report(&TOO_LARGE),
        // What no shell can read does not run, but a shell may read what this parser
        // cannot. So only a text that could do harm by the table's programs asks.
        Err(Refusal::Malformed) if families::mentions_program(text) => walk.report(&PARSE_ERROR),
        Err(Refusal::Malformed) => {}
    }
}

fn parse(text: &str) -> Result<ast::Program, Refusal> {
    if scan::expansions_too_deep(text) {
        return Err(Refusal::TooDeep);
    }
    let options = ParserOptions::default();
    let tokens = brush_parser::uncached_tokenize_str(text, &TokenizerOptions::default());
    let tokens = tokens.map_err(|_unreadable| Refusal::Malformed)?;
    if let Some(refusal) = scan::refuse(&tokens) {
        return Err(refusal);
    }
    brush_parser::parse_tokens(&tokens, &options).map_err(|_unreadable| Refusal::Malformed)
}

struct Reader<'r, 'w> {
    walk: &'r mut Walk<'w>,
    shell: &'r mut Shell,
    /// The text that locations in the tree refer to.
    text: &'r str,
}

impl Reader<'_, '_> {
    fn list(&mut self, list: &ast::CompoundList, feed: &Feed) {
        for ast::CompoundListItem(and_or, _) in &list.0 {
            self.pipeline(&and_or.first, feed);
            for more in &and_or.additional {
                let (ast::AndOr::And(pipeline) | ast::AndOr::Or(pipeline)) = more;
                self.shell.branches += 1;
                self.pipeline(pipeline, feed);
                self.shell.branches -= 1;
            }
        }
    }

    fn pipeline(&mut self, pipeline: &ast::Pipeline, feed: &Feed) {
        let mut feed = feed.clone();
        for command in &pipeline.seq {
            let printed = self.command(command, &feed);
            feed = Feed {
                text: printed,
                ..Feed::default()
            };
        }
    }

    /// Walks a command; returns what it prints, where that is constant.
    fn command(&mut self, command: &Command, feed: &Feed) -> Option<String> {
        match command {
            Command::Simple(simple) => return self.simple(simple, feed),
            Command::Compound(compound, redirects) => {
                let feed = self.redirects(redirects.as_ref(), feed);
                self.compound(compound, &feed);
            }
            Command::Function(function) => {
                self.shell.define(&function.fname.value, &function.body);
                let parameters = self.shell.positional.take();
                self.branch(|reader| reader.compound(&function.body.0, feed));
                self.shell.positional = parameters;
            }
            Command::ExtendedTest(test, redirects) => {
                self.test(&test.expr);
                self.redirects(redirects.as_ref(), feed);
            }
        }
        None
    }

    fn compound(&mut self, compound: &CompoundCommand, feed: &Feed) {
        let (text, shell) = (self.text, &mut *self.shell);
        self.walk
            .deeper(|walk| Reader { walk, shell, text }.compound_inside(compound, feed));
    }

    fn compound_inside(&mut self, compound: &CompoundCommand, feed: &Feed) {
        match compound {
            CompoundCommand::Arithmetic(arithmetic) => self.arithmetic(arithmetic, feed),
            CompoundCommand::ArithmeticForClause(clause) => {
                let expressions = [&clause.initializer, &clause.condition, &clause.updater];
                let expressions = expressions.into_iter().flatten();
                expressions.for_each(|expression| self.codes_of(&expression.value));
                self.branch(|reader| reader.list(&clause.body.list, feed));
            }
            CompoundCommand::BraceGroup(group) => self.list(&group.list, feed),
            CompoundCommand::Subshell(subshell) => self.list(&subshell.list, feed),
            CompoundCommand::ForClause(clause) => self.for_clause(clause, feed),
            CompoundCommand::CaseClause(clause) => self.case_clause(clause, feed),
            CompoundCommand::IfClause(clause) => self.if_clause(clause, feed),
            CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => self
                .branch(|reader| {
                    reader.list(&clause.0, feed);
                    reader.list(&clause.1.list, feed);
                }),
            CompoundCommand::Coprocess(coprocess) => {
                self.command(&coprocess.body, feed);
            }
        }
    }

    /// Walks `((...))`. The parser takes `( (...) )` for the same, which is a subshell in one.
    fn arithmetic(&mut self, arithmetic: &ast::ArithmeticCommand, feed: &Feed) {
        let start = byte_range(
            self.text,
            arithmetic.loc.start.index,
            arithmetic.loc.end.index,
        );
        let written = start
            .and_then(|range| self.text.get(range))
            .unwrap_or_default();
        if written.starts_with("((") {
            self.codes_of(&arithmetic.expr.value);
            return;
        }
        let mut shell = self.shell.clone();
        self.code(&arithmetic.expr.value, &mut shell, feed);
    }

    fn branch(&mut self, walk: impl FnOnce(&mut Self)) {
        self.shell.branches += 1;
        walk(self);
        self.shell.branches -= 1;
    }

    fn case_clause(&mut self, clause: &ast::CaseClauseCommand, feed: &Feed) {
        self.codes_of_words([&clause.value]);
        for case in &clause.cases {
            self.codes_of_words(&case.patterns);
            if let Some(list) = &case.cmd {
                self.branch(|reader| reader.list(list, feed));
            }
        }
    }

    fn if_clause(&mut self, clause: &ast::IfClauseCommand, feed: &Feed) {
        self.list(&clause.condition, feed);
        self.branch(|reader| reader.list(&clause.then, feed));
        for part in clause.elses.iter().flatten() {
            self.branch(|reader| {
                let condition = part.condition.iter();
                condition
                    .chain([&part.body])
                    .for_each(|list| reader.list(list, feed));
            });
        }
    }

    fn for_clause(&mut self, clause: &ast::ForClauseCommand, feed: &Feed) {
        let values = self.cook(clause.values.iter().flatten(), 0).0;
        self.branch(|reader| {
            if clause.values.is_none() {
                reader.shell.assign(&clause.variable_name, None);
            }
            for value in values {
                let value = value.is_constant().then_some(value.text);
                reader.shell.assign(&clause.variable_name, value);
            }
            reader.list(&clause.body.list, feed);
        });
    }

    fn test(&mut self, test: &ast::ExtendedTestExpr) {
        match test {
            ast::ExtendedTestExpr::And(left, right) | ast::ExtendedTestExpr::Or(left, right) => {
                self.test(left);
                self.test(right);
            }
            ast::ExtendedTestExpr::Not(inner) | ast::ExtendedTestExpr::Parenthesized(inner) => {
                self.test(inner)
            }
            ast::ExtendedTestExpr::UnaryTest(_, word) => self.codes_of_words([word]),
            ast::ExtendedTestExpr::BinaryTest(_, left, right) => self.codes_of_words([left, right]),
        }
    }

    /// Walks redirections and process substitutions; returns what the command reads.
    fn items(&mut self, simple: &ast::SimpleCommand, feed: &Feed) -> Feed {
        let mut feed = feed.clone();
        let prefix = simple.prefix.iter().flat_map(|prefix| &prefix.0);
        let suffix = simple.suffix.iter().flat_map(|suffix| &suffix.0);
        for item in prefix.chain(suffix) {
            match item {
                Item::IoRedirect(redirect) => self.redirect(redirect, &mut feed),
                Item::ProcessSubstitution(_, subshell) => self.subshell(subshell),
                Item::Word(_) | Item::AssignmentWord(..) => {}
            }
        }
        feed
    }

    fn subshell(&mut self, subshell: &ast::SubshellCommand) {
        let (text, shell) = (self.text, &mut *self.shell);
        self.walk
            .deeper(|walk| Reader { walk, shell, text }.list(&subshell.list, &Feed::default()));
    }

    fn redirects(&mut self, redirects: Option<&ast::RedirectList>, feed: &Feed) -> Feed {
        let mut feed = feed.clone();
        for redirect in redirects.iter().flat_map(|list| &list.0) {
            self.redirect(redirect, &mut feed);
        }
        feed
    }

    fn redirect(&mut self, redirect: &ast::IoRedirect, feed: &mut Feed) {
        let is_input =
            |descriptor: &Option<i32>| descriptor.is_none_or(|descriptor| descriptor == 0);
        match redirect {
            ast::IoRedirect::File(
                _,
                _,
                ast::IoFileRedirectTarget::ProcessSubstitution(_, subshell),
            ) => {
                self.subshell(subshell);
            }
            ast::IoRedirect::File(
                _,
                _,
                ast::IoFileRedirectTarget::Filename(word)
                | ast::IoFileRedirectTarget::Duplicate(word),
            )
            | ast::IoRedirect::OutputAndError(word, _) => self.codes_of_words([word]),
            ast::IoRedirect::File(_, _, ast::IoFileRedirectTarget::Fd(_)) => {}
            ast::IoRedirect::HereString(descriptor, word) => {
                let text = self.whole(&word.value).text;
                if is_input(descriptor) {
                    feed.text = Some(text);
                }
            }
            ast::IoRedirect::HereDocument(descriptor, document) => {
                let text = match document.requires_expansion {
                    true => self.heredoc(&document.doc.value),
                    false => document.doc.value.clone(),
                };
                if is_input(descriptor) {
                    feed.text = Some(text);
                }
            }
        }
    }

    /// Cooks words and walks the code in them; returns them and how many rounds they need.
    fn cook<'t>(
        &mut self,
        raw: impl IntoIterator<Item = &'t ast::Word>,
        round: usize,
    ) -> (Vec<Word>, usize) {
        let mut cook = Cook::new(self.shell, self.walk.context, round);
        for word in raw {
            cook.command_word(&word.value);
        }
        let (words, alternatives) = (cook.take_words(), cook.alternatives);
        let found = cook.found();
        self.substitutions(&found);
        (words, alternatives)
    }

    fn whole(&mut self, raw: &str) -> Word {
        let mut cook = Cook::new(self.shell, self.walk.context, 0);
        let word = cook.whole(raw);
        let found = cook.found();
        self.substitutions(&found);
        word
    }

    fn heredoc(&mut self, raw: &str) -> String {
        let mut cook = Cook::new(self.shell, self.walk.context, 0);
        let text = cook.heredoc(raw).text;
        let found = cook.found();
        self.substitutions(&found);
        text
    }

    fn codes_of_words<'t>(&mut self, raw: impl IntoIterator<Item = &'t ast::Word>) {
        for word in raw {
            if word.value.contains(['$', '`']) {
                self.whole(&word.value);
            }
        }
    }

    fn codes_of(&mut self, text: &str) {
        let mut cook = Cook::new(self.shell, self.walk.context, 0);
        cook.collect_codes(text);
        let found = cook.found();
        self.substitutions(&found);
    }

    fn substitutions(&mut self, found: &Found) {
        if let Some(rule) = found.refused {
            self.walk.report(rule);
        }
        for code in &found.codes {
            // A substitution is a shell of its own, which knows all that this one does.
            let mut shell = self.shell.clone();
            self.code(code, &mut shell, &Feed::default());
        }
    }

    fn code(&mut self, text: &str, shell: &mut Shell, feed: &Feed) {
        self.walk
            .enter(text, |walk| walk_in(walk, shell, text, feed));
    }
}

/// Turns a range of characters into one of bytes.
fn byte_range(text: &str, start: usize, end: usize) -> Option<Range<usize>> {
    if text.is_ascii() {
        return (start <= end && end <= text.len()).then_some(start..end);
    }
    let mut offsets = text
        .char_indices()
        .map(|(offset, _)| offset)
        .chain([text.len()]);
    let first = offsets.nth(start)?;
    let last = if end > start {
        offsets.nth(end - start - 1)?
    } else {
        first
    };
    Some(first..last)
}
