//! cargo, run by what cargo runs.

use std::{env, process::Command};

/// What cargo tells whatever it runs about the package that it belongs to.
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

/// The cargo that runs us, in the environment that a shell would give it.
///
/// Build scripts of dependencies ask for the variables of their package, and cargo compares those with its own
/// environment: with ours in it, ring and the third of all dependencies that stand on it would be compiled anew by
/// this cargo, and again by the next one.
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
