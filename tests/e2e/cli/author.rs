//! The commands for authors of plugins: `informer new`, `build`, `inspect` and `wit`. `tests/languages` builds what `new` writes.

use std::fs;

use informer_guests::guest;
use serde_json::json;

use super::binary::informer;

#[tokio::test]
async fn new_writes_a_project_that_check_accepts_and_build_names_the_missing_compiler() {
    let directory = tempfile::tempdir().unwrap();
    let project = directory.path().join("project");
    let project = project.to_str().unwrap();

    let made = informer(&["new", "hello", "--lang", "go", "--directory", project]).await;

    assert_eq!((made.status, made.stderr.as_str()), (Some(0), ""));
    assert!(made.stdout.contains("informer dev --config informer.toml"), "{}", made.stdout);
    let configuration = format!("{project}/informer.toml");
    let checked = informer(&["check", "--file-only", "--config", &configuration]).await;
    assert_eq!(checked.status, Some(0), "{}", checked.stdout);

    // The tests have no search path.
    let built = informer(&["build", project]).await;
    assert_eq!((built.status, built.stdout.as_str()), (Some(1), ""));
    assert_eq!(built.stderr, "informer: `go` is missing: install Go 1.24 or newer: https://go.dev/dl\n");

    fs::write(format!("{project}/main.go"), "package main // mine\n").unwrap();
    let again = informer(&["new", "hello", "--lang", "go", "--directory", project]).await;
    assert_eq!(again.status, Some(1), "{}", again.stdout);
    assert!(
        again.stderr.contains("main.go exists with other contents, and nothing was written"),
        "{}",
        again.stderr
    );
}

#[tokio::test]
async fn build_outside_a_project_and_a_wrong_manifest_say_what_would_be_right() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().to_str().unwrap();
    let build = async || informer(&["build", folder]).await.stderr;

    assert!(
        build().await.contains("`informer new NAME --lang LANGUAGE` makes a project"),
        "{}",
        build().await
    );
    // A folder without the files. A project without the folder uses the interface of the binary.
    fs::create_dir(directory.path().join("wit")).unwrap();
    for (text, problem) in [
        ("name = \"../x\"\nlanguage = \"go\"\nworld = \"controller\"", "`../x` is no name for a plugin"),
        ("name = \"x\"\nlanguage = \"cobol\"", "unknown variant `cobol`"),
        ("name = \"x\"\nlanguage = \"c\"", "`world` is missing in informer-plugin.toml"),
        (
            "name = \"x\"\nlanguage = \"c\"\nworld = \"controller\"",
            "`informer wit` writes those of this version",
        ),
    ] {
        fs::write(directory.path().join("informer-plugin.toml"), text).unwrap();
        let said = build().await;
        assert!(said.contains(problem), "{said}");
    }
    let wit = format!("{folder}/wit");
    assert_eq!(informer(&["wit", &wit]).await.status, Some(0));
    fs::write(
        directory.path().join("informer-plugin.toml"),
        "name = \"x\"\nlanguage = \"c\"\nworld = \"handlers\"",
    )
    .unwrap();
    let said = build().await;
    assert!(said.contains("there is no world `handlers`") && said.contains("event-handler"), "{said}");
}

#[tokio::test]
async fn inspect_shows_a_component_and_advises_for_a_core_module() {
    let reader = tokio::task::spawn_blocking(|| guest("reader")).await.unwrap();

    let shown = informer(&["inspect", reader.to_str().unwrap(), "--output", "json"]).await.json();

    assert_eq!(shown["kind"], "component");
    assert_eq!((&shown["language"], &shown["wit"]), (&json!("rust"), &json!("0.2.0")));
    assert_eq!(shown["grants"], json!(["read = [\"apps/v1/deployments\"]"]));
    assert!(
        shown["imports"].as_array().unwrap().contains(&json!("informer:plugin/lister@0.2.0")),
        "{shown:#}"
    );
    assert!(shown["memory-bytes"].as_u64().unwrap() >= 1 << 16, "{shown:#}");
    assert_eq!(shown["problem"], json!(null));

    let directory = tempfile::tempdir().unwrap();
    let module = directory.path().join("core.wasm");
    fs::write(&module, b"\0asm\x01\0\0\0").unwrap();
    let refused = informer(&["inspect", module.to_str().unwrap()]).await;
    assert_eq!(refused.status, Some(1), "{}", refused.stderr);
    assert!(
        refused.stdout.contains("no plugin: a core module, not a component: `informer build`"),
        "{}",
        refused.stdout
    );
}

#[tokio::test]
async fn wit_writes_the_interface_and_replaces_another_version_only_on_request() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("wit");
    let write = async |more: &[&str]| informer(&[&["wit", folder.to_str().unwrap()], more].concat()).await;

    assert_eq!(write(&[]).await.status, Some(0));
    let handler = folder.join("handler.wit");
    assert_eq!(fs::read_to_string(&handler).unwrap(), include_str!("../../../wit/handler.wit"));
    fs::write(&handler, "package informer:plugin@0.0.1;\n").unwrap();

    let refused = write(&[]).await;
    assert_eq!(refused.status, Some(1));
    assert!(
        refused.stderr.contains("--replace") && refused.stderr.contains("handler.wit"),
        "{}",
        refused.stderr
    );
    assert_eq!(write(&["--replace"]).await.status, Some(0));
    assert_eq!(fs::read_to_string(&handler).unwrap(), include_str!("../../../wit/handler.wit"));
}
