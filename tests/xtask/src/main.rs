//! `cargo xtask`: the project's chores, with nothing to install but Rust.
//!
//! No dependencies, so that it compiles in a second on a fresh machine.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool")]

mod command;
mod guests;
mod lint;
mod suites;

use std::process::ExitCode;

use command::{Run, Step, cargo, target_dir};

const USAGE: &str = "\
usage: cargo xtask <command>

  demo [--once] [..]   build the host and the example, run the demo; --once ends with status 0
                       when the story went as told
  test [--all]         the tests that need no other toolchain; --all adds the real kube-apiserver, kubectl, the
                       other languages' examples (needs Go, Node.js and Python), and last the hostile
                       plugins again, judged by time
  lint                 formatting, clippy and documentation, every warning an error
  guests               build the example and the fixture components, print where they are
  bench [..]           time against kube-rs; see tests/bench/README.md for its options
";

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let command = arguments.next().unwrap_or_default();
    let rest: Vec<String> = arguments.collect();
    let result = match command.as_str() {
        "demo" => demo(&rest),
        "test" => suites::run(&rest),
        "lint" => lint::run(),
        "guests" => guests::build_all(),
        "bench" => bench(&rest),
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(64);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("xtask: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn demo(rest: &[String]) -> Result<(), String> {
    let component = guests::build_example()?;
    // All members, so that the dependencies are built with the features that the tests want too, once.
    cargo(&["build", "--workspace", "--exclude", "informer-bench", "--bin", "informer"])
        .run(&Step::new("build the host"))?;
    let host = target_dir().join("debug/informer").to_string_lossy().into_owned();
    let mut arguments = vec!["demo", "--component", &component];
    arguments.extend(rest.iter().map(String::as_str));
    Run::new(&host, &arguments).run(&Step::new("run the demo"))
}

fn bench(rest: &[String]) -> Result<(), String> {
    guests::build_all()?;
    let mut arguments =
        vec!["run", "--release", "--package", "informer-bench", "--bin", "informer-bench", "--"];
    arguments.extend(rest.iter().map(String::as_str));
    cargo(&["build", "--release", "--package", "informer-bench", "--bins"])
        .run(&Step::new("build the benchmark"))?;
    cargo(&arguments).run(&Step::new("run the benchmark"))
}
