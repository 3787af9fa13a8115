//! Builds the components.

use informer_guests::READY_MADE;

use crate::command::{Run, Step, cargo, target_dir};

const TARGET: &str = "wasm32-wasip2";

/// Builds the example that the demo runs, and returns the path of the component.
///
/// # Errors
/// The target cannot be added, or the build fails.
pub(crate) fn build_example() -> Result<String, String> {
    add_target(TARGET)?;
    cargo(&["build", "--target", TARGET, "--profile", "plugin", "--package", "deployments-rust", "--lib"])
        .run(&Step::new("build the example component"))?;
    Ok(artefact("deployments_rust.wasm"))
}

/// Builds the example, the ready-made plugins and the fixture guests of the tests.
///
/// # Errors
/// The target cannot be added, or a build fails.
pub(crate) fn build_all() -> Result<(), String> {
    let example = build_example()?;
    build_ready_made()?;
    cargo(&[
        "build",
        "--target",
        TARGET,
        "--profile",
        "plugin",
        "--package",
        "informer-fixture-guests",
        "--examples",
    ])
    .run(&Step::new("build the fixture guests"))?;
    println!("    {example}\n    {}", artefact("examples/*.wasm"));
    Ok(())
}

/// Builds the ready-made plugins, and returns the name and the path of each component.
///
/// # Errors
/// The build fails.
pub(crate) fn build_ready_made() -> Result<Vec<(&'static str, String)>, String> {
    let packages = READY_MADE.map(|name| format!("--package=informer-{name}"));
    let ready_made: Vec<&str> = packages.iter().map(String::as_str).collect();
    let to_component = ["build", "--target", TARGET, "--profile", "plugin", "--lib"];
    cargo(&[to_component.as_slice(), &ready_made].concat())
        .run(&Step::new("build the ready-made plugins"))?;
    let path = |name: &str| artefact(&format!("informer_{}.wasm", name.replace('-', "_")));
    Ok(READY_MADE.map(|name| (name, path(name))).to_vec())
}

fn artefact(name: &str) -> String {
    target_dir().join(TARGET).join("plugin").join(name).to_string_lossy().into_owned()
}

/// Adds a target of Rust if it is missing. Without rustup it must be installed already.
///
/// # Errors
/// The target is missing and cannot be added.
pub(crate) fn add_target(target: &str) -> Result<(), String> {
    let libraries = Run::new("rustc", &["--print", "target-libdir", "--target", target]).output()?;
    if std::path::Path::new(libraries.trim()).is_dir() {
        return Ok(());
    }
    Run::new("rustup", &["target", "add", target])
        .run(&Step::new(format!("add the target {target}")))
        .map_err(|problem| {
            format!("{problem}\nthe target {target} is needed; install it with your Rust distribution")
        })
}
