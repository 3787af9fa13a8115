//! The tree of spans that the real collector received, over both protocols.

use std::fmt::Write;

use informer_devserver::DevServer;
use informer_guests::guest;
use informer_tests::{
    collector,
    host::{PATIENCE, TestHost},
    toml::plugin,
    writer::Writer,
};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::{CONFIG_MAPS, collector::Protocol, collector::Span, host, server};
use crate::configmaps::ConfigMaps;

/// The attributes that differ from run to run: versions of objects, and waits.
const VARYING: [&str; 2] = ["informer.object.resource_version", "informer.retry_in_ms"];

/// A handler that requests an object that exists and one that does not.
const OF_A_NOTIFICATION: &str = "\
watch v1/configmaps informer.event=ADDED informer.listeners=1 informer.object.name=trigger informer.resource=v1/configmaps k8s.namespace.name=default
  cache informer.result=stored
  queue informer.attempt=1 informer.plugin=writer
  attempt informer.attempt=1 informer.cause=live informer.plugin=writer informer.result=acknowledged informer.verb=add
    api request http.request.method=GET http.response.status_code=200 url.path=/api/v1/namespaces/default/configmaps/trigger
    api request error.type=404 http.request.method=GET http.response.status_code=404 url.path=/api/v1/namespaces/default/configmaps/absent (failed)
";

/// A reconciler with a condition that fails once.
const OF_A_KEY: &str = "\
watch v1/configmaps informer.event=ADDED informer.listeners=1 informer.object.name=bad informer.resource=v1/configmaps k8s.namespace.name=default
  cache informer.result=stored
  filter informer.plugin=quick informer.result=passed informer.verb=add
  queue informer.attempt=1 informer.plugin=quick
  attempt error.type=handler informer.attempt=1 informer.plugin=quick informer.result=retry informer.verb=reconcile (failed)
  queue informer.attempt=2 informer.plugin=quick
  attempt informer.attempt=2 informer.plugin=quick informer.result=acknowledged informer.verb=reconcile
";

/// The spans of a message in the JSON of OTLP.
fn spans(message: &Value) -> Vec<Span> {
    let list = |of: &Value, key: &str| of[key].as_array().cloned().unwrap_or_default();
    let text = |of: &Value, key: &str| of[key].as_str().unwrap_or_default().to_owned();
    let time = |of: &Value, key: &str| text(of, key).parse().unwrap();
    let scopes =
        list(message, "resourceSpans").into_iter().flat_map(|resource| list(&resource, "scopeSpans"));
    let sent = scopes.flat_map(|scope| list(&scope, "spans"));
    let span = |sent: Value| Span {
        trace: text(&sent, "traceId"),
        id: text(&sent, "spanId"),
        parent: text(&sent, "parentSpanId"),
        name: text(&sent, "name"),
        kind: sent["kind"].as_i64().unwrap().try_into().unwrap(),
        about: list(&sent, "attributes").iter().map(|pair| (text(pair, "key"), value(pair))).collect(),
        begun: time(&sent, "startTimeUnixNano"),
        ended: time(&sent, "endTimeUnixNano"),
        failed: sent["status"]["code"] == 2,
    };
    sent.map(span).collect()
}

/// The value of an attribute: a text, or a number, which OTLP's JSON writes as a text too.
fn value(pair: &Value) -> String {
    let (_, value) = pair["value"].as_object().unwrap().iter().next().unwrap();
    value.as_str().unwrap().to_owned()
}

/// The spans below a parent as lines, in the order in which they began, with attributes and failures.
fn tree(spans: &[Span], parent: &str, depth: usize, lines: &mut String) {
    let mut own: Vec<&Span> = spans.iter().filter(|span| span.parent == parent).collect();
    own.sort_by_key(|span| (span.begun, span.ended));
    for span in own {
        write!(lines, "{}{}", "  ".repeat(depth), span.name).unwrap();
        for (key, value) in span.about.iter().filter(|(key, _)| !VARYING.contains(&key.as_str())) {
            write!(lines, " {key}={value}").unwrap();
        }
        lines.push_str(if span.failed { " (failed)\n" } else { "\n" });
        tree(spans, &span.id, depth + 1, lines);
    }
}

/// The tree of the one event that the plugin gets, once the collector has its root.
async fn received(protocol: Protocol, plugin: &str, object: &str) -> String {
    let collector = collector::Collector::start().await.unwrap();
    let (server, objects): (DevServer, ConfigMaps) = server().await;
    let endpoint = match protocol {
        Protocol::Grpc => &collector.grpc,
        Protocol::Http => &collector.http,
    };
    let host: TestHost = host(&server, (endpoint, protocol), 1.0, plugin).await;
    objects.create(object).await;
    let deadline = Instant::now() + PATIENCE;
    let messages = loop {
        let messages = collector.messages().unwrap();
        if messages.iter().flat_map(spans).any(|span| span.parent.is_empty()) {
            break messages;
        }
        assert!(Instant::now() < deadline, "{messages:#?}");
        sleep(std::time::Duration::from_millis(20)).await;
    };
    assert!(host.degraded().is_empty(), "{:?}", host.degraded());
    host.stop().await;
    let service = json!({"key": "service.name", "value": {"stringValue": "informer"}});
    let resource = &messages[0]["resourceSpans"][0]["resource"]["attributes"];
    assert!(resource.as_array().unwrap().contains(&service), "{resource}");
    let spans: Vec<Span> = messages.iter().flat_map(spans).collect();
    assert!(spans.iter().all(|span| span.trace == spans[0].trace), "{spans:#?}");
    let mut lines = String::new();
    tree(&spans, "", 0, &mut lines);
    assert_eq!(lines.lines().count(), spans.len(), "each span has its parent: {spans:#?}");
    lines
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn the_real_collector_receives_the_tree_of_a_notification() {
    let writer = Writer {
        on: CONFIG_MAPS,
        grant: "read = [\"v1/configmaps\"]\nwrite = [\"patch v1/configmaps @default\"]",
        steps: json!([{"do": "get", "name": "trigger"}, {"do": "get", "name": "absent"}]),
    };
    for protocol in [Protocol::Grpc, Protocol::Http] {
        let tree = received(protocol, &writer.toml(&guest("writer")), "trigger").await;

        assert_eq!(tree, OF_A_NOTIFICATION, "{protocol:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn the_real_collector_receives_the_tree_of_a_key_that_is_retried() {
    let lines =
        "labels = \"!never\"\n[plugin.workqueue]\nmin = \"1ms\"\n[plugin.config]\ntimes = 1\nonly = \"bad\"";
    for protocol in [Protocol::Grpc, Protocol::Http] {
        let reconciler = plugin("quick", &guest("reconciles"), CONFIG_MAPS, lines);
        let tree = received(protocol, &reconciler, "bad").await;

        assert_eq!(tree, OF_A_KEY, "{protocol:?}");
    }
}
