//! The command `informer demo`.

use informer_guests::{deployments_rust, guest};

use super::binary::informer;

/// The expected output, in this order. Each entry is the beginning of a line.
const STORY: [&str; 16] = [
    "an API server without a cluster, at http://127.0.0.1:",
    "--- the host starts; the deployments nginx and web are there already",
    "deployments | added default/nginx (rv ",
    "deployments | deployments in default: 2",
    "deployments | 1 -> nginx",
    "deployments | 2 -> web",
    "deployments | added default/web (rv ",
    "--- create deployment api",
    "deployments | added default/api (rv ",
    "--- scale api to 3",
    "deployments | updated default/api (rv ",
    "--- label api tier=backend",
    "deployments | updated default/api (rv ",
    "--- delete deployment api",
    "deployments | deleted default/api (rv ",
    "--- create deployment api again",
];

#[tokio::test]
async fn the_demo_prints_its_story_and_succeeds() {
    let component = deployments_rust();

    let finished = informer(&["demo", "--once", "--component", component.to_str().unwrap()]).await;

    assert_eq!(finished.status, Some(0), "{}{}", finished.stdout, finished.stderr);
    let mut lines = finished.stdout.lines();
    for expected in STORY {
        assert!(
            lines.any(|line| line.starts_with(expected)),
            "`{expected}` is not in turn in:\n{}",
            finished.stdout
        );
    }
    assert!(finished.stdout.ends_with("every step of the demo succeeded\n"), "{}", finished.stdout);
    // A late line on a busy machine is a warning only.
    assert!(finished.stderr.lines().all(|line| line.contains(" WARN ")), "{}", finished.stderr);
}

#[tokio::test]
async fn a_component_that_prints_other_lines_fails_the_demo() {
    let echo = guest("echo");

    let finished = informer(&["demo", "--once", "--component", echo.to_str().unwrap()]).await;

    assert_eq!(finished.status, Some(1), "{}", finished.stdout);
    assert!(
        finished.stderr.contains("informer: the component printed `start {}` instead of `"),
        "{}",
        finished.stderr
    );
    assert!(!finished.stdout.contains("every step of the demo succeeded"), "{}", finished.stdout);
}

#[tokio::test]
async fn the_error_for_a_missing_component_says_how_to_build_it() {
    let finished = informer(&["demo", "--once", "--component", "/nowhere/some.wasm"]).await;

    assert_eq!(finished.status, Some(1));
    assert_eq!(
        finished.stderr,
        "informer: there is no component at /nowhere/some.wasm; `cargo xtask demo` builds one, \
         or name yours with --component\n"
    );
}
