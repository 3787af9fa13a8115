//! Runs of cargo from a program that cargo runs.

use std::{env, process::Command};

/// The variables that cargo sets for the programs that it runs.
const ABOUT_THE_PACKAGE: [&str; 8] = [
    "CARGO_BIN_NAME",
    "CARGO_CRATE_NAME",
    "CARGO_MANIFEST_DIR",
    "CARGO_MANIFEST_LINKS",
    "CARGO_MANIFEST_PATH",
    "CARGO_PRIMARY_PACKAGE",
    "CARGO_TARGET_TMPDIR",
    "OUT_DIR",
];

/// The current cargo, with the environment that a shell would give it.
///
/// Build scripts of dependencies read the variables of their package, and cargo compares these with its own
/// environment. With our variables in it, this cargo would recompile ring and the third of all dependencies that
/// build on it, and so would the next cargo.
pub fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let of_the_package = |name: &str| name.starts_with("CARGO_PKG_") || ABOUT_THE_PACKAGE.contains(&name);
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(of_the_package) {
            command.env_remove(name);
        }
    }
    command
}
