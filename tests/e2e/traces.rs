//! Traces of events, as a collector receives them.

mod collector;
mod real;

use std::collections::BTreeSet;

use http::HeaderMap;
use informer_devserver::DevServer;
use informer_guests::guest;
use informer_tests::{
    host::TestHost,
    toml::{plugin, watch},
    writer::Writer,
};
use parking_lot::Mutex;
use serde_json::json;

use crate::configmaps::ConfigMaps;
use collector::{Collector, Protocol, Span};

const CONFIG_MAPS: &str = "v1/configmaps";

/// A host that sends this share of its events to a collector, with these plugins.
async fn host(
    server: &DevServer,
    (endpoint, protocol): (&str, Protocol),
    sample: f64,
    plugins: &str,
) -> TestHost {
    let protocol = protocol.word();
    let telemetry =
        format!("[telemetry]\nendpoint = \"{endpoint}\"\nprotocol = \"{protocol}\"\nsample = {sample:?}\n");
    let host = TestHost::start(&server.url(), &(telemetry + &watch(CONFIG_MAPS) + plugins)).await.unwrap();
    host.synced().await;
    host
}

async fn server() -> (DevServer, ConfigMaps) {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let objects = ConfigMaps::at(&server.url()).await;
    (server, objects)
}

/// A plugin whose handler fails `times` times for each object.
fn flaky(name: &str, times: u32, lines: &str) -> String {
    let lines =
        format!("{lines}[plugin.retry]\nmin = \"1ms\"\n[plugin.config]\ntimes = {times}\nsays = \"hunter2\"");
    plugin(name, &guest("flaky"), CONFIG_MAPS, &lines)
}

/// One plugin that makes two requests, one that fails once, and one that no event reaches.
fn three_plugins() -> String {
    let reads = Writer {
        on: CONFIG_MAPS,
        grant: "read = [\"v1/configmaps\"]\nwrite = [\"patch v1/configmaps @default\"]",
        steps: json!([{"do": "get", "name": "trigger"}, {"do": "get", "name": "absent"}]),
    };
    let filtered = "when = \"object.metadata.name == 'trigger'\"\n";
    reads.toml(&guest("writer")) + &flaky("flaky", 1, filtered) + &flaky("deaf", 0, "labels = \"never\"\n")
}

/// The only trace, from its root, once it is over.
async fn only_trace(collector: &Collector) -> Vec<Span> {
    let over = |spans: &[Span]| spans.iter().any(|span| span.name == "watch v1/configmaps");
    let spans = collector.until("the trace of an event", over).await;
    let traces: BTreeSet<&str> = spans.iter().map(|span| span.trace.as_str()).collect();
    assert_eq!(traces.len(), 1, "{spans:#?}");
    spans
}

fn named<'a>(spans: &'a [Span], name: &str) -> Vec<&'a Span> {
    spans.iter().filter(|span| span.name == name).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_is_one_trace_from_the_watch_to_the_last_attempt_over_both_protocols() {
    for protocol in [Protocol::Grpc, Protocol::Http] {
        let collector = Collector::start().await;
        let (server, objects) = server().await;
        let plugins = three_plugins();
        let host = host(&server, (&collector.url, protocol), 1.0, &plugins).await;

        objects.create("trigger").await;

        let spans = only_trace(&collector).await;
        let root = named(&spans, "watch v1/configmaps")[0];
        assert_eq!((root.parent.as_str(), root.kind), ("", 5), "a consumer without a parent");
        for (key, value) in [
            ("informer.event", "ADDED"),
            ("informer.object.name", "trigger"),
            ("k8s.namespace.name", "default"),
            ("informer.listeners", "3"),
        ] {
            assert_eq!(root.about[key], value);
        }
        let below_root = spans.iter().filter(|span| span.parent == root.id);
        let below_root: Vec<&str> = below_root.map(|span| span.name.as_str()).collect();
        let count = |name: &str| below_root.iter().filter(|own| **own == name).count();
        assert_eq!(
            (count("cache"), count("filter"), count("queue"), count("attempt")),
            (1, 2, 3, 3),
            "{spans:#?}"
        );
        let suppressed = named(&spans, "filter").into_iter().find(|span| span.is("informer.plugin", "deaf"));
        assert!(suppressed.unwrap().is("informer.condition", "labels"));
        let attempts =
            named(&spans, "attempt").into_iter().filter(|span| span.is("informer.plugin", "flaky"));
        let results: Vec<_> =
            attempts.map(|span| (span.about["informer.result"].as_str(), span.failed)).collect();
        assert_eq!(results, [("retry", true), ("acknowledged", false)]);
        let call =
            named(&spans, "attempt").into_iter().find(|span| span.is("informer.plugin", "writer")).unwrap();
        let requests = named(&spans, "api request");
        assert!(
            requests.iter().all(|request| request.parent == call.id && request.kind == 3),
            "{requests:#?}"
        );
        let of =
            |key: &str| -> Vec<_> { requests.iter().map(|request| request.about[key].as_str()).collect() };
        assert_eq!(of("http.response.status_code"), ["200", "404"]);
        assert_eq!(of("url.path")[1], "/api/v1/namespaces/default/configmaps/absent");
        assert!(
            spans
                .iter()
                .all(|span| root.begun <= span.begun && span.begun <= span.ended && span.ended <= root.ended),
            "{spans:#?}"
        );
        assert!(!format!("{spans:?}").contains("hunter2"), "the text of a failure is the guest's own");
        assert!(host.degraded().is_empty(), "{:?}", host.degraded());
        host.stop().await;
        assert_eq!(collector.resource()["service.name"], "informer");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_key_of_an_event_carries_its_trace_to_the_reconciler() {
    let collector = Collector::start().await;
    let (server, objects) = server().await;
    let lines = "[plugin.workqueue]\nmin = \"1ms\"\n[plugin.config]\ntimes = 1\nonly = \"bad\"";
    let reconciler = plugin("quick", &guest("reconciles"), CONFIG_MAPS, lines);
    let host = host(&server, (&collector.url, Protocol::Grpc), 1.0, &reconciler).await;

    objects.create("bad").await;

    let spans = only_trace(&collector).await;
    let attempts = named(&spans, "attempt");
    let results: Vec<_> = attempts.iter().map(|span| span.about["informer.result"].as_str()).collect();
    assert_eq!(results, ["retry", "acknowledged"], "{spans:#?}");
    assert!(attempts.iter().all(|span| span.is("informer.verb", "reconcile")));
    assert_eq!(named(&spans, "queue").len(), 2);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_share_of_zero_sends_nothing_and_the_objects_of_the_first_list_have_no_trace() {
    for (sample, create) in [(0.0, true), (1.0, false)] {
        let collector = Collector::start().await;
        let (server, objects) = server().await;
        objects.create("first").await;
        let host = host(&server, (&collector.url, Protocol::Grpc), sample, &flaky("calm", 0, "")).await;

        let calls = if create { 2 } else { 1 };
        if create {
            objects.create("second").await;
        }
        host.until("the last call", |status| status["plugins"][0]["calls"]["made"] == calls).await;
        host.stop().await;

        assert_eq!(collector.spans(), Vec::<Span>::new());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_is_down_costs_spans_and_no_event_and_the_status_shows_it() {
    let (server, objects) = server().await;
    for protocol in [Protocol::Grpc, Protocol::Http] {
        // Nothing listens at the port 1 of this machine.
        let host = host(&server, ("http://127.0.0.1:1", protocol), 1.0, &flaky("calm", 0, "")).await;

        objects.create(&format!("late-{}", protocol.word())).await;

        let troubled = |status: &serde_json::Value| status["telemetry"].is_string();
        host.until("the failure of the collector", troubled).await;
        let degraded = host.degraded();
        assert_eq!(degraded.len(), 1, "{degraded:?}");
        assert!(degraded[0].starts_with("spans cannot be sent to http://127.0.0.1:1, and "), "{degraded:?}");
        let failed = |line: &&str| line.starts_with("informer_telemetry_spans_total{outcome=\"failed\"}");
        assert!(!host.metrics().lines().find(failed).unwrap().ends_with(" 0.0"));
        let report = host.stop().await;
        assert!(report.undelivered.is_empty(), "{report:?}");
    }
}

/// A server that keeps the headers `traceparent` and `tracestate` of its requests.
async fn listener(seen: &'static Mutex<Vec<(String, String)>>) -> String {
    let answer = move |headers: HeaderMap| async move {
        let text =
            |name| headers.get(name).map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default();
        seen.lock().push((text("traceparent"), text("tracestate")));
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let authority = listener.local_addr().unwrap().to_string();
    let routes = axum::Router::new().fallback(answer);
    tokio::spawn(async move { axum::serve(listener, routes).await });
    authority
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_of_a_guest_carries_the_trace_unless_the_guest_has_its_own() {
    static SEEN: Mutex<Vec<(String, String)>> = Mutex::new(Vec::new());
    let authority = listener(&SEEN).await;
    let collector = Collector::start().await;
    let (server, objects) = server().await;
    let own = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let requests = format!(
        "[{{ authority = \"{authority}\", path = \"/secret/path\" }}, \
         {{ authority = \"{authority}\", headers = [[\"traceparent\", \"{own}\"], [\"tracestate\", \"a=b\"]] }}]"
    );
    let lines =
        format!("[plugin.grant]\nhttp = [\"http://{authority}/\"]\n[plugin.config]\nrequests = {requests}");
    let fetch = plugin("fetch", &guest("fetch"), CONFIG_MAPS, &lines);
    let host = host(&server, (&collector.url, Protocol::Http), 1.0, &fetch).await;

    objects.create("trigger").await;

    let spans = only_trace(&collector).await;
    let request = named(&spans, "http request")[0];
    let sent = format!("00-{}-{}-01", request.trace, request.id);
    assert_eq!(*SEEN.lock(), [(sent, String::new()), (own.to_owned(), "a=b".to_owned())]);
    assert_eq!(request.about["server.address"], "127.0.0.1");
    assert!(!format!("{spans:?}").contains("secret"), "a path may hold a secret");
    host.stop().await;
}
