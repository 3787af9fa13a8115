//! The benchmark.

use std::path::Path;

use crate::{
    command::{Run, Step, cargo, target_dir},
    guests, image,
};

/// Builds with all members but the benchmark, so that dependencies are built once, with the features that all members need.
const WORKSPACE: [&str; 5] = ["build", "--workspace", "--exclude", "informer-bench", "--profile"];

/// Builds the benchmark and what it runs, and runs it with these arguments.
///
/// # Errors
/// A build or the benchmark fails.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    if let Some((first, rest)) = arguments.split_first() {
        match first.as_str() {
            "--ready-made" => return load("ready-made", &image::build()?.binary, rest),
            "--languages" => {
                let arguments = [&["--sdk".to_owned(), "plugins/sdk/rust".to_owned()], rest].concat();
                cargo(&[&WORKSPACE, ["release", "--bin", "informer"].as_slice()].concat())
                    .run(&Step::new("build the host"))?;
                return load("languages", &target_dir().join("release/informer"), &arguments);
            }
            _ => {}
        }
    }
    guests::build_all()?;
    // All subjects in Rust are built with the profile of the image.
    let build = ["--profile", "dist", "--package", "informer-bench", "--features", "jemalloc"];
    cargo(&[["build"].as_slice(), &build, &["--bins"]].concat()).run(&Step::new("build the benchmark"))?;
    let has = |flag: &str| arguments.iter().any(|argument| argument.split('=').next() == Some(flag));
    let mut line = [["run"].as_slice(), &build, &["--bin", "informer-bench", "--"]].concat();
    let host;
    if (has("--plugins") || has("--costs")) && !has("--informer") {
        host = format!("--informer={}", image::build()?.binary.display());
        line.push(&host);
    }
    line.extend(arguments.iter().map(String::as_str));
    cargo(&line).run(&Step::new("run the benchmark"))
}

/// Builds the program that measures this host, and makes one of its measurements with these arguments.
///
/// # Errors
/// A build or the measurement fails.
pub(crate) fn load(measurement: &str, host: &Path, arguments: &[String]) -> Result<(), String> {
    cargo(&[&WORKSPACE, ["release", "--example", "load"].as_slice()].concat())
        .run(&Step::new("build what measures the host"))?;
    let host = host.to_string_lossy();
    let mut line = vec![measurement, "--program", &host];
    line.extend(arguments.iter().map(String::as_str));
    Run::new(&target_dir().join("release/examples/load").to_string_lossy(), &line)
        .run(&Step::new("run the measurement"))
}
