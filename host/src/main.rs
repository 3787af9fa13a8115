//! The `informer` binary: arguments in, exit status out.

use std::process::ExitCode;

use clap::Parser;
use informer::{
    cli::WrongInput,
    commands::{Cli, visible},
};

fn main() -> ExitCode {
    let cli = Cli::parse();
    // Before the first file or connection is opened.
    informer_system::descriptors::raise();
    match cli.command.run(&cli.global) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            complain(&error);
            if error.is::<WrongInput>() { ExitCode::from(2) } else { ExitCode::FAILURE }
        }
    }
}

/// Prints the error and its causes, except causes whose text is already printed.
#[expect(clippy::print_stderr, reason = "the last words of the process")]
fn complain(error: &anyhow::Error) {
    let mut text = String::from("informer");
    for cause in error.chain().map(ToString::to_string) {
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    eprintln!("{}", visible(&text));
}
