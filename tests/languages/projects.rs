//! What `informer new` writes, built by `informer build` with the toolchain of each language.
//!
//! `cargo test ... --test languages projects -- --include-ignored --nocapture` prints how long each build takes, and the size.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use informer_tests::{
    binary,
    host::{PATIENT, TestHost},
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    process::Command,
    time::{sleep, timeout},
};

use crate::cluster::Cluster;

const LANGUAGES: [&str; 6] = ["rust", "js", "ts", "python", "go", "c"];

/// The deadline for compiling all components, two of which have 18 MB (Python), on a busy build machine.
const COMPILED_WITHIN: Duration = Duration::from_secs(600);

/// A project in a folder outside the repository.
struct Project {
    name: String,
    folder: PathBuf,
}

// === impl Project ===

impl Project {
    async fn new(scratch: &TempDir, language: &str, kind: &str) -> Self {
        let name = format!("{language}-{kind}");
        let flags: &[&str] = if kind == "reconciler" { &["--reconciler"] } else { &[] };
        let folder = new_project(scratch.path(), &name, language, flags).await;
        let configuration = folder.join("informer.toml");
        let text = fs::read_to_string(&configuration).unwrap();
        fs::write(&configuration, format!("[host]\n{PATIENT}{text}")).unwrap();
        let project = Self { name, folder };
        let begun = Instant::now();
        let built = project.build().await;
        let cold = begun.elapsed().as_secs_f64();
        println!("{}: built in {cold:.1} s, {} bytes", project.name, built["bytes"]);
        // The toolchain of Python needs as long as the first time, and nothing of it depends on what was built before.
        if kind == "handler" && language != "python" {
            project.build().await;
            println!("{}: built again in {:.1} s", project.name, begun.elapsed().as_secs_f64() - cold);
        }
        project.play().await;
        project
    }

    /// Plays the story that came with the project.
    async fn play(&self) {
        let begun = Instant::now();
        let played = command(&self.folder, &["test"]).await.output().await.unwrap();
        let (stdout, stderr) =
            (String::from_utf8_lossy(&played.stdout), String::from_utf8_lossy(&played.stderr));
        assert!(played.status.success(), "{}: {stdout}{stderr}", self.name);
        println!("{}: its story took {:.1} s", self.name, begun.elapsed().as_secs_f64());
    }

    async fn build(&self) -> Value {
        let printed = informer(&self.folder, &["build", "--output", "json"]).await;
        let built: Value = serde_json::from_str(&printed).unwrap();
        assert_eq!(built["file"], json!(format!("./{}.wasm", self.name)));
        built
    }

    /// The configuration that came with the project, with the whole path of the component, and without the watch, which all
    /// projects share.
    fn configuration(&self) -> String {
        let text = fs::read_to_string(self.folder.join("informer.toml")).unwrap();
        let plugin = text.split_once("[[plugin]]").unwrap().1;
        let component = format!("{}.wasm", self.name);
        format!("[[plugin]]{}", plugin.replace(&component, self.folder.join(&component).to_str().unwrap()))
    }
}

/// The SDK for Rust, which is not published.
pub(crate) fn sdk() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins/sdk/rust").canonicalize().unwrap()
}

/// Runs `informer new`, and returns the folder of the project.
pub(crate) async fn new_project(folder: &Path, name: &str, language: &str, flags: &[&str]) -> PathBuf {
    let sdk = sdk();
    let of_rust = ["--sdk", sdk.to_str().unwrap()];
    // The other projects contain their SDK.
    let of_language: &[&str] = if language == "rust" { &of_rust } else { &[] };
    let arguments = ["new", name, "--lang", language];
    informer(folder, &[arguments.as_slice(), of_language, flags].concat()).await;
    let project = folder.join(name);
    lock_versions(&project);
    project
}

/// Gives a project in Rust the versions of the workspace: the build resolves nothing anew.
pub(crate) fn lock_versions(project: &Path) {
    let lock = project.join("Cargo.lock");
    if project.join("Cargo.toml").is_file() && !lock.is_file() {
        fs::copy(sdk().join("../../../Cargo.lock"), lock).unwrap();
    }
}

/// Adds the crates that plugins with JSON of their own and with HTTP requests use.
pub(crate) fn depends_on_serde(project: &Path) {
    let manifest = project.join("Cargo.toml");
    let depends = "[dependencies]\nserde = { version = \"1\", features = [\"derive\"] }\nserde_json = \"1\"\nwasip2 = \"1\"\n";
    let text = fs::read_to_string(&manifest).unwrap().replace("[dependencies]\n", depends);
    fs::write(manifest, text).unwrap();
}

/// The flags of `informer new` that choose an engine.
pub(crate) fn in_engine(engine: Option<&str>) -> Vec<&str> {
    engine.map_or(Vec::new(), |engine| vec!["--engine", engine])
}

pub(crate) async fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(binary::informer().await);
    command.args(arguments).current_dir(folder);
    builds_projects(&mut command);
    command
}

/// Projects in Rust share what they depend on. Flags for the tests are not valid for a guest.
pub(crate) fn builds_projects(command: &mut Command) {
    command.env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("projects"));
    for flags in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER"] {
        command.env_remove(flags);
    }
}

/// Runs the binary, which must succeed, and returns what it printed.
pub(crate) async fn informer(folder: &Path, arguments: &[&str]) -> String {
    let output = command(folder, arguments).await.output().await.unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?} in {}: {stderr}", folder.display());
    String::from_utf8(output.stdout).unwrap()
}

/// Builds a project with a mistake, and returns the error of the build.
async fn refused(project: &Path) -> String {
    let output = command(project, &["build"]).await.output().await.unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{} is built: {stderr}", project.display());
    stderr
}

/// A host with all projects. Its caches are empty, and all plugins serve.
async fn host(projects: &[Project], cluster: &Cluster) -> TestHost {
    let plugins = projects.iter().map(Project::configuration);
    let watch = "[[watch]]\ngvr = \"apps/v1/deployments\"\n".to_owned();
    let host = TestHost::start(&cluster.server.url(), &(watch + &plugins.collect::<String>())).await.unwrap();
    let compiled = async {
        while !host.unready().is_empty() {
            sleep(Duration::from_millis(100)).await;
        }
    };
    let compiled = timeout(COMPILED_WITHIN, compiled).await;
    assert!(compiled.is_ok(), "not ready: {:?}\n{:#}", host.unready(), host.status());
    host.synced().await;
    host
}

/// Waits until each plugin has logged these lines, and no other.
async fn all_said(host: &TestHost, projects: &[Project], expected: &[String]) {
    for project in projects {
        let what = expected.last().unwrap();
        host.lines.until(&project.name, what, |lines| lines.len() >= expected.len()).await;
        assert_eq!(host.lines.of(&project.name), expected, "{}", project.name);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Node.js, Python and Go: run by cargo xtask test --all"]
async fn a_new_project_in_each_language_builds_and_handles_each_change() {
    let scratch = tempfile::tempdir().unwrap();
    let mut projects = Vec::new();
    for language in LANGUAGES {
        projects.push(Project::new(&scratch, language, "handler").await);
    }
    let cluster = Cluster::start().await;
    let host = host(&projects, &cluster).await;

    let mut expected = Vec::new();
    cluster.deployments.create("web").await;
    expected.push("added default/web: 1 x nginx:1.29, 1 in default, change 1".to_owned());
    all_said(&host, &projects, &expected).await;
    cluster.deployments.patch("web", json!({"spec": {"replicas": 3}})).await;
    expected.push("updated default/web: 3 x nginx:1.29, 1 in default, change 2".to_owned());
    all_said(&host, &projects, &expected).await;
    cluster.delete("web").await;
    expected.push("deleted default/web after 2 changes".to_owned());
    all_said(&host, &projects, &expected).await;

    let report = host.stop().await;
    assert!(report.undelivered.is_empty(), "{report:?}");
    cluster.server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Node.js, Python and Go: run by cargo xtask test --all"]
async fn a_new_reconciler_in_each_language_builds_and_gets_the_key_of_each_change() {
    let scratch = tempfile::tempdir().unwrap();
    let mut projects = Vec::new();
    for language in LANGUAGES {
        projects.push(Project::new(&scratch, language, "reconciler").await);
    }
    let cluster = Cluster::start().await;
    let host = host(&projects, &cluster).await;

    let mut expected = Vec::new();
    cluster.deployments.create("web").await;
    expected.push("reconciled default/web: 1 x nginx:1.29".to_owned());
    all_said(&host, &projects, &expected).await;
    cluster.deployments.patch("web", json!({"spec": {"replicas": 3}})).await;
    expected.push("reconciled default/web: 3 x nginx:1.29".to_owned());
    all_said(&host, &projects, &expected).await;
    cluster.delete("web").await;
    expected.push("default/web is gone".to_owned());
    all_said(&host, &projects, &expected).await;

    host.stop().await;
    cluster.server.shutdown().await;
}

/// Its SDK and its WIT files are part of it. Those of the SDK differ in the version that they import.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Node.js: run by cargo xtask test --all"]
async fn a_project_that_was_made_for_the_version_before_still_builds() {
    let scratch = tempfile::tempdir().unwrap();
    let project = new_project(scratch.path(), "old", "js", &[]).await;
    fs::remove_dir_all(project.join("wit")).unwrap();
    informer(&project, &["wit", "wit", "--interface", "0.1.0"]).await;
    for source in fs::read_dir(project.join("sdk/src")).unwrap() {
        let source = source.unwrap().path();
        let text = fs::read_to_string(&source).unwrap().replace("@0.2.0\"", "@0.1.0\"");
        fs::write(source, text).unwrap();
    }

    informer(&project, &["build"]).await;

    let inspected = informer(&project, &["inspect", "old.wasm"]).await;
    for line in ["interface: informer:plugin@0.1.0", "export informer:plugin/handler@0.1.0"] {
        assert!(inspected.lines().any(|found| found == line), "{inspected}");
    }
    assert!(!inspected.contains("-handler@"), "{inspected}");
}

/// What would never be called is an error of the build. In the other languages a function that is defined is exported.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Node.js and Python: run by cargo xtask test --all"]
async fn a_function_for_timers_that_is_not_exported_is_an_error_of_the_build() {
    let scratch = tempfile::tempdir().unwrap();
    let js = "import { definePlugin } from \"informer-sdk\";\n\
              export const { plugin, handler } = definePlugin({ onAdd() {}, onTimer() {} });\n";
    let python = "from informer_sdk import App\n\napp = App()\napp.on_add(print)\napp.on_timer(print)\n\
                  Plugin, Handler = app.Plugin, app.Handler\n";
    for (language, source, text, wanted) in [
        ("js", "src/index.js", js, "src/index.js has `onTimer` and does not export `timerHandler`"),
        ("python", "src/app.py", python, "src/app.py has no `TimerHandler = app.TimerHandler`"),
    ] {
        let project = new_project(scratch.path(), &format!("half-{language}"), language, &[]).await;
        fs::write(project.join(source), text).unwrap();

        let error = refused(&project).await;

        assert!(error.contains(wanted), "{language}: {error}");
    }

    // The build reads the source of `app.py`, which does not show what `import *` imports.
    let project = new_project(scratch.path(), "half-star", "python", &[]).await;
    fs::write(project.join("src/app.py"), "from handlers import *\n").unwrap();
    fs::write(project.join("src/handlers.py"), format!("{python}TimerHandler = app.TimerHandler\n")).unwrap();

    let error = refused(&project).await;

    assert!(error.contains("src/app.py has no `TimerHandler = app.TimerHandler`"), "{error}");
}

/// Plugins with a handler and a reconciler: the language, the source, its text, and how the error of the build begins.
const BOTH: [(&str, &str, &str, &str); 6] = [
    (
        "js",
        "src/index.js",
        "import { definePlugin } from \"informer-sdk\";\n\
         export const { plugin, handler } = definePlugin({ onAdd() {}, reconcile() {} });\n",
        "src/index.js has `reconcile`, which the host would never call",
    ),
    (
        "js",
        "src/index.js",
        "import { definePlugin } from \"informer-sdk\";\n\
         export const { plugin, handler, reconciler } = definePlugin({ onAdd() {}, reconcile() {} });\n",
        "src/index.js exports `reconciler`, which the host would never call",
    ),
    (
        "ts",
        "src/index.ts",
        "import { definePlugin } from \"informer-sdk\";\n\
         export const { plugin, handler } = definePlugin({ onAdd() {}, reconcile() {} });\n",
        "src/index.ts has `reconcile`, which the host would never call",
    ),
    (
        "python",
        "src/app.py",
        "from informer_sdk import App\n\napp = App()\napp.on_add(print)\napp.reconcile(print)\n\
         Plugin, Handler = app.Plugin, app.Handler\n",
        "@app.reconcile is registered, and the host would never call it",
    ),
    (
        "go",
        "main.go",
        r#"package main

import (
	"context"

	informer "github.com/informer-host/informer/plugins/sdk/go"
	"github.com/informer-host/informer/plugins/sdk/go/handler"
	"github.com/informer-host/informer/plugins/sdk/go/reconciler"
)

func init() {
	handler.Register(handler.Funcs{})
	reconciler.Register(reconcile)
}

func main() {}

func reconcile(context.Context, informer.Key) (reconciler.Result, error) { return reconciler.Result{}, nil }
"#,
        "the plugin imports `reconciler` of the SDK, which the host would never call",
    ),
    (
        "c",
        "src/plugin.c",
        "#include \"informer.h\"\n\n\
         informer_result informer_on_add(const informer_object *object) { return informer_done(); }\n\
         informer_result informer_reconcile(const char *key) { return informer_done(); }\n",
        "src/plugin.c defines `informer_reconcile`, which the host would never call",
    ),
];

/// The world of a new project exports handlers, and no reconciler.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Node.js, Python, Go and zig or a WASI SDK: run by cargo xtask test --all"]
async fn a_handler_that_the_world_does_not_export_is_an_error_of_the_build() {
    let scratch = tempfile::tempdir().unwrap();
    let why = "the world `event-handler-with-standard` of informer-plugin.toml does not export `reconciler`; choose the world \
               `controller-with-handlers-and-standard` (exports handler and reconciler) or";
    for (index, (language, source, text, seen)) in BOTH.into_iter().enumerate() {
        let project = new_project(scratch.path(), &format!("never-{index}"), language, &[]).await;
        fs::write(project.join(source), text).unwrap();

        let error = refused(&project).await;

        assert!(error.contains(&format!("{seen}: {why}")), "{language}: {error}");
    }
}

/// The world of a new project exports `handler`, which the host does not call beside a function for batches.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Node.js, Python and Go: run by cargo xtask test --all"]
async fn a_function_for_batches_in_a_world_with_handlers_is_an_error_of_the_build() {
    let scratch = tempfile::tempdir().unwrap();
    let js = "import { definePlugin } from \"informer-sdk\";\n\
              export const { plugin, batchHandler } = definePlugin({ onBatch: (all) => all.map(() => undefined) });\n";
    let python = "from informer_sdk import App\n\napp = App()\napp.on_batch(lambda all: [None for one in all])\n\
                  Plugin, BatchHandler = app.Plugin, app.BatchHandler\n";
    let go = r#"package main

import (
	"context"

	"github.com/informer-host/informer/plugins/sdk/go/batchhandler"
)

func init() { batchhandler.Register(onBatch) }

func main() {}

func onBatch(_ context.Context, all []batchhandler.Notification) []batchhandler.Outcome {
	return make([]batchhandler.Outcome, len(all))
}
"#;
    for (language, source, text) in
        [("js", "src/index.js", js), ("python", "src/app.py", python), ("go", "main.go", go)]
    {
        let project = new_project(scratch.path(), &format!("batches-{language}"), language, &[]).await;
        fs::write(project.join(source), text).unwrap();

        let error = refused(&project).await;

        let right = "choose the world `batch-event-handler-with-standard` (exports batch-handler) and remove the handlers";
        assert!(error.contains(right), "{language}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Python and Go: run by cargo xtask test --all"]
async fn a_world_whose_handlers_are_missing_is_an_error_of_the_build() {
    let scratch = tempfile::tempdir().unwrap();
    for (language, seen) in [
        (
            "python",
            "src/app.py has no `Reconciler`: the world `controller-with-handlers` of informer-plugin.toml needs `Plugin, Handler, Rec",
        ),
        (
            "go",
            "the plugin does not import `reconciler` of the SDK: the world `controller-with-handlers` of informer-plugin.toml exports `rec",
        ),
    ] {
        let project = new_project(scratch.path(), &format!("half-{language}"), language, &[]).await;
        let manifest = project.join("informer-plugin.toml");
        let text = fs::read_to_string(&manifest).unwrap();
        fs::write(manifest, text.replace("event-handler-with-standard", "controller-with-handlers")).unwrap();

        let error = refused(&project).await;

        assert!(error.contains(seen), "{language}: {error}");
    }
}

/// Python imports modules of the folder that it runs in before its own.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Python with pip: run by cargo xtask test --all"]
async fn a_project_in_python_builds_from_a_folder_with_modules_that_have_names_of_python() {
    let scratch = tempfile::tempdir().unwrap();
    new_project(scratch.path(), "hello", "python", &[]).await;
    for module in ["ast.py", "json.py", "pathlib.py"] {
        fs::write(scratch.path().join(module), "raise RuntimeError(__file__)\n").unwrap();
    }

    informer(scratch.path(), &["build", "hello"]).await;

    assert!(scratch.path().join("hello/hello.wasm").is_file());
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Node.js: run by cargo xtask test --all"]
async fn http_requests_in_quickjs_are_an_error_of_the_build_that_names_the_other_engine() {
    let scratch = tempfile::tempdir().unwrap();
    let project = new_project(scratch.path(), "caller", "js", &[]).await;
    let source = "import { definePlugin, http } from \"informer-sdk\";\n\
                  export const { plugin, handler } = definePlugin({ onAdd() { http.fetch(\"https://a/\"); } });\n";
    fs::write(project.join("src/index.js"), source).unwrap();

    let error = refused(&project).await;

    let wanted =
        "src/index.js sends HTTP requests, which QuickJS cannot: write `engine = \"starlingmonkey\"` into";
    assert!(error.contains(wanted), "{error}");
}
