//! Each function of the host that can wait, while it waits for something that never answers: the deadline of the call covers the
//! wait, and other plugins are served meanwhile.

use std::{
    collections::BTreeMap,
    io,
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use futures::future::{BoxFuture, join_all, pending, ready};
use informer_runtime::capabilities::{
    ConfigFilesError, ConfigSource, HttpConfig, KeyValueError, KeyValueSource, Place, Quota, Resolver, Ticket,
};
use informer_types::{FailureKind, Outcome};
use serde_json::{Value, json};

use crate::{
    host::{PATIENCE, Running, Setup, component, object},
    http::{get, server::Server},
};

const DEADLINE: Duration = Duration::from_secs(2);

/// A function of the host, and the plugin that calls it.
struct Row {
    call: String,
    running: Running,
    /// True if the guest receives an error at the deadline and may still return ok.
    told: bool,
}

/// Key-values, names and files that never arrive.
#[derive(Default)]
struct Silence {
    /// True while there are no files.
    begun: AtomicBool,
    /// True if the lookup of a missing file ends at once.
    no_such_file: bool,
}

type Never<T> = BoxFuture<'static, Result<T, KeyValueError>>;

impl KeyValueSource for Silence {
    fn get(&self, _: Place, _: Vec<String>, _: usize) -> Never<Vec<Option<Vec<u8>>>> {
        Box::pin(pending())
    }

    fn exists(&self, _: Place, _: String) -> Never<bool> {
        Box::pin(pending())
    }

    fn keys(&self, _: Place, _: Option<String>, _: usize) -> Never<Vec<String>> {
        Box::pin(pending())
    }

    fn change(&self, _: Place, _: Vec<(String, Option<Vec<u8>>)>, _: Quota) -> Never<()> {
        Box::pin(pending())
    }

    fn increment(&self, _: Place, _: String, _: u64, _: Quota) -> Never<u64> {
        Box::pin(pending())
    }
}

impl Resolver for Silence {
    fn resolve(&self, _: String, _: Ticket) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        Box::pin(pending())
    }
}

impl ConfigSource for Silence {
    fn files(&self) -> BoxFuture<'_, Result<BTreeMap<String, String>, ConfigFilesError>> {
        if self.begun.swap(true, Ordering::Relaxed) {
            return Box::pin(pending());
        }
        Box::pin(ready(Ok(BTreeMap::new())))
    }

    fn file(&self, _: &str) -> BoxFuture<'_, Result<Option<String>, ConfigFilesError>> {
        if self.no_such_file { Box::pin(ready(Ok(None))) } else { Box::pin(pending()) }
    }
}

async fn row(call: &str, told: bool, setup: Setup, guest: &'static str) -> Row {
    let running = setup.deadline(DEADLINE).load(guest).await;
    Row { call: format!("{guest}: {call}"), running, told }
}

async fn keyvalue() -> Vec<Row> {
    let steps = [
        json!({"get": "k"}),
        json!({"set": ["k", "v"]}),
        json!({"delete": "k"}),
        json!({"exists": "k"}),
        json!("keys"),
        json!({"increment": ["k", 1]}),
        json!({"get-many": ["k"]}),
        json!({"set-many": [["k", "v"]]}),
        json!({"delete-many": ["k"]}),
    ];
    let row = |step: Value| async move {
        let setup = Setup::new(&json!({"steps": [step]}).to_string()).keyvalue(Arc::new(Silence::default()));
        row(&step.to_string(), false, setup, "keeper").await
    };
    join_all(steps.map(row)).await
}

async fn client() -> Vec<Row> {
    let verbs = ["get", "list", "create", "update", "merge", "json", "strategic", "apply", "delete", "event"];
    let row = |verb: &'static str| async move {
        let body = if verb == "json" { json!([]) } else { json!({}) };
        let pod = object("default", "web", "7", r#"{"apiVersion":"v1","kind":"Pod"}"#);
        let setup = Setup::new(&json!({"steps": [{"do": verb, "body": body}]}).to_string())
            .read(&["v1/pods"])
            .write(&["* v1/pods", "create events.k8s.io/v1/events"])
            .cache("v1/pods", vec![pod]);
        setup.api.silent.store(true, Ordering::Relaxed);
        row(verb, false, setup, "writer").await
    };
    join_all(verbs.map(row)).await
}

async fn lister() -> Row {
    // The written version never arrives in the cache.
    let config = json!({"steps": [{"do": "read-your-write", "body": {}}]});
    let setup =
        Setup::new(&config.to_string()).read(&["v1/pods"]).write(&["* v1/pods"]).cache("v1/pods", vec![]);
    setup.api.answer(200, r#"{"metadata":{"name":"web","resourceVersion":"99"}}"#);
    row("wait-until", true, setup, "writer").await
}

async fn http(server: &Server) -> Vec<Row> {
    let authority = server.authority();
    let fetch = |request: Value| Setup::new(&json!({"requests": [request]}).to_string());
    let grant = format!("http://{authority}/");
    let silence = HttpConfig { resolver: Arc::new(Silence::default()), ..HttpConfig::default() };
    let nowhere =
        fetch(get("hooks.example.com", "/")).http(&["http://hooks.example.com/"]).http_config(silence);
    let silent = fetch(get(&authority, "/silent")).http(&[&grant]);
    let stalls = fetch(get(&authority, "/stalls")).http(&[&grant]);
    vec![
        row("a name without an answer", true, nowhere, "fetch").await,
        row("a server that never answers", true, silent, "fetch").await,
        row("a body that goes on no more", true, stalls, "fetch").await,
    ]
}

async fn rows(server: &Server) -> Vec<Row> {
    let sleeping = Setup::new(r#"{"millis": 60000}"#);
    let config = |no_such_file| {
        let silence = Silence { no_such_file, ..Silence::default() };
        Setup::new("{}").config_files(Arc::new(silence))
    };
    let mut rows = vec![
        row("wasi:clocks and wasi:io/poll", false, sleeping, "slow").await,
        row("wasi:config get", false, config(false), "settings").await,
        row("wasi:config get-all", false, config(true), "settings").await,
        lister().await,
    ];
    rows.extend(keyvalue().await);
    rows.extend(client().await);
    rows.extend(http(server).await);
    rows
}

#[tokio::test]
async fn a_call_that_waits_in_the_host_ends_at_its_deadline() {
    let server = Server::start().await;
    let rows = rows(&server).await;
    let neighbour = Setup::new("{}").load("echo").await;

    let begun = Instant::now();
    let calls: Vec<_> = rows.iter().map(|row| row.running.spawn_add("web")).collect();
    // All of them wait on the one thread of this test.
    for _ in 0..3 {
        assert_eq!(neighbour.add("good").await, Outcome::Acknowledged);
    }
    if begun.elapsed() < DEADLINE {
        assert!(calls.iter().all(|call| !call.is_finished()), "they still wait");
    }

    for (row, call) in rows.iter().zip(calls) {
        match call.await.unwrap() {
            Outcome::Retry { failure, .. } => {
                assert_eq!(failure.kind, FailureKind::Deadline, "{}: {failure}", row.call);
                assert_eq!(row.running.plugin.stats().instances.retired, 1, "{}", row.call);
            }
            other => assert!(row.told && other == Outcome::Acknowledged, "{}: {other:?}", row.call),
        }
    }
    let took = begun.elapsed();
    assert!(took >= DEADLINE && took < PATIENCE, "{took:?}");
    assert_eq!(neighbour.plugin.stats().acknowledged, 3);
}

#[tokio::test]
async fn a_start_that_waits_in_the_host_ends_at_its_deadline() {
    let silence = Silence { begun: AtomicBool::new(true), ..Silence::default() };
    let setup = Setup::new("{}").config_files(Arc::new(silence)).deadline(DEADLINE);

    let refused = setup.idle().load("settings").await.unwrap_err().to_string();

    let remedy = "longer than its deadline of 2s (`deadline` under [plugin.limits])";
    assert!(refused.contains(remedy), "{refused}");
}

/// The version in service stays, and serves meanwhile.
#[tokio::test]
async fn a_version_that_loops_in_describe_is_refused_at_its_deadline() {
    let running = Setup::new("{}").deadline(DEADLINE).load("echo").await;
    let version = running.plugin.version();
    let (plugin, looping) = (Arc::clone(&running.plugin), component("spin_describe").await);

    let begun = Instant::now();
    let loading = tokio::spawn(async move { plugin.load(&looping).await });
    assert_eq!(running.add("meanwhile").await, Outcome::Acknowledged);
    let refused = loading.await.unwrap().unwrap_err();

    let took = begun.elapsed();
    assert!(took >= DEADLINE && took < PATIENCE, "{took:?}");
    assert_eq!(
        refused.to_string(),
        "the call of describe failed: the call took longer than its deadline of 2s (`deadline` under [plugin.limits])"
    );
    assert_eq!(running.plugin.version(), version);
    assert_eq!(running.add("after").await, Outcome::Acknowledged);
}
