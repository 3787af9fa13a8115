//! The commands for authors of plugins: `informer new`, `build`, `inspect` and `wit`. `tests/languages` builds what `new` writes.

use std::{
    ffi::OsStr,
    fs::{self, Permissions},
    os::unix::{ffi::OsStrExt, fs::PermissionsExt},
    path::Path,
    time::Duration,
};

use informer_guests::guest;
use informer_tests::{
    binary,
    dev::commands_after_new,
    host::PATIENCE,
    toml::{plugin, watch},
};
use serde_json::{Value, json};
use tokio::{
    process::Command,
    time::{sleep, timeout},
};

use super::binary::{Finished, Running, informer};

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

    let same = informer(&["new", "hello", "--lang", "go", "--directory", project]).await;
    assert!(
        same.stdout.contains(": all files exist already, with the same contents, for a plugin in Go"),
        "{}",
        same.stdout
    );

    fs::write(format!("{project}/main.go"), "package main // mine\n").unwrap();
    let again = informer(&["new", "hello", "--lang", "go", "--directory", project]).await;
    assert_eq!(again.status, Some(1), "{}", again.stdout);
    assert!(
        again.stderr.contains("main.go exists with other contents, and nothing was written")
            && again.stderr.contains("name another folder with --directory"),
        "{}",
        again.stderr
    );
}

#[tokio::test]
async fn new_prints_the_command_for_a_folder_with_a_blank_in_its_name() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("my plugins");
    let folder = folder.to_str().unwrap();

    let made = informer(&["new", "hello", "--lang", "c", "--directory", folder]).await;

    assert!(made.stdout.lines().any(|line| line == format!("  cd '{folder}'")), "{}", made.stdout);
}

#[tokio::test]
async fn a_path_that_is_not_utf_8_is_part_of_the_json_of_a_command() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join(OsStr::from_bytes(b"hell\xffo"));
    let configuration = folder.join("informer.toml");
    let json_of = async |arguments: &[&str], path: &Path| -> Value {
        let mut command = Command::new(binary::informer().await);
        let finished = command.args(arguments).arg(path).args(["--output", "json"]).output().await.unwrap();
        serde_json::from_slice(&finished.stdout)
            .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&finished.stderr)))
    };

    let made = json_of(&["new", "hello", "--lang", "c", "--directory"], &folder).await;
    fs::write(&configuration, "plugins = 1\n").unwrap();
    let checked = json_of(&["check", "--config"], &configuration).await;

    assert!(made["directory"].as_str().unwrap().ends_with("/hell\u{fffd}o"), "{made:#}");
    let problem = checked["problems"][0]["file"].as_str().unwrap();
    assert!(problem.ends_with("/hell\u{fffd}o/informer.toml"), "{checked:#}");
}

/// The compiler of this test writes down its folder, and runs until a file exists.
#[tokio::test]
async fn a_signal_while_dev_builds_ends_it_before_the_next_project() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let mut configuration = format!("[host]\nadmin = \"off\"\n{}", watch("apps/v1/deployments"));
    for name in ["one", "two"] {
        let folder = path(name);
        let made = informer(&["new", name, "--lang", "go", "--directory", folder.to_str().unwrap()]).await;
        assert_eq!(made.status, Some(0), "{}", made.stderr);
        let keys = plugin(name, &folder.join(format!("{name}.wasm")), "apps/v1/deployments", "");
        configuration += &keys.replace("[[plugin.on]]", &format!("build = {folder:?}\n[[plugin.on]]"));
    }
    fs::write(path("informer.toml"), configuration).unwrap();
    let (begun, end) = (path("begun"), path("end"));
    let script =
        format!("#!/bin/sh\npwd >> {begun:?}\nwhile [ ! -e {end:?} ]; do /bin/sleep 0.1; done\nexit 1\n");
    fs::create_dir(path("bin")).unwrap();
    fs::write(path("bin/go"), script).unwrap();
    fs::set_permissions(path("bin/go"), Permissions::from_mode(0o755)).unwrap();
    let programs = [("PATH", path("bin").into_os_string())];
    let mut dev =
        Running::start_with(&["dev", "--config", path("informer.toml").to_str().unwrap()], programs).await;
    let building = async {
        while !begun.exists() {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, building).await.unwrap();

    dev.signal("TERM").await;
    dev.logged("stopping").await;
    fs::write(end, "").unwrap();

    assert_eq!(dev.ended(PATIENCE).await.code(), Some(0));
    assert_eq!(fs::read_to_string(begun).unwrap().lines().count(), 1);
}

/// The other commands of the way are run by `tests/languages/dev.rs`.
#[tokio::test]
async fn three_commands_lead_from_an_empty_folder_to_a_running_handler_in_each_language() {
    for language in ["rust", "js", "ts", "python", "go", "c"] {
        let directory = tempfile::tempdir().unwrap();
        let folder = directory.path().join("hello");

        let folder_name = folder.to_str().unwrap();
        let made = informer(&["new", "hello", "--lang", language, "--directory", folder_name]).await;

        let after = commands_after_new(&made.stdout);
        // The first command is `informer new`.
        assert!(after.len() < 3, "{language}: {after:?}");
        let readme = fs::read_to_string(folder.join("README.md")).unwrap();
        let first = readme.split("```sh\n").nth(1).unwrap().lines().next().unwrap();
        assert!(first.starts_with(after.last().unwrap()), "{language}: {first}");
    }
}

#[tokio::test]
async fn an_engine_is_for_javascript_and_typescript() {
    let directory = tempfile::tempdir().unwrap();
    let new = async |language| {
        let folder = directory.path().join(language);
        let folder = folder.to_str().unwrap();
        informer(&["new", "hello", "--lang", language, "--engine", "starlingmonkey", "--directory", folder])
            .await
    };

    for language in ["js", "ts"] {
        assert_eq!(new(language).await.status, Some(0));
    }
    let refused = new("python").await;

    assert_eq!(refused.status, Some(1), "{}", refused.stderr);
    let why = "--engine is for --lang js and --lang ts; a plugin in Python has no engine to choose";
    assert!(refused.stderr.contains(why), "{}", refused.stderr);
    assert!(!directory.path().join("python").exists());
}

#[tokio::test]
async fn the_folder_of_an_sdk_is_for_rust() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("hello");
    let name = folder.to_str().unwrap();

    let refused = informer(&["new", "hello", "--lang", "go", "--sdk", ".", "--directory", name]).await;

    assert_eq!(refused.status, Some(1), "{}", refused.stdout);
    let why = "--sdk is for --lang rust; a project in Go contains its SDK";
    assert!(refused.stderr.contains(why), "{}", refused.stderr);
    assert!(!folder.exists());
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
        ("name = \"x\"\nlanguage = \"c\"\n[reads]\n\"v1/pods\" = [\"spec\"]", "reads: \"spec\": "),
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
        refused.stdout.contains("the host refuses it: a core module, not a component: `informer build`"),
        "{}",
        refused.stdout
    );
}

/// A component that imports functions of these names, which nothing has checked.
fn importing<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> Vec<u8> {
    // One type, which each import has: a function without parameters and without a result.
    let types = [1, 0x40, 0, 1, 0];
    let mut imports = leb128(names.len());
    for name in names {
        imports.extend([&[0], &*leb128(name.len()), name.as_bytes(), &[1, 0]].concat());
    }
    let section = |id: u8, content: &[u8]| [&[id], &*leb128(content.len()), content].concat();
    [b"\0asm\x0d\0\x01\0".as_slice(), &section(7, &types), &section(10, &imports)].concat()
}

fn leb128(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(u8::try_from(number & 0x7f).unwrap() | 0x80);
        number >>= 7;
    }
    bytes.push(u8::try_from(number).unwrap());
    bytes
}

/// Runs `inspect` and `check` on a component that no host would load. Returns what they print.
async fn judged(component: &[u8]) -> [Finished; 2] {
    let directory = tempfile::tempdir().unwrap();
    let (file, toml) = (directory.path().join("it.wasm"), directory.path().join("informer.toml"));
    fs::write(&file, component).unwrap();
    fs::write(&toml, watch("v1/configmaps") + &plugin("it", &file, "v1/configmaps", "")).unwrap();

    let inspected = informer(&["inspect", file.to_str().unwrap()]).await;
    let checked = informer(&["check", "--config", toml.to_str().unwrap()]).await;

    for refused in [&inspected, &checked] {
        assert_eq!(refused.status, Some(1), "{}{}", refused.stdout, refused.stderr);
    }
    [inspected, checked]
}

#[tokio::test]
async fn a_component_with_many_imports_is_shown_by_some_of_them() {
    let names: Vec<String> = (0..50_000).map(|number| format!("import-n{number}")).collect();

    let [inspected, checked] = judged(&importing(names.iter().map(String::as_str))).await;

    let lines: Vec<&str> = inspected.stdout.lines().filter(|line| line.starts_with("import")).collect();
    assert_eq!((lines.len(), lines[0]), (101, "import import-n0"));
    assert_eq!(lines[100], "imports: 49900 more, which `--output json` lists");
    for printed in [&inspected.stdout, &checked.stdout] {
        assert!(printed.len() < 4 << 10, "{} bytes", printed.len());
        assert!(printed.contains("the component does not export informer:plugin/handler@"), "{printed}");
    }
}

#[tokio::test]
async fn no_name_in_a_component_forges_a_line_or_turns_text_around() {
    // A name has at most 100,000 bytes.
    let long = "x".repeat(90_000);
    let forged = "a\ngrants: it needs none\u{202e}";

    let [inspected, checked] = judged(&importing([forged, &long].into_iter())).await;

    for printed in [&inspected.stdout, &checked.stdout] {
        assert!(!printed.contains('\u{202e}') && printed.len() < 4 << 10, "{printed}");
        assert!(!printed.lines().any(|line| line.starts_with("grants: ")), "{printed}");
    }
    let escaped = r"a\ngrants: it needs none\u{202e}";
    for (printed, around) in
        [(&inspected.stdout, ("import ", "\n")), (&checked.stdout, ("import name `", "`"))]
    {
        assert!(printed.contains(&format!("{}{escaped}{}", around.0, around.1)), "{printed}");
    }
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

    let older = write(&["--interface", "0.1.0", "--replace"]).await;
    assert!(older.stdout.ends_with("and 5 of another version removed\n"), "{}", older.stdout);
    assert!(!folder.join("timer.wit").exists() && handler.exists());
}

#[tokio::test]
async fn wit_writes_nothing_if_a_file_of_the_sdk_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let project = directory.path().join("hello");
    let folder = project.to_str().unwrap();
    assert_eq!(informer(&["new", "hello", "--lang", "c", "--directory", folder]).await.status, Some(0));
    fs::remove_dir_all(project.join("wit")).unwrap();
    fs::write(project.join("sdk/calls.c"), "// mine\n").unwrap();

    let refused = informer(&["wit", &format!("{folder}/wit")]).await;

    assert_eq!(refused.status, Some(1), "{}", refused.stdout);
    assert!(
        refused.stderr.contains("calls.c exists with other contents, and nothing was written"),
        "{}",
        refused.stderr
    );
    assert!(!project.join("wit").exists());
}
