//! Rules and dashboard of `host/deploy/monitoring`, judged by the real promtool and by what a running host serves.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    time::Duration,
};

use informer::{config::Access, connect::connect};
use informer_devserver::DevServer;
use informer_guests::guest;
use informer_tests::{
    command_line::CommandLine,
    host::{PATIENCE, TestHost},
    toml::plugin,
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, PostParams};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::manifests::{deployed, text};

/// The text format of Prometheus, which promtool reads.
const TEXT: &str = "text/plain";

/// A series with its labels, as `name{label="value"}`.
type Series = String;

/// The samples in this answer, by series.
fn samples(metrics: &str) -> BTreeMap<Series, String> {
    let lines = metrics.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.rsplit_once(' ').unwrap()).map(|(of, to)| (of.to_owned(), to.to_owned())).collect()
}

/// The name of a series and the names of its labels, without those that Prometheus adds.
fn shape(series: &str) -> (String, BTreeSet<String>) {
    let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
    let labels = labels.trim_end_matches('}').split("\",").filter_map(|label| label.split_once('='));
    let labels = labels.map(|(name, _)| name.to_owned()).filter(|name| name != "instance" && name != "job");
    (name.to_owned(), labels.collect())
}

/// Prometheus adds the namespace of the pod to a series that has no label of this name.
fn without_namespace((name, mut labels): (String, BTreeSet<String>)) -> (String, BTreeSet<String>) {
    labels.remove("namespace");
    (name, labels)
}

/// What a host serves that leads, and whose plugins have handled, failed, reconciled and made requests.
async fn scraped() -> String {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let plugin = |name: &str, lines: &str| plugin(name, &guest(name), "v1/configmaps", lines);
    let toml = "[host]\nadmin = \"127.0.0.1:0\"\nstate-dir = \"off\"\nlease = \"default/informer\"\n\
                [[watch]]\ngvr = \"v1/configmaps\"\nnamespaces = [\"default\"]\n"
        .to_owned()
        + &plugin("flaky", "[plugin.retry]\nmin = \"1ms\"\n[plugin.config]\ntimes = 1\nsays = \"no\"")
        + &plugin("reconciles", "[plugin.workqueue]\nmin = \"1ms\"\n[plugin.config]\ntimes = 1")
        + &plugin("gauger", "[plugin.config]\nvalues = [[\"gauge\", \"seen\", 2.0]]")
        + &plugin(
            "fetch",
            "[plugin.grant]\nhttp = [\"http://127.0.0.1:1/\"]\n\
             [plugin.config]\nrequests = [{ authority = \"127.0.0.1:1\" }]",
        );
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("informer.toml");
    fs::write(&path, toml).unwrap();
    let host = TestHost::start_file(&server.url(), &path).await.unwrap();
    host.synced().await;
    let connection = connect(&Access::Server(server.url().parse().unwrap())).await.unwrap();
    let object: ConfigMap = serde_json::from_value(json!({"metadata": {"name": "one"}})).unwrap();
    Api::namespaced(connection.client, "default").create(&PostParams::default(), &object).await.unwrap();

    let deadline = tokio::time::Instant::now() + PATIENCE;
    let done = [
        "informer_runtime_call_failures_total{plugin=\"flaky\"",
        "informer_runtime_call_failures_total{plugin=\"reconciles\"",
        "informer_http_requests_total{plugin=\"fetch\"",
        "informer_plugin_seen{plugin=\"gauger\"",
    ];
    let metrics = loop {
        let (kind, metrics) = host.scrape(TEXT).await.unwrap();
        assert_eq!(kind, "text/plain; version=0.0.4; charset=utf-8");
        if done.iter().all(|series| metrics.contains(series)) {
            break metrics;
        }
        assert!(tokio::time::Instant::now() < deadline, "{metrics}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    host.stop().await;
    metrics
}

/// A test of promtool: these series for ten minutes, and each query with the samples that it must have at the end.
fn rule_test(samples: &BTreeMap<Series, String>, queries: &[(String, String)]) -> String {
    let series = samples.iter().map(|(series, value)| {
        let target = "{job=\"informer\",instance=\"a\"";
        let series = match series.split_once('{') {
            Some((name, labels)) => format!("{name}{target},{labels}"),
            None => format!("{series}{target}}}"),
        };
        json!({"series": series, "values": format!("{value}x10")})
    });
    let queries = queries.iter().map(|(query, labels)| {
        json!({"expr": query, "eval_time": "9m", "exp_samples": [{"labels": labels, "value": 1}]})
    });
    let (series, queries): (Vec<_>, Vec<_>) = (series.collect(), queries.collect());
    json!({"tests": [{"interval": "1m", "input_series": series, "promql_expr_test": queries}]}).to_string()
}

/// A query that finds one sample of value 1 if `query` finds series with all of these labels, and no others; and the labels of
/// that sample.
fn finds(query: &str, labels: &[&str]) -> (String, String) {
    // Grafana fills these in.
    let mut query = query.replace("$__rate_interval", "5m");
    for variable in ["$job", "$instance", "$watch", "$plugin"] {
        query = query.replace(variable, ".*");
    }
    assert!(!query.contains('$'), "{query}");
    for label in labels {
        query = format!("label_replace({query}, \"has_{label}\", \"yes\", \"{label}\", \".+\")");
    }
    let has: Vec<String> = labels.iter().map(|label| format!("has_{label}")).collect();
    let expected: Vec<String> = has.iter().map(|label| format!("{label}=\"yes\"")).collect();
    (format!("group by ({}) ({query})", has.join(", ")), format!("{{{}}}", expected.join(", ")))
}

/// The queries of the dashboard, each with the labels that it shows.
fn queries(dashboard: &Value) -> Vec<(String, String)> {
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    let of_panels = targets.map(|target| {
        let legend = target["legendFormat"].as_str().unwrap();
        let labels = legend.split("{{").skip(1).map(|rest| rest.split_once("}}").unwrap().0);
        finds(target["expr"].as_str().unwrap(), &labels.collect::<Vec<_>>())
    });
    let variables = dashboard["templating"]["list"].as_array().unwrap().iter();
    let of_variables = variables.filter_map(|variable| {
        let values = variable["definition"].as_str()?;
        assert_eq!(values, variable["query"]["query"]);
        let (query, label) = values.strip_prefix("label_values(")?.strip_suffix(')')?.rsplit_once(", ")?;
        Some(finds(query, &[label]))
    });
    of_panels.chain(of_variables).collect()
}

#[test]
fn every_alert_fires_in_a_test_of_the_rules() {
    let rules: Value = serde_saphyr::from_str(&text("monitoring/alerts.yaml")).unwrap();
    let tests: Value = serde_saphyr::from_str(&text("monitoring/alerts-test.yaml")).unwrap();
    let each = |of: &Value, list: &str| of[list].as_array().cloned().unwrap_or_default();
    let alerts = each(&rules, "groups").into_iter().flat_map(|group| each(&group, "rules"));
    let alerts: BTreeSet<String> = alerts.map(|rule| rule["alert"].as_str().unwrap().to_owned()).collect();
    let tested = each(&tests, "tests").into_iter().flat_map(|test| each(&test, "alert_rule_test"));
    let fires = tested.filter(|test| !each(test, "exp_alerts").is_empty());
    let fires: BTreeSet<String> = fires.map(|test| test["alertname"].as_str().unwrap().to_owned()).collect();

    assert!(!alerts.is_empty());
    assert_eq!(alerts, fires);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tests_of_the_rules_use_series_that_a_host_serves() {
    let tests: Value = serde_saphyr::from_str(&text("monitoring/alerts-test.yaml")).unwrap();
    let metrics = scraped().await;
    let served: BTreeSet<_> = samples(&metrics).keys().map(|series| shape(series)).collect();

    let tests = tests["tests"].as_array().unwrap().iter();
    let used = tests.flat_map(|test| test["input_series"].as_array().unwrap());
    let used = used.map(|series| shape(series["series"].as_str().unwrap()));
    let used: BTreeSet<_> =
        used.map(|of| if served.contains(&of) { of } else { without_namespace(of) }).collect();

    assert!(!used.is_empty());
    assert_eq!(used.difference(&served).collect::<Vec<_>>(), Vec::<&(String, BTreeSet<String>)>::new());
}

#[tokio::test]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn promtool_accepts_the_rules_and_their_tests_pass() {
    let promtool = CommandLine::promtool().await;
    let file = |name: &str| deployed("monitoring").join(name).to_str().unwrap().to_owned();

    let checked =
        promtool.prints(&["check", "rules", "--lint=all", "--lint-fatal", &file("alerts.yaml")]).await;
    let tested = promtool.prints(&["test", "rules", &file("alerts-test.yaml")]).await;

    assert!(checked.contains("SUCCESS: "), "{checked}");
    assert!(tested.contains("SUCCESS"), "{tested}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn promtool_accepts_the_metrics_and_each_query_of_the_dashboard_finds_its_series() {
    let promtool = CommandLine::promtool().await;
    let metrics = scraped().await;
    let answer = promtool.home().join("metrics");
    fs::write(&answer, &metrics).unwrap();

    let checked = promtool.reads(&["check", "metrics"], &answer).await;

    assert!(checked.status.success(), "{}", checked.stderr);
    let dashboard: Value = serde_json::from_str(&text("monitoring/dashboard.json")).unwrap();
    let queries = queries(&dashboard);
    assert!(queries.len() > 40, "{queries:?}");
    let test = promtool.home().join("dashboard.yaml");
    let test = test.to_str().unwrap();
    fs::write(test, rule_test(&samples(&metrics), &queries)).unwrap();
    promtool.prints(&["test", "rules", test]).await;
    // A query without its series is noticed.
    let absent = finds("rate(informer_absent_total[$__rate_interval])", &[]);
    let unlabelled = finds("informer_cache_synced", &["plugin"]);
    for query in [absent, unlabelled] {
        fs::write(test, rule_test(&samples(&metrics), &[query])).unwrap();
        promtool.fails(&["test", "rules", test]).await;
    }
}
