//! The benchmark.

use crate::{
    command::{Step, cargo},
    guests,
};

/// Builds the benchmark and what it runs, and runs it with these arguments.
///
/// # Errors
/// A build or the benchmark fails.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
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
