//! The SDKs as packages: their unit tests, what is in a package, and a project that gets it from there.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;
use tokio::process::Command;

use crate::{
    guide::recipes,
    projects::{builds_projects, informer, lock_versions},
    story::typed_with_http,
};

/// The folder of an SDK.
fn folder(language: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins/sdk").join(language)
}

/// Runs a program, which must succeed, and returns what it printed.
async fn run(program: &str, arguments: &[&str], folder: &Path) -> String {
    let output = Command::new(program).args(arguments).current_dir(folder).output().await.unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{program} {arguments:?} in {}: {stdout}{stderr}", folder.display());
    stdout.into_owned()
}

/// All files below a folder, with their paths in it.
fn below(folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if entry.file_type().unwrap().is_dir() {
            found.extend(below(&entry.path()).into_iter().map(|path| format!("{name}/{path}")));
        } else {
            found.insert(name);
        }
    }
    found
}

/// The names in a folder.
fn files(folder: &Path) -> BTreeSet<String> {
    let entries =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    entries.collect()
}

#[tokio::test]
#[ignore = "needs Node.js: run by cargo xtask test --all"]
async fn the_unit_tests_of_the_javascript_sdk_pass() {
    let sdk = folder("javascript");
    let tests: Vec<String> =
        files(&sdk.join("test")).into_iter().filter(|name| name.ends_with(".test.js")).collect();
    assert!(tests.len() >= 2, "{tests:?}");
    let tests: Vec<String> = tests.into_iter().map(|name| format!("test/{name}")).collect();
    let mut arguments = vec!["--import", "./testing/register.js", "--test"];
    arguments.extend(tests.iter().map(String::as_str));

    let printed = run("node", &arguments, &sdk).await;

    assert!(printed.contains("# fail 0"), "{printed}");
}

#[tokio::test]
#[ignore = "needs Node.js: run by cargo xtask test --all"]
async fn a_project_uses_the_npm_package_of_the_javascript_sdk() {
    let scratch = tempfile::tempdir().unwrap();
    let arguments = ["pack", "--json", "--pack-destination", path(scratch.path())];
    let packed = run("npm", &arguments, &folder("javascript")).await;
    let packed: Value = serde_json::from_str(&packed).unwrap();
    let contained = packed[0]["files"].as_array().unwrap().iter();
    let contained: BTreeSet<String> =
        contained.map(|file| file["path"].as_str().unwrap().to_owned()).collect();
    informer(scratch.path(), &["new", "packed", "--lang", "js"]).await;
    let project = scratch.path().join("packed");
    assert_eq!(below(&project.join("sdk")), contained, "the binary and the package have the same files");

    fs::remove_dir_all(project.join("sdk")).unwrap();
    let package = scratch.path().join(packed[0]["filename"].as_str().unwrap());
    run("npm", &["install", "--no-audit", "--no-fund", "--offline", path(&package)], &project).await;
    informer(&project, &["build"]).await;

    assert!(project.join("packed.wasm").is_file());
}

/// The declarations in `types` are those that TypeScript makes of the sources, which have the comments. With
/// `INFORMER_WRITE_TYPES=1` they are written.
#[tokio::test]
#[ignore = "needs Node.js: run by cargo xtask test --all"]
async fn the_types_of_the_javascript_sdk_fit_its_sources_and_the_projects_in_typescript() {
    let scratch = tempfile::tempdir().unwrap();
    let sdk = folder("javascript");
    let toolchain = scratch.path().join("typescript");
    fs::create_dir(&toolchain).unwrap();
    for name in ["package.json", "package-lock.json"] {
        fs::copy(sdk.join("test/typescript").join(name), toolchain.join(name)).unwrap();
    }
    run("npm", &["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"], &toolchain).await;
    let tsc = toolchain.join("node_modules/typescript/bin/tsc");
    for arguments in
        [&["new", "handler", "--lang", "ts"][..], &["new", "reconciler", "--lang", "ts", "--reconciler"]]
    {
        informer(scratch.path(), arguments).await;
        let project = scratch.path().join(arguments[1]);
        informer(&project, &["build"]).await;
        run("node", &[path(&tsc), "--project", path(&project)], scratch.path()).await;
    }
    // The block of TypeScript in the author's guide.
    let project = scratch.path().join("handler");
    fs::write(project.join("src/index.ts"), recipes("ts")).unwrap();
    run("node", &[path(&tsc), "--project", path(&project)], scratch.path()).await;
    informer(&project, &["build"]).await;
    // What uses all of the SDK. Its project has the declarations of all interfaces.
    fs::write(project.join("src/index.ts"), typed_with_http()).unwrap();
    run("node", &[path(&tsc), "--project", path(&project)], scratch.path()).await;
    let (made, kept) = (scratch.path().join("types"), sdk.join("types"));
    declare(&tsc, &[&sdk.join("src/index.js"), &project.join("bindings/informer.d.ts")], &made).await;

    let update = std::env::var_os("INFORMER_WRITE_TYPES").is_some();
    let mut names = files(&made);
    for name in &names {
        let text = fs::read_to_string(made.join(name)).unwrap();
        if update {
            fs::write(kept.join(name), &text).unwrap();
        }
        assert_eq!(fs::read_to_string(kept.join(name)).unwrap(), text, "{name}");
    }
    // Written by hand: the engine has no such name itself.
    names.insert("global.d.ts".to_owned());
    assert_eq!(files(&kept), names);
}

#[tokio::test]
#[ignore = "needs Python: run by cargo xtask test --all"]
async fn the_unit_tests_of_the_python_sdk_pass() {
    let mut python = Command::new("python3");
    python.args(["-B", "-m", "unittest", "discover", "--start-directory", "tests"]).env("PYTHONPATH", ".");

    let output = python.current_dir(folder("python")).output().await.unwrap();

    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && printed.contains("Ran 68 tests"), "{printed}");
}

#[tokio::test]
#[ignore = "needs Python: run by cargo xtask test --all"]
async fn the_wheel_of_the_python_sdk_has_the_files_of_the_binary() {
    let scratch = tempfile::tempdir().unwrap();
    informer(scratch.path(), &["new", "packed", "--lang", "python"]).await;
    let sdk = scratch.path().join("packed/sdk");
    let wheel =
        ["-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", path(scratch.path()), path(&sdk)];

    run("python3", &wheel, scratch.path()).await;

    let wheel = scratch.path().join("informer_sdk-0.1.0-py3-none-any.whl");
    let listed = run("python3", &["-m", "zipfile", "--list", path(&wheel)], scratch.path()).await;
    for file in below(&sdk.join("informer_sdk")) {
        assert!(listed.contains(&format!("informer_sdk/{file} ")), "{listed} lacks {file}");
    }
}

/// Nothing is uploaded. The project compiles what is in the packages, for WebAssembly and natively for its unit tests.
#[tokio::test]
#[ignore = "asks crates.io: run by cargo xtask test --all"]
async fn a_project_uses_the_crates_that_would_be_published() {
    let scratch = tempfile::tempdir().unwrap();
    let crates = ["--package", "informer-sdk", "--package", "informer-types", "--no-verify", "--allow-dirty"];
    let into = ["--target-dir", path(scratch.path())];

    run("cargo", &[&["publish", "--dry-run"][..], &crates, &into].concat(), &folder("rust")).await;

    run("cargo", &[&["package", "--offline"][..], &crates, &into].concat(), &folder("rust")).await;
    for name in ["informer-sdk", "informer-types"] {
        let archive = scratch.path().join(format!("package/{name}-0.1.0.crate"));
        run("tar", &["-xzf", path(&archive)], scratch.path()).await;
    }
    let sdk = scratch.path().join("informer-sdk-0.1.0");
    informer(scratch.path(), &["new", "packed", "--lang", "rust", "--sdk", path(&sdk)]).await;
    let project = scratch.path().join("packed");
    lock_versions(&project);
    let manifest = project.join("Cargo.toml");
    let types = "\n[patch.crates-io]\ninformer-types = { path = \"../informer-types-0.1.0\" }\n";
    let text = fs::read_to_string(&manifest).unwrap() + types;
    fs::write(manifest, text).unwrap();
    informer(&project, &["build"]).await;
    informer(&project, &["test"]).await;

    let mut tests = Command::new("cargo");
    tests.arg("test").current_dir(&project);
    builds_projects(&mut tests);
    let output = tests.output().await.unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && stdout.contains("1 passed"), "{stdout}{stderr}");
}

/// Checks the sources, and writes their declarations into a folder.
async fn declare(tsc: &Path, sources: &[&Path], made: &Path) {
    let output = [
        "--allowJs",
        "--checkJs",
        "--strict",
        "--declaration",
        "--emitDeclarationOnly",
        "--outDir",
        path(made),
    ];
    let language =
        ["--target", "es2023", "--module", "es2022", "--moduleResolution", "bundler", "--lib", "es2023"];
    let sources: Vec<&str> = sources.iter().map(|source| path(source)).collect();
    run("node", &[&[path(tsc)][..], &output, &language, &sources].concat(), tsc.parent().unwrap()).await;
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}
