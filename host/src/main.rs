//! The `informer` binary: arguments in, exit status out.

use std::{
    io::{Write, stderr},
    process::ExitCode,
};

use informer::{
    cli::WrongInput,
    commands::{Cli, unwritten, visible},
};

fn main() -> ExitCode {
    let cli = Cli::of_process();
    // This comes before the first file or connection is opened.
    informer_system::descriptors::raise();
    let status = match cli.command.run(&cli.global) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            complain(&error);
            if error.is::<WrongInput>() { ExitCode::from(2) } else { ExitCode::FAILURE }
        }
    };
    match unwritten() {
        Some(error) => {
            say(&format!("informer: cannot write to standard output: {error}"));
            ExitCode::FAILURE
        }
        None => status,
    }
}

/// Prints the error and its causes, except causes whose text is already printed.
fn complain(error: &anyhow::Error) {
    let mut text = String::from("informer");
    for cause in error.chain().map(ToString::to_string) {
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    say(&text);
}

/// Prints a line to stderr. The exit status remains if stderr is closed or full.
fn say(line: &str) {
    writeln!(stderr(), "{}", visible(line)).ok();
}
