//! Lints: every warning is an error.

use crate::command::{Step, cargo};

/// Checks formatting, clippy and documentation of the whole workspace.
///
/// # Errors
/// The first check that finds something.
pub(crate) fn run() -> Result<(), String> {
    cargo(&["fmt", "--all", "--check"]).run(&Step::new("check the formatting"))?;
    cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])
        .run(&Step::new("run clippy"))?;
    // `--all-targets` leaves out test targets with `test = false`.
    let more =
        ["--test", "cluster", "--test", "kubectl", "--test", "languages", "--test", "node", "--test", "page"];
    let mut arguments = vec!["clippy", "--workspace"];
    arguments.extend(more);
    arguments.extend(["--", "-D", "warnings"]);
    cargo(&arguments).run(&Step::new("run clippy on the suites that need more than Rust"))?;
    cargo(&["doc", "--workspace", "--no-deps", "--document-private-items", "--quiet"])
        .env("RUSTDOCFLAGS", "-D warnings")
        .run(&Step::new("build the documentation"))
}
