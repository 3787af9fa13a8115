//! `informer demo`

use informer_guests::{deployments_rust, guest};

use super::binary::informer;

/// What a person sees, in this order; of the lines, the beginnings.
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
async fn the_story_is_told_and_ends_well() {
    let component = deployments_rust();

    let told = informer(&["demo", "--once", "--component", component.to_str().unwrap()]).await;

    assert_eq!(told.status, Some(0), "{}{}", told.stdout, told.stderr);
    let mut lines = told.stdout.lines();
    for expected in STORY {
        assert!(
            lines.any(|line| line.starts_with(expected)),
            "`{expected}` is not in turn in:\n{}",
            told.stdout
        );
    }
    assert!(told.stdout.ends_with("the story went as told\n"), "{}", told.stdout);
    // What a busy machine is late with is a warning, and no more.
    assert!(told.stderr.lines().all(|line| line.contains(" WARN ")), "{}", told.stderr);
}

#[tokio::test]
async fn a_component_that_says_something_else_fails_the_demo() {
    let echo = guest("echo");

    let told = informer(&["demo", "--once", "--component", echo.to_str().unwrap()]).await;

    assert_eq!(told.status, Some(1), "{}", told.stdout);
    assert!(
        told.stderr.contains("informer: the component said `start {}`, the story wants `"),
        "{}",
        told.stderr
    );
    assert!(!told.stdout.contains("the story went as told"), "{}", told.stdout);
}

#[tokio::test]
async fn a_component_that_is_not_there_is_told_with_how_to_get_one() {
    let told = informer(&["demo", "--once", "--component", "/nowhere/some.wasm"]).await;

    assert_eq!(told.status, Some(1));
    assert_eq!(
        told.stderr,
        "informer: there is no component at /nowhere/some.wasm; `cargo xtask demo` builds one, \
         or name yours with --component\n"
    );
}
