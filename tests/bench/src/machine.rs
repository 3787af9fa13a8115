//! The description of the machine and the programs, which a reader needs to judge the figures.

use std::{path::Path, process::Command};

/// The lock file with the versions of all packages.
static LOCK: &str = include_str!("../../../Cargo.lock");

/// One line about the machine and one line about the programs.
pub(crate) fn describe() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let model = read("/proc/cpuinfo")
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(':'))
        .map_or("unknown processor".to_owned(), |(_, model)| model.trim().to_owned());
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let load = read("/proc/loadavg").split(' ').next().unwrap_or_default().to_owned();
    let kernel = read("/proc/sys/kernel/osrelease").trim().to_owned();
    let compiler = Command::new("rustc").arg("--version").output();
    let compiler = compiler.map_or_else(|_| "unknown".to_owned(), |output| first_line(&output.stdout));
    let profile = if cfg!(debug_assertions) { "DEBUG BUILD, not to be quoted".to_owned() } else { profile() };
    format!(
        "Machine: {cores} cores of {model}, Linux {kernel}, load {load} at the start.\n\
         Programs: informer {}, kube {}, wasmtime {}, {compiler}, {profile}.",
        env!("CARGO_PKG_VERSION"),
        locked("kube"),
        locked("wasmtime"),
    )
}

/// The profile of cargo: the directory of the program has its name.
fn profile() -> String {
    let program = std::env::current_exe().unwrap_or_default();
    let name = program.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    format!("profile `{name}`")
}

fn first_line(text: &[u8]) -> String {
    String::from_utf8_lossy(text).lines().next().unwrap_or_default().to_owned()
}

/// The version of a package in the lock file.
fn locked(package: &str) -> &'static str {
    let entry = LOCK.split_once(&format!("name = \"{package}\"\nversion = \""));
    entry.and_then(|(_, rest)| rest.split_once('"')).map_or("unknown", |(version, _)| version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_file_names_the_versions() {
        assert!(locked("kube").starts_with("5."), "{}", locked("kube"));
        assert_eq!(locked("no-such-package"), "unknown");
    }
}
