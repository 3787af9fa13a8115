//! 10,000 calls of a reconciler in each language: every second one fails, and neither the guest nor the host grows. An object of 1 MiB
//! reaches each of them whole.

use std::{env, fs, time::Instant};

use informer_tests::{host::TestHost, metrics::value};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;

use crate::{
    cluster::{Cluster, WATCH},
    projects::{in_engine, informer, new_project},
};

/// A plugin in one language.
struct Caller {
    language: &'static str,
    /// The engine, if it is not the one that `informer new` chooses.
    engine: Option<&'static str>,
    /// The file that `informer new` writes, which the other text replaces.
    source: &'static str,
    text: &'static str,
    /// The bytes by which the memory of the guest may grow after the first thousand calls. Languages with a collector reach their
    /// size later.
    growth: f64,
}

const MIB: f64 = 1_048_576.0;

const RUST: Caller = Caller {
    language: "rust",
    engine: None,
    source: "src/lib.rs",
    text: include_str!("calls/calls.rs"),
    growth: 0.0,
};

/// JavaScript is TypeScript too.
const TYPESCRIPT: Caller = Caller { language: "ts", source: "src/index.ts", ..JAVASCRIPT };

const JAVASCRIPT: Caller = Caller {
    language: "js",
    source: "src/index.js",
    text: include_str!("calls/calls.js"),
    growth: MIB,
    ..RUST
};

const CALLERS: [Caller; 6] = [
    RUST,
    JAVASCRIPT,
    TYPESCRIPT,
    Caller {
        language: "python",
        source: "src/app.py",
        text: include_str!("calls/calls.py"),
        growth: MIB,
        ..RUST
    },
    Caller {
        language: "go",
        source: "main.go",
        text: include_str!("calls/calls.go"),
        growth: 4.0 * MIB,
        ..RUST
    },
    Caller { language: "c", source: "src/plugin.c", text: include_str!("calls/calls.c"), ..RUST },
];

const STARLING_MONKEY: Caller = Caller { engine: Some("starlingmonkey"), ..TYPESCRIPT };

/// The bytes by which the host may grow while all plugins make nine thousand calls: what its allocator keeps.
const GROWTH_OF_THE_HOST: f64 = 32.0 * MIB;

/// The variable that is set in the process that makes the calls. It makes nothing else: the other tests take memory, too.
const ALONE: &str = "INFORMER_CALLS_ALONE";

/// Retries without a pause, and as many writes as the calls make.
const SETTINGS: &str = r#"
  [[plugin.on]]
  watch = "apps/v1/deployments"

  [plugin.workqueue]
  min = "1ms"
  max = "1ms"
  qps = 100000
  burst = 100000

  [plugin.limits]
  keyvalue-writes = 100000

  [plugin.grant]
  read = ["apps/v1/deployments"]
  keyvalue = "64KiB"
"#;

// === impl Caller ===

impl Caller {
    fn name(&self) -> String {
        format!("calls-{}", self.language)
    }

    /// Builds the component. Returns the table of its plugin.
    async fn plugin(&self, scratch: &TempDir) -> String {
        let Self { language, engine, source, text, .. } = self;
        let name = self.name();
        let flags = [["--reconciler"].as_slice(), &in_engine(*engine)].concat();
        let project = new_project(scratch.path(), &name, language, &flags).await;
        let manifest = project.join("informer-plugin.toml");
        let world = fs::read_to_string(&manifest).unwrap();
        fs::write(manifest, world.replace("\"controller\"", "\"controller-with-standard\"")).unwrap();
        fs::write(project.join(source), text).unwrap();
        informer(&project, &["build"]).await;
        let component = project.join(format!("{name}.wasm"));
        format!("[[plugin]]\nname = {name:?}\nsource = {component:?}\n{SETTINGS}")
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Node.js, Python and Go: run by cargo xtask test --all"]
async fn ten_thousand_calls_in_each_language_leave_no_memory_behind() {
    if env::var_os(ALONE).is_some() {
        return all_call().await;
    }
    let mut alone = Command::new(env::current_exe().unwrap());
    let test = "calls::ten_thousand_calls_in_each_language_leave_no_memory_behind";
    alone.args([test, "--exact", "--include-ignored", "--nocapture"]).env(ALONE, "1");

    let output = alone.kill_on_drop(true).output().await.unwrap();

    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    println!("{stdout}");
    assert!(output.status.success() && stdout.contains("1 passed"), "{stdout}{stderr}");
}

async fn all_call() {
    let scratch = tempfile::tempdir().unwrap();
    let mut configuration = WATCH.to_owned();
    for caller in &CALLERS {
        configuration += &caller.plugin(&scratch).await;
    }
    let cluster = Cluster::start().await;
    let host = TestHost::start(&cluster.server.url(), &configuration).await.unwrap();
    host.synced().await;
    let begun = Instant::now();
    cluster.deployments.create("web").await;
    let mut early = Vec::new();
    for name in CALLERS.iter().map(Caller::name) {
        host.lines.said(&name, "1000 calls", "").await;
        early.push(memory(&host, &name));
    }
    let host_early = value(&host.metrics(), "process_resident_memory_bytes");

    for (caller, early) in CALLERS.iter().zip(early) {
        let name = caller.name();
        host.lines.said(&name, "10000 calls", "").await;
        let grown = memory(&host, &name) - early;
        println!("{name}: 10,000 calls within {:.1} s, {grown} bytes more", begun.elapsed().as_secs_f64());
        assert!(grown <= caller.growth, "{name} grows by {grown} bytes");
    }
    let grown = value(&host.metrics(), "process_resident_memory_bytes") - host_early;
    println!("the host: {grown} bytes more");
    assert!(grown <= GROWTH_OF_THE_HOST, "the host grows by {grown} bytes");
    // Last, because a guest takes memory for it.
    cluster.deployments.create("big").await;
    cluster.deployments.patch("big", with_text(&format!("{}späti", "x".repeat(1 << 20)))).await;
    for name in CALLERS.iter().map(Caller::name) {
        host.lines.said(&name, "big: 1048581 characters, päti", "").await;
    }

    host.stop().await;
    cluster.server.shutdown().await;
}

/// StarlingMonkey frees only a part of what each call passes to the host and back, so its instances have to end. An instance has 9 MiB at
/// its start, and without `max-calls` it reaches this limit before the last call.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Node.js: run by cargo xtask test --all"]
async fn ten_thousand_calls_of_instances_in_starling_monkey_that_end_after_a_thousand_stay_below_their_limit()
{
    let scratch = tempfile::tempdir().unwrap();
    let plugin = STARLING_MONKEY.plugin(&scratch).await;
    let plugin = plugin.replace("source =", "max-calls = 1000\nsource =");
    let plugin = plugin.replace("[plugin.limits]\n", "[plugin.limits]\n  memory = \"24MiB\"\n");
    let (name, cluster) = (STARLING_MONKEY.name(), Cluster::start().await);
    let host = TestHost::start(&cluster.server.url(), &(WATCH.to_owned() + &plugin)).await.unwrap();
    host.synced().await;

    cluster.deployments.create("web").await;

    // On a busy machine a thousand calls take a minute, so the test waits for one instance after the other.
    for instance in 1..=10 {
        let ended = |lines: &[String]| lines.iter().filter(|line| *line == "1000 calls").count() >= instance;
        host.lines.until(&name, "the end of an instance", ended).await;
    }
    cluster.deployments.create("big").await;
    cluster.deployments.patch("big", with_text(&format!("{}späti", "x".repeat(1 << 20)))).await;
    host.lines.said(&name, "big: 1048581 characters, päti", "").await;
    let failures = format!("informer_runtime_call_failures_total{{plugin=\"{name}\"");
    let metrics = host.metrics();
    let others = metrics.lines().filter(|line| line.starts_with(&failures) && !line.contains("\"handler\""));
    assert_eq!(others.collect::<Vec<_>>(), [""; 0], "only the handler fails, on purpose");
    host.stop().await;
    cluster.server.shutdown().await;
}

/// The linear memory of the guest of a plugin, in bytes.
fn memory(host: &TestHost, plugin: &str) -> f64 {
    value(&host.metrics(), &format!("informer_runtime_linear_memory_bytes{{plugin=\"{plugin}\"}}"))
}

/// A change that puts a text into a deployment.
fn with_text(text: &str) -> Value {
    let container = json!({"name": "big", "image": "nginx:1.29", "env": [{"name": "TEXT", "value": text}]});
    json!({"spec": {"template": {"spec": {"containers": [container]}}}})
}
