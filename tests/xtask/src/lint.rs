//! Lints: every warning is an error.

use std::fs;

use crate::command::{Step, cargo, root};

/// The test targets with `test = false` in tests/Cargo.toml, which `--all-targets` leaves out.
pub(crate) const NOT_IN_ALL_TARGETS: [&str; 6] =
    ["cluster", "kubectl", "page", "languages", "registries", "node"];

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
    let rustdoc = fs::canonicalize(root().join("tests/xtask/rustdoc.sh"))
        .map_err(|error| format!("no rustdoc.sh: {error}"))?;
    cargo(&["doc", "--workspace", "--no-deps", "--document-private-items", "--quiet"])
        .env("RUSTDOC", &rustdoc.to_string_lossy())
        .env("RUSTDOCFLAGS", "-D warnings")
        .run(&Step::new("check the documentation"))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_broken_link_in_the_documentation_is_an_error_although_none_is_written() {
        let directory = tempfile::tempdir().unwrap();
        let checked = |documentation: &str| {
            let source = directory.path().join("linked.rs");
            fs::write(&source, format!("//! {documentation}\n")).unwrap();
            Command::new(root().join("tests/xtask/rustdoc.sh"))
                .args(["-D", "warnings", "--out-dir"])
                .args([&directory.path().join("doc"), &source])
                .output()
                .unwrap()
        };

        let (right, wrong) = (checked("See [`Vec`]."), checked("See [`Missing`]."));

        assert!(right.status.success(), "{right:?}");
        assert!(!wrong.status.success(), "{wrong:?}");
        assert!(String::from_utf8_lossy(&wrong.stderr).contains("unresolved link to `Missing`"), "{wrong:?}");
        assert!(!directory.path().join("doc/linked/index.html").exists());
    }

    #[test]
    fn clippy_runs_on_every_test_target_that_all_targets_leaves_out() {
        let manifest = include_str!("../../Cargo.toml");
        let left_out =
            manifest.split("[[test]]").skip(1).filter(|target| target.contains("\ntest = false\n"));
        let name = |target: &str| Some(target.split_once("name = \"")?.1.split_once('"')?.0.to_owned());

        assert_eq!(left_out.map(name).collect::<Option<Vec<_>>>().unwrap(), NOT_IN_ALL_TARGETS);
    }
}
