//! Builds guests on demand for tests: the fixtures of `tests/guests/fixtures` and the Rust examples.
//!
//! A test may build while it runs: cargo releases its lock before it runs the tests. The nested build takes the lock
//! again, so tests in several processes wait for each other. cargo builds nothing twice.
#![expect(clippy::panic, reason = "a guest that does not build is a failed test")]

mod cargo;

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::OnceLock,
};

pub use cargo::cargo;

const TARGET: &str = "wasm32-wasip2";

/// The ready-made plugins: the names of their folders in `plugins`. The package of each is `informer-NAME`.
pub const READY_MADE: [&str; 4] = ["event-exporter", "janitor", "reloader", "replicator"];

/// The component of a fixture. `name` is the name of its file in `tests/guests/fixtures/examples`.
///
/// # Panics
/// Panics with cargo's output if the fixtures do not build, or if there is no guest with this name.
pub fn guest(name: &str) -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let built = BUILT.get_or_init(|| build(&["--package", "informer-fixture-guests", "--examples"]));
    found(built.join("examples").join(format!("{name}.wasm")))
}

/// The bytes of the component of a fixture, with a custom section of less than 128 bytes.
///
/// # Panics
/// Panics as [`guest`] does, and if the section is longer.
pub fn guest_with(name: &str, section: &str, contents: &str) -> Vec<u8> {
    let mut component = std::fs::read(guest(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    // The number of custom sections, the length, the length of the name, the name, the contents.
    let byte = |number: usize| u8::try_from(number).ok().filter(|byte| *byte < 0x80);
    let lengths = byte(1 + section.len() + contents.len()).zip(byte(section.len()));
    let (length, of_name) = lengths.unwrap_or_else(|| panic!("{section} is too long"));
    component.extend([0, length, of_name]);
    component.extend(section.bytes().chain(contents.bytes()));
    component
}

/// The component of `examples/deployments-rust`.
///
/// # Panics
/// Panics with cargo's output if it does not build.
pub fn deployments_rust() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let built = BUILT.get_or_init(|| build(&["--package", "deployments-rust", "--lib"]));
    found(built.join("deployments_rust.wasm"))
}

/// The component of `examples/pods-workqueue`.
///
/// # Panics
/// Panics with cargo's output if it does not build.
pub fn pods_workqueue() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let built = BUILT.get_or_init(|| build(&["--package", "pods-workqueue", "--lib"]));
    found(built.join("pods_workqueue.wasm"))
}

/// The component of `examples/configmaps-keyvalue`.
///
/// # Panics
/// Panics with cargo's output if it does not build.
pub fn configmaps_keyvalue() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let built = BUILT.get_or_init(|| build(&["--package", "configmaps-keyvalue", "--lib"]));
    found(built.join("configmaps_keyvalue.wasm"))
}

/// The component of `examples/disruption-budgets`.
///
/// # Panics
/// Panics with cargo's output if it does not build.
pub fn disruption_budgets() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let built = BUILT.get_or_init(|| build(&["--package", "disruption-budgets", "--lib"]));
    found(built.join("disruption_budgets.wasm"))
}

/// The component of a ready-made plugin, by the name of its folder in `plugins`.
///
/// # Panics
/// Panics with cargo's output if the plugins do not build, or if there is no such plugin.
pub fn ready_made(name: &str) -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let packages = READY_MADE.map(|name| format!("--package=informer-{name}"));
    let arguments: Vec<&str> = packages.iter().map(String::as_str).chain(["--lib"]).collect();
    let built = BUILT.get_or_init(|| build(&arguments));
    found(built.join(format!("informer_{}.wasm", name.replace('-', "_"))))
}

/// Builds the packages. Returns the directory of the artefacts.
fn build(what: &[&str]) -> PathBuf {
    add_target();
    let mut command = cargo();
    command.args(["build", "--quiet", "--target", TARGET, "--profile", "plugin"]).args(what);
    // Flags for the tests, such as those of a coverage run, are not valid for a guest.
    for flags in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER"] {
        command.env_remove(flags);
    }
    run(command.current_dir(root()));
    target_dir().join(TARGET).join("plugin")
}

/// Adds the wasm target if it is missing. Without rustup it must be installed already.
fn add_target() {
    let libraries = run(Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]));
    if !Path::new(String::from_utf8_lossy(&libraries.stdout).trim()).is_dir() {
        run(Command::new("rustup").args(["target", "add", TARGET]));
    }
}

fn run(command: &mut Command) -> Output {
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => panic!("{command:?} does not run: {error}"),
    };
    if !output.status.success() {
        panic!("{command:?} failed:\n{}", String::from_utf8_lossy(&output.stderr));
    }
    output
}

fn found(path: PathBuf) -> PathBuf {
    if !path.is_file() {
        panic!("there is no {}", path.display());
    }
    path
}

fn target_dir() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |set: OsString| root().join(set))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
