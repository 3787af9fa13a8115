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
    if let Some((first, rest)) = arguments.split_first() {
        match first.as_str() {
            // The host is built with the profile of the image.
            "--ready-made" => return load("ready-made", "dist", &[], rest),
            "--languages" => return load("languages", "release", &["--sdk", "plugins/sdk/rust"], rest),
            _ => {}
        }
    }
    guests::build_all()?;
    // All subjects in Rust are built with the profile of the image.
    let build = ["--profile", "dist", "--package", "informer-bench", "--features", "jemalloc"];
    cargo(&[["build"].as_slice(), &build, &["--bins"]].concat()).run(&Step::new("build the benchmark"))?;
    if arguments.iter().any(|argument| argument.split('=').next() == Some("--plugins")) {
        cargo(&["build", "--profile", "dist", "--package", "informer", "--bin", "informer"])
            .run(&Step::new("build the host"))?;
    }
    let mut line = [["run"].as_slice(), &build, &["--bin", "informer-bench", "--"]].concat();
    line.extend(arguments.iter().map(String::as_str));
    cargo(&line).run(&Step::new("run the benchmark"))
}

/// Builds the host with this profile, and the program that measures it, and makes one of its measurements.
fn load(measurement: &str, profile: &str, flags: &[&str], arguments: &[String]) -> Result<(), String> {
    // All members: dependencies are then built once, with the features that both need.
    let all = ["build", "--workspace", "--exclude", "informer-bench", "--profile"];
    cargo(&[all.as_slice(), &[profile, "--bin", "informer"]].concat()).run(&Step::new("build the host"))?;
    cargo(&[all.as_slice(), &["release", "--example", "load"]].concat())
        .run(&Step::new("build what measures it"))?;
    let program = |path: &str| target_dir().join(path).to_string_lossy().into_owned();
    let host = program(&format!("{profile}/informer"));
    let mut line = [[measurement, "--program", &host].as_slice(), flags].concat();
    line.extend(arguments.iter().map(String::as_str));
    Run::new(&program("release/examples/load"), &line).run(&Step::new("run the measurement"))
}
