//! The two children that a host starts from its own binary: the compiler and the shell's
//! supervisor. No argument line of a person leads here.

use std::{ffi::OsString, path::Path, process::ExitCode};

/// The subcommand of the child that compiles a component.
pub(crate) const COMPILE: &str = "__compile";

/// Runs the hidden child that the argument line names, if it names one.
pub(crate) fn run_if_asked() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    let command = arguments.next()?;
    if command == COMPILE {
        return Some(compile(&arguments.collect::<Vec<_>>()));
    }
    (command == damper_tools::SHELL_SUBCOMMAND).then(|| damper_tools::shell_child_main(arguments))
}

fn compile(paths: &[OsString]) -> ExitCode {
    let [input, output] = paths else {
        return ExitCode::FAILURE;
    };
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .without_time()
        .with_level(false)
        .with_target(false)
        .with_ansi(false)
        .init();
    let code = damper_wasm::compile_child(Path::new(input), Path::new(output));
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}
