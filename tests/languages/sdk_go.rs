//! The SDK for Go as a module: its format, its unit tests and examples, and the tests of new projects.

use std::path::{Path, PathBuf};

use tokio::process::Command;

use crate::projects::informer;

fn sdk() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins/sdk/go")
}

/// Runs a program of Go without a module proxy. It must succeed. Returns what it printed.
async fn go(folder: &Path, program: &str, arguments: &[&str], target: &[(&str, &str)]) -> String {
    let mut command = Command::new(program);
    command.args(arguments).env("GOPROXY", "off").envs(target.iter().copied()).current_dir(folder);
    let output = command.output().await.unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{program} {arguments:?} in {}:\n{stdout}{stderr}", folder.display());
    stdout.into_owned()
}

#[tokio::test]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn the_module_of_the_sdk_is_formatted_vetted_and_tested() {
    let sdk = sdk();

    assert_eq!(go(&sdk, "gofmt", &["-l", "."], &[]).await, "", "these files are not formatted");
    go(&sdk, "go", &["vet", "./..."], &[]).await;
    // Not vetted: the addresses of the host are numbers, which become pointers in the generated code.
    go(&sdk, "go", &["build", "./..."], &[("GOOS", "wasip1"), ("GOARCH", "wasm")]).await;
    let printed = go(&sdk, "go", &["test", "./..."], &[]).await;
    let tested = printed.lines().filter(|line| line.starts_with("ok")).count();
    assert!(tested >= 5, "{printed}");
}

#[tokio::test]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn the_tests_of_a_new_project_in_go_pass_without_a_network() {
    let scratch = tempfile::tempdir().unwrap();
    // Go has names of its own, such as `go`, and packages, such as `sort`.
    for arguments in [
        &["new", "handler", "--lang", "go"][..],
        &["new", "reconciler", "--lang", "go", "--reconciler"],
        &["new", "go", "--lang", "go"],
        &["new", "sort", "--lang", "go"],
        &["new", "main", "--lang", "go"],
    ] {
        informer(scratch.path(), arguments).await;
        let project = scratch.path().join(arguments[1]);

        let printed = go(&project, "go", &["test", "."], &[]).await;

        assert!(printed.starts_with("ok"), "{printed}");
        assert_eq!(go(&project, "gofmt", &["-l", "."], &[]).await, "", "these files are not formatted");
    }
}
