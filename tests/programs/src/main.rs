//! Builds the Go programs of the suites ahead, in the order in which the suites need them, unless they are built already.
//!
//! When its standard input is closed, the program ends itself and the `go` that it runs. The process that started it closes the
//! input when it needs the processors, and at its own end.
#![forbid(unsafe_code)]
#![expect(clippy::print_stderr, reason = "a command-line tool")]

use std::{
    io,
    process::{ExitCode, exit},
    thread,
};

use informer_programs::{Builder, Program};
use rustix::process::{Signal, getpgrp, getpid, kill_current_process_group};

/// The programs of `cargo xtask test --all`.
const OF_THE_GATE: [Program; 10] = [
    Program::Etcd,
    Program::KubeApiserver,
    Program::KubeControllerManager,
    Program::Oracle,
    Program::Kubectl,
    Program::RegistryWithLists,
    Program::PlainRegistry,
    Program::Helm,
    Program::Promtool,
    Program::Collector,
];

fn main() -> ExitCode {
    thread::spawn(end_with_the_input);
    let built = Builder::from_env()
        .and_then(|builder| OF_THE_GATE.into_iter().try_for_each(|program| builder.build_ahead(program)));
    match built {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("informer-programs: {problem}");
            ExitCode::FAILURE
        }
    }
}

/// Waits for the end of the input, and then ends this process. If this process leads its process group, the function ends the whole
/// group, which includes `go` and its compilers.
fn end_with_the_input() {
    // An input that cannot be read has ended too.
    io::copy(&mut io::stdin().lock(), &mut io::sink()).ok();
    if getpgrp() == getpid() {
        kill_current_process_group(Signal::KILL).ok();
    }
    exit(1);
}
