//! Rust: cargo gives a component.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde::Deserialize;

use super::step::{Build, BuildError};
use crate::tool::{self, Tool, ToolError};

const TARGET: &str = "wasm32-wasip2";

const CARGO: Tool =
    Tool { program: "cargo", install: "install Rust 1.95 or newer with rustup: https://rustup.rs" };

/// A message of cargo.
#[derive(Deserialize)]
struct Message {
    reason: String,
    #[serde(default)]
    target: Target,
    #[serde(default)]
    filenames: Vec<PathBuf>,
}

/// The target of a package that a message is about.
#[derive(Default, Deserialize)]
struct Target {
    #[serde(default)]
    kind: Vec<String>,
}

pub(super) fn build(build: &Build<'_>) -> Result<Vec<u8>, BuildError> {
    if !has_target(build.project) {
        let problem = format!("the target {TARGET} is missing: run `rustup target add {TARGET}`");
        return Err(BuildError::Project(problem));
    }
    let mut cargo = CARGO.command()?;
    cargo.args(["build", "--release", "--target", TARGET, "--message-format=json-render-diagnostics"]);
    // The build writes line tables, whatever the profile says. They move to the debug file, so they do not enlarge the component.
    cargo.env("CARGO_PROFILE_RELEASE_DEBUG", "line-tables-only").env("CARGO_PROFILE_RELEASE_STRIP", "none");
    let run = cargo.current_dir(build.project).stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = run.map_err(|error| tool::io_error(Path::new(CARGO.program), error))?;
    if !output.status.success() {
        return Err(ToolError::Failed { what: "`cargo build`".to_owned() }.into());
    }
    let missing = "cargo built no component: add `crate-type = [\"cdylib\"]` under [lib] in Cargo.toml";
    let component = component(&String::from_utf8_lossy(&output.stdout));
    Build::read(&component.ok_or_else(|| BuildError::Project(missing.to_owned()))?)
}

/// The file of the library in the messages of cargo. A library of the project comes after libraries that it depends on. A program of
/// the project is a WebAssembly file too, and no plugin.
fn component(messages: &str) -> Option<PathBuf> {
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Message>(line).ok());
    let libraries = messages
        .filter(|message| message.reason == "compiler-artifact")
        .filter(|message| message.target.kind.iter().any(|kind| kind == "cdylib"));
    let mut files = libraries.flat_map(|message| message.filenames);
    files.rfind(|file| file.extension().is_some_and(|extension| extension == "wasm"))
}

/// Returns true if the standard library of the target is installed, or if that cannot be seen.
fn has_target(project: &Path) -> bool {
    let mut rustc = Command::new("rustc");
    rustc.args(["--print", "target-libdir", "--target", TARGET]).current_dir(project);
    let Ok(output) = rustc.stderr(Stdio::null()).output() else { return true };
    !output.status.success() || Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_component_is_the_library_of_the_project_and_not_its_program() {
        let messages = r#"
            {"reason":"build-script-executed","linked_libs":[]}
            {"reason":"compiler-artifact","target":{"kind":["cdylib","rlib"]},"filenames":["/t/shared.wasm","/t/libshared.rlib"]}
            {"reason":"compiler-artifact","target":{"kind":["cdylib","rlib"]},"filenames":["/t/hello.wasm","/t/libhello.rlib"]}
            {"reason":"compiler-artifact","target":{"kind":["bin"]},"filenames":["/t/tool.wasm"]}
            {"reason":"build-finished","success":true}
        "#;

        assert_eq!(component(messages), Some(PathBuf::from("/t/hello.wasm")));
        assert_eq!(component(messages.split("/t/shared").next().unwrap()), None);
    }
}
