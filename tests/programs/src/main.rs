//! Builds the Go programs of the suites, in the order in which the suites need them, unless they are built already.
#![expect(clippy::print_stderr, reason = "a command-line tool")]

use std::process::ExitCode;

use informer_programs::{Builder, Program};

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
    let built = Builder::from_env().and_then(|builder| {
        OF_THE_GATE.into_iter().try_for_each(|program| builder.obtain(program).map(drop))
    });
    match built {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("informer-programs: {problem}");
            ExitCode::FAILURE
        }
    }
}
