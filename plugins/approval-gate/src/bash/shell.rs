//! What a shell knows while it runs: variables, functions, positional parameters.

use std::rc::Rc;

use brush_parser::ast;

use crate::invocation::{MAX_VALUE, Word};

/// How many values a variable is followed with, when branches and loops give it several.
const MAX_ALTERNATIVES: usize = 4;

/// The state of one shell. Values are `None` where only running the command tells.
#[derive(Clone, Default)]
pub(super) struct Shell {
    variables: Vec<(String, Vec<Option<String>>)>,
    functions: Vec<(String, Rc<ast::FunctionBody>)>,
    /// The positional parameters, from `$1` on; `None` where unknown.
    pub(super) positional: Option<Vec<Word>>,
    /// How many branches, loops and functions surround what is being walked. Inside one,
    /// an assignment adds a value instead of replacing the one before.
    pub(super) branches: usize,
    /// The functions being walked.
    pub(super) calling: Vec<String>,
}

impl Shell {
    pub(super) fn assign(&mut self, name: &str, value: Option<String>) {
        let value = value.filter(|value| value.len() <= MAX_VALUE);
        let is_certain = self.branches == 0;
        match self.variables.iter_mut().find(|(known, _)| known == name) {
            Some((_, values)) if is_certain => *values = vec![value],
            Some((_, values)) => {
                if values.len() < MAX_ALTERNATIVES && !values.contains(&value) {
                    values.push(value);
                }
            }
            None => self.variables.push((name.to_owned(), vec![value])),
        }
    }

    /// Returns the values the variable may have. Empty: it comes from outside.
    pub(super) fn values(&self, name: &str) -> &[Option<String>] {
        let found = self.variables.iter().find(|(known, _)| known == name);
        found
            .map(|(_, values)| values.as_slice())
            .unwrap_or_default()
    }

    pub(super) fn define(&mut self, name: &str, body: &ast::FunctionBody) {
        self.functions.retain(|(known, _)| known != name);
        self.functions
            .push((name.to_owned(), Rc::new(body.clone())));
    }

    pub(super) fn function(&self, name: &str) -> Option<Rc<ast::FunctionBody>> {
        self.functions
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, body)| Rc::clone(body))
    }
}
