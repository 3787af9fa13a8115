//! The benchmark.

use crate::{
    command::{Run, Step, cargo, target_dir},
    guests,
};

/// Builds the benchmark and what it runs, and runs it with these arguments.
///
/// # Errors
/// A build or the benchmark fails.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    if let Some((_, rest)) = arguments.split_first().filter(|(first, _)| *first == "--ready-made") {
        return ready_made(rest);
    }
    guests::build_all()?;
    let build = ["--release", "--package", "informer-bench", "--features", "jemalloc"];
    cargo(&[["build"].as_slice(), &build, &["--bins"]].concat()).run(&Step::new("build the benchmark"))?;
    if arguments.iter().any(|argument| argument.split('=').next() == Some("--plugins")) {
        cargo(&["build", "--release", "--package", "informer", "--bin", "informer"])
            .run(&Step::new("build the host"))?;
    }
    let mut line = [["run"].as_slice(), &build, &["--bin", "informer-bench", "--"]].concat();
    line.extend(arguments.iter().map(String::as_str));
    cargo(&line).run(&Step::new("run the benchmark"))
}

/// Builds the host, and the program that makes the load of the ready-made plugins and measures the host, and runs that program.
fn ready_made(arguments: &[String]) -> Result<(), String> {
    // All members: dependencies are then built once, with the features that both need.
    let all = ["build", "--release", "--workspace", "--exclude", "informer-bench"];
    let build = [all.as_slice(), &["--bin", "informer", "--example", "ready-made-load"]].concat();
    cargo(&build).run(&Step::new("build the host and the load"))?;
    let program = |path: &str| target_dir().join("release").join(path).to_string_lossy().into_owned();
    let host = program("informer");
    let mut line = vec!["--program", &host];
    line.extend(arguments.iter().map(String::as_str));
    Run::new(&program("examples/ready-made-load"), &line).run(&Step::new("run the load"))
}
