//! Every warning is an error.

use crate::command::{Step, cargo};

/// Formatting, clippy and documentation of the whole workspace.
///
/// # Errors
/// The first of them that is not clean.
pub(crate) fn run() -> Result<(), String> {
    cargo(&["fmt", "--all", "--check"]).run(&Step::new("check the formatting"))?;
    cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])
        .run(&Step::new("run clippy"))?;
    // `--all-targets` leaves out what plain `cargo test` leaves out.
    let more = ["--test", "cluster", "--test", "kubectl", "--test", "languages"];
    let mut arguments = vec!["clippy", "--workspace"];
    arguments.extend(more);
    arguments.extend(["--", "-D", "warnings"]);
    cargo(&arguments).run(&Step::new("run clippy on the suites that need more than Rust"))?;
    cargo(&["doc", "--workspace", "--no-deps", "--document-private-items", "--quiet"])
        .env("RUSTDOCFLAGS", "-D warnings")
        .run(&Step::new("build the documentation"))
}
