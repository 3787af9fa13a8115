//! The test suites.

use crate::{
    command::{Step, cargo},
    guests,
};

/// Test binaries of `tests/` that need more than Rust. Each says itself what it needs: under `CI=true` a missing
/// toolchain is a failure, elsewhere a printed skip.
const MORE_THAN_RUST: [(&str, &str); 3] = [
    ("cluster", "against a real kube-apiserver, etcd and client-go, built from their Go modules"),
    ("kubectl", "the embedded API server with the real kubectl"),
    ("languages", "the JavaScript and Python examples"),
];

/// `test [--all]`.
///
/// # Errors
/// A suite failed; or, under `CI=true`, a suite's toolchain is missing.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let all = match arguments {
        [] => false,
        [flag] if flag == "--all" => true,
        _ => return Err(format!("test takes `--all` or nothing, not `{}`", arguments.join(" "))),
    };
    guests::build_all()?;
    cargo(&["test", "--workspace", "--exclude", "informer-bench"]).run(&Step::new("run the tests"))?;
    if !all {
        return Ok(());
    }
    MORE_THAN_RUST.iter().try_for_each(|(test, shows)| run_suite(test, shows))?;
    time_hostile_plugins()
}

/// The suite of hostile plugins once more, which then judges the neighbour's 99th percentile too. A step of its own, one case at a time,
/// after everything else: other work on the machine changes that figure more than any host does.
fn time_hostile_plugins() -> Result<(), String> {
    let suite = ["test", "--workspace", "--exclude", "informer-bench", "--test", "runtime", "hostile::"];
    cargo(&[suite.as_slice(), &["--", "--test-threads=1"]].concat())
        .env("INFORMER_QUIET_MACHINE", "1")
        .run(&Step::new("time what a neighbour notices of hostile plugins"))
}

fn run_suite(test: &str, shows: &str) -> Result<(), String> {
    // All members, so that nothing is built again with other features.
    cargo(&["test", "--workspace", "--exclude", "informer-bench", "--test", test])
        .run(&Step::new(format!("test {shows}")))
}
