//! The `informer` binary, as a user runs it.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
};

use serde_json::Value;
use tokio::{process::Command, sync::OnceCell};

/// Builds the binary of this tree, once for each process, so that a test never runs an old program. A test may build
/// while it runs: cargo releases its lock before the tests start.
///
/// The build selects all members of the workspace, so it uses the same dependencies as the tests.
///
/// # Panics
/// Panics with cargo's output if the binary does not build.
pub async fn informer() -> &'static Path {
    static BINARY: OnceCell<PathBuf> = OnceCell::const_new();
    BINARY.get_or_init(build).await
}

#[expect(clippy::expect_used, clippy::panic, reason = "a binary that does not build is a failed test")]
async fn build() -> PathBuf {
    let output = Command::from(informer_guests::cargo())
        .args(["build", "--workspace", "--exclude", "informer-bench", "--bin", "informer"])
        .arg("--message-format=json-render-diagnostics")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::null())
        .output()
        .await
        .expect("cargo runs");
    if !output.status.success() {
        panic!("{}", String::from_utf8_lossy(&output.stderr));
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    let executable = |line: &str| {
        let message: Value = serde_json::from_str(line).ok()?;
        message.get("executable")?.as_str().map(PathBuf::from)
    };
    messages.lines().filter_map(executable).next_back().expect("cargo names the executable")
}
