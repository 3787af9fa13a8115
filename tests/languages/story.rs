//! One story for the SDK of each language: what a plugin does with it on the embedded API server, and what the host sees.

use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
};

use axum::{
    Router,
    body::Bytes,
    http::{HeaderMap, HeaderValue, Method, StatusCode},
    routing::any,
};
use informer_tests::host::TestHost;
use k8s_openapi::api::events::v1::Event;
use kube::{Api, Client, api::ListParams};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::{
    cluster::{Cluster, WATCH},
    projects::{depends_on_serde, in_engine, informer, new_project},
};

/// A plugin that tells the story.
struct Teller {
    language: &'static str,
    /// The source that `informer new` writes, which the story replaces, and the story.
    source: &'static str,
    story: &'static str,
    /// What the text of a failure contains besides the message: the class and the function that failed.
    traces: [&'static str; 3],
    /// The class of an error of the host.
    refused: &'static str,
    /// The SDK sends HTTP requests. QuickJS has no bindings for `wasi:http`.
    http: bool,
    /// The engine, if the language has several and it is not the usual one.
    engine: Option<&'static str>,
}

const RUST: Teller = Teller {
    language: "rust",
    source: "src/lib.rs",
    story: include_str!("story/story.rs"),
    // A failure in Rust has no stack: a panic is a trap, which has one.
    traces: ["handler: ", "boom: bad has ", " labels"],
    refused: "not-granted: reading v1/secrets is not granted",
    http: true,
    engine: None,
};

const JAVASCRIPT: Teller = Teller {
    language: "js",
    source: "src/index.js",
    story: include_str!("story/story.js"),
    traces: ["PermanentError: boom", "at explode (", "caused by RangeError: far"],
    refused: "HostError: not-granted: ",
    http: false,
    engine: None,
};

/// TypeScript is compiled to JavaScript, which makes the stacks.
const TYPESCRIPT: Teller = Teller { language: "ts", source: "src/index.ts", story: TYPED, ..JAVASCRIPT };

const GO: Teller = Teller {
    language: "go",
    source: "main.go",
    story: include_str!("story/story.go"),
    traces: [
        "panic: runtime error: index out of range [3] with length 0",
        "main.explode (example.com/story/main.go:",
        "main.teller.OnAdd (",
    ],
    refused: "default/x: not-granted: ",
    http: true,
    engine: None,
};

const C: Teller = Teller {
    language: "c",
    source: "src/plugin.c",
    story: include_str!("story/story.c"),
    // C has no stack to show.
    traces: ["handler: ", "boom: bad has ", " labels"],
    refused: "not-granted: reading v1/secrets is not granted",
    http: true,
    engine: None,
};

const PYTHON: Teller = Teller {
    language: "python",
    source: "src/app.py",
    story: include_str!("story/story.py"),
    traces: ["PermanentError: boom", ", in explode", "caused by IndexError: list index out of range"],
    refused: "HostError: not-granted: ",
    http: true,
    engine: None,
};

/// TypeScript in the other engine, which can send HTTP requests. Its stacks have other words.
const STARLINGMONKEY: Teller = Teller {
    traces: ["PermanentError: boom", "explode@", "caused by RangeError: far"],
    http: true,
    engine: Some("starlingmonkey"),
    ..TYPESCRIPT
};

/// The story in TypeScript, whose types are checked elsewhere.
pub(crate) const TYPED: &str = include_str!("story/story.ts");

/// The story in TypeScript with HTTP requests.
pub(crate) fn typed_with_http() -> String {
    let (without, with) = ("  // QuickJS sends no HTTP requests.\n", "  call();\n");
    assert!(TYPED.contains(without));
    TYPED.replace(without, with) + include_str!("story/http.ts")
}

/// What a second plugin with the same component has. Signals may start another instance, which knows nothing of the writes of the first,
/// so the plugin that tells the story gets none but `on-synced`.
const TIMER: &str = "labels = \"app=again\"\n\n[[plugin.timer]]\nname = \"tick\"\nevery = \"1s\"\n";

const GRANTS: &str = r#"

  [plugin.retry]
  min = "1ms"
  max = "2ms"
  attempts = 2

  [plugin.grant]
  read = ["apps/v1/deployments"]
  write = ["update,patch,apply apps/v1/deployments", "create events.k8s.io/v1/events"]
  keyvalue = "64KiB"
  http = ["POST SERVER/hook"]

  [plugin.config]
  greeting = "hello"
  url = "SERVER"
"#;

/// How the line begins that some languages write when the component is built.
const BUILT: &str = "this line is written when";

/// What the plugin logs, in order.
const LINES: [&str; 11] = [
    "started",
    "pages: again,api,cache,go,web",
    "refused: not-granted",
    "missing: not-found 404",
    "http: 201 calm, POST späti",
    "http: 10000 bytes",
    "denied: http-request-denied",
    "changed at attempt 2: changed",
    "kept: späti 🦀, 2, 2 keys",
    "applied: yes",
    "own write: true, differs: true",
];

/// How the lines about HTTP requests begin.
const OF_HTTP: [&str; 2] = ["http: ", "denied: "];

/// What the plugin with the signals logs, in any order.
const SIGNALS: [&str; 7] = [
    "again: resync",
    "started",
    "synced: apps/v1/deployments, version: true, cache: true true",
    "taken: invalid",
    "timer: soon, again: invalid",
    "timer: tick, again: invalid",
    "values: again 1, api 1, cache 1, web 1",
];

// === impl Teller ===

impl Teller {
    async fn tells(&self) {
        let scratch = tempfile::tempdir().unwrap();
        let project = new_project(scratch.path(), "story", self.language, &in_engine(self.engine)).await;
        let story = if self.engine.is_some() { typed_with_http() } else { self.story.to_owned() };
        fs::write(project.join(self.source), story).unwrap();
        if self.language == "rust" {
            depends_on_serde(&project);
        }
        informer(&project, &["build"]).await;
        let component = project.join("story.wasm");
        let cluster = Cluster::start().await;
        for name in ["again", "api", "cache", "web"] {
            cluster.deployments.create(name).await;
        }
        let files = scratch.path().join("files");
        fs::create_dir(&files).unwrap();
        let url = answering().await;
        let mut configuration = format!("{WATCH}index = {{ app = \"/metadata/labels/app\" }}\n");
        let plugins = [
            ("story", String::new(), "labels = \"app!=again\"\n"),
            ("signals", format!("config-files = [{files:?}]\n"), TIMER),
        ];
        for (name, files, subscribed) in plugins {
            configuration += &format!("[[plugin]]\nname = {name:?}\nsource = {component:?}\n{files}");
            configuration += "[[plugin.on]]\nwatch = \"apps/v1/deployments\"\n";
            configuration += &(subscribed.to_owned() + &GRANTS.replace("SERVER", &url));
        }
        let host = TestHost::start(&cluster.server.url(), &configuration).await.unwrap();
        host.synced().await;

        self.gets_signals(&host, &files).await;
        cluster.deployments.create("go").await;
        host.lines.said("story", "own write: ", "").await;
        let lines = host.lines.of("story");
        let told = lines.iter().filter(|line| !line.starts_with(BUILT));
        let expected =
            LINES.iter().filter(|line| self.http || !OF_HTTP.iter().any(|of| line.starts_with(of)));
        assert_eq!(
            told.collect::<Vec<_>>(),
            expected.collect::<Vec<_>>(),
            "{} {:?}",
            self.language,
            self.engine
        );
        assert_eq!(events(&cluster).await, ["Told: the story"]);
        self.fails(&host, &cluster).await;

        host.stop().await;
        cluster.server.shutdown().await;
    }

    /// Each signal reaches its function, and a failure names its function.
    async fn gets_signals(&self, host: &TestHost, files: &Path) {
        let told = |lines: &[String]| {
            let told: BTreeSet<String> =
                lines.iter().filter(|line| !line.starts_with(BUILT)).cloned().collect();
            told.into_iter().collect::<Vec<_>>()
        };
        host.lines.until("signals", "all signals", |lines| told(lines).len() >= SIGNALS.len()).await;
        assert_eq!(told(&host.lines.of("signals")), SIGNALS, "{}", self.language);
        let failure = dead_letter(host, "signals", "/signals/dropped-keys", "timer bad").await;
        for trace in &self.traces[..2] {
            assert!(failure.contains(trace), "{} has no `{trace}`: {failure}", self.language);
        }
        // The host may not have looked at the files yet, so they change until it notices.
        let round = AtomicUsize::new(0);
        let mood = files.join("mood");
        host.until("the change is noticed", |_| {
            fs::write(&mood, ["calm", "glad"][round.fetch_add(1, Ordering::Relaxed) % 2]).unwrap();
            let lines = host.lines.of("signals");
            lines.iter().any(|line| ["config: hello calm", "config: hello glad"].contains(&line.as_str()))
        })
        .await;
    }

    /// Each failure is one of the interface, and says what has happened.
    async fn fails(&self, host: &TestHost, cluster: &Cluster) {
        cluster.deployments.create("later").await;
        host.lines.said("story", "later: attempt 2", "").await;
        cluster.deployments.create("bad").await;
        let failure = dead_letter(host, "story", "/dead-letters", "default/bad").await;
        for trace in self.traces {
            assert!(failure.contains(trace), "{} has no `{trace}`: {failure}", self.language);
        }
        cluster.deployments.create("uncaught").await;
        let failure = dead_letter(host, "story", "/dead-letters", "default/uncaught").await;
        assert!(failure.contains(self.refused), "{}: {failure}", self.language);
        assert_eq!(host.plugin("story")["calls"]["failures"], json!({"handler": 4}), "no call trapped");
    }
}

/// The failure of the dead letter of an object or a signal. `letters` is their place in the status of the plugin.
async fn dead_letter(host: &TestHost, plugin: &str, letters: &str, key: &str) -> String {
    let letter = || {
        let plugin = host.plugin(plugin);
        let letters = plugin.pointer(letters).and_then(Value::as_array).cloned().unwrap_or_default();
        letters.into_iter().find(|letter| letter.to_string().contains(key))
    };
    host.until(key, |_| letter().is_some()).await;
    letter().and_then(|letter| letter["failure"].as_str().map(str::to_owned)).unwrap()
}

/// A server that answers with what it hears: the mood, the method and the body. Returns its URL.
async fn answering() -> String {
    let answer = async |method: Method, headers: HeaderMap, body: Bytes| {
        let mood = headers.get("x-mood").cloned().unwrap_or(HeaderValue::from_static("none"));
        (StatusCode::CREATED, [("x-heard", mood)], [method.as_str().as_bytes(), b" ", &body].concat())
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let router = Router::new().fallback(any(answer));
    tokio::spawn(axum::serve(listener, router).into_future());
    url
}

/// The reasons and notes of all Events.
async fn events(cluster: &Cluster) -> Vec<String> {
    let config = kube::Config::new(cluster.server.url().parse().unwrap());
    let events: Api<Event> = Api::all(Client::try_from(config).unwrap());
    let events = events.list(&ListParams::default()).await.unwrap();
    let text =
        |event: Event| format!("{}: {}", event.reason.unwrap_or_default(), event.note.unwrap_or_default());
    events.into_iter().map(text).collect()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Node.js: run by cargo xtask test --all"]
async fn a_plugin_in_javascript_tells_the_story_with_its_sdk() {
    JAVASCRIPT.tells().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Node.js: run by cargo xtask test --all"]
async fn a_plugin_in_typescript_tells_the_story_with_its_sdk() {
    TYPESCRIPT.tells().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Node.js: run by cargo xtask test --all"]
async fn a_plugin_in_typescript_tells_the_story_in_the_engine_starlingmonkey() {
    STARLINGMONKEY.tells().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "builds a project: run by cargo xtask test --all"]
async fn a_plugin_in_rust_tells_the_story_with_its_sdk() {
    RUST.tells().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn a_plugin_in_go_tells_the_story_with_its_sdk() {
    GO.tells().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zig, a WASI SDK or Python: run by cargo xtask test --all"]
async fn a_plugin_in_c_tells_the_story_with_its_sdk() {
    C.tells().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Python: run by cargo xtask test --all"]
async fn a_plugin_in_python_tells_the_story_with_its_sdk() {
    PYTHON.tells().await;
}
