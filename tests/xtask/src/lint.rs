//! Lints: every warning is an error.

use crate::command::{Step, cargo};

/// The test targets with `test = false` in tests/Cargo.toml, which `--all-targets` leaves out.
const NOT_IN_ALL_TARGETS: [&str; 6] = ["cluster", "kubectl", "page", "languages", "registries", "node"];

/// Checks formatting, clippy and documentation of the whole workspace.
///
/// # Errors
/// The first check that finds something.
pub(crate) fn run() -> Result<(), String> {
    cargo(&["fmt", "--all", "--check"]).run(&Step::new("check the formatting"))?;
    cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])
        .run(&Step::new("run clippy"))?;
    let mut arguments = vec!["clippy", "--workspace"];
    arguments.extend(NOT_IN_ALL_TARGETS.iter().flat_map(|suite| ["--test", *suite]));
    arguments.extend(["--", "-D", "warnings"]);
    cargo(&arguments).run(&Step::new("run clippy on the suites that need more than Rust"))?;
    cargo(&["doc", "--workspace", "--no-deps", "--document-private-items", "--quiet"])
        .env("RUSTDOCFLAGS", "-D warnings")
        .run(&Step::new("build the documentation"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clippy_runs_on_every_test_target_that_all_targets_leaves_out() {
        let manifest = include_str!("../../Cargo.toml");
        let left_out =
            manifest.split("[[test]]").skip(1).filter(|target| target.contains("\ntest = false\n"));
        let name = |target: &str| Some(target.split_once("name = \"")?.1.split_once('"')?.0.to_owned());

        assert_eq!(left_out.map(name).collect::<Option<Vec<_>>>().unwrap(), NOT_IN_ALL_TARGETS);
    }
}
