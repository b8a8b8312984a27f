//! A guard that parses the command, as the approval gate does, and judges nothing: what the
//! gate's own work is measured against.

use std::hint::black_box;

use brush_parser::{ParserOptions, TokenizerOptions, parse_tokens, uncached_tokenize_str};
use damper_guest::{Call, Guard, NoConfig, Verdict, export_guard};

struct ParseAlone;

impl Guard for ParseAlone {
    const ID: &'static str = "test/parse-alone";

    type Config = NoConfig;

    fn new(_: NoConfig) -> Self {
        Self
    }

    fn check(&self, call: &Call) -> Verdict {
        let Some(command) = call.command() else {
            return Verdict::Allow;
        };
        if let Ok(tokens) = uncached_tokenize_str(&command.text, &TokenizerOptions::default()) {
            // Whether it can be parsed is not the question.
            drop(black_box(parse_tokens(&tokens, &ParserOptions::default())));
        }
        Verdict::Allow
    }
}

export_guard!(ParseAlone);
