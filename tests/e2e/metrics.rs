//! The answer to `GET /metrics`: well-formed, documented, and with the metrics of the plugins.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use informer_devserver::DevServer;
use informer_guests::guest;
use informer_tests::{
    host::{PATIENCE, TestHost},
    toml::{plugin, watch},
};
use tempfile::TempDir;

use crate::configmaps::ConfigMaps;

const DOCUMENTED: &str = include_str!("../../host/METRICS.md");

/// These metrics have no samples before the first failure, request or event, or without a collector.
const LATER: [&str; 4] = [
    "informer_http_requests",
    "informer_runtime_call_failures",
    "informer_reflector_last_event_age_seconds",
    "informer_telemetry_spans",
];

/// One family: its kind, its help, and its samples as `name{labels}` and value.
#[derive(Debug, Default)]
struct Family {
    kind: String,
    help: String,
    samples: BTreeMap<String, f64>,
}

/// Parses OpenMetrics text strictly: a sample belongs to the family before it, is unique, and nothing follows the
/// end.
fn parse(text: &str) -> BTreeMap<String, Family> {
    let body = text.strip_suffix("# EOF\n").unwrap();
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    let mut current = String::new();
    for line in body.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').unwrap();
            current = name.to_owned();
            let family = Family { help: help.trim_end_matches('.').to_owned(), ..Family::default() };
            assert!(families.insert(current.clone(), family).is_none(), "{name} twice");
            continue;
        }
        let family = families.get_mut(&current).unwrap();
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            family.kind = rest.strip_prefix(&format!("{current} ")).unwrap().to_owned();
            continue;
        }
        let (series, value) = line.rsplit_once(' ').unwrap();
        let name = series.split('{').next().unwrap();
        let suffix = name.strip_prefix(current.as_str()).unwrap_or_else(|| panic!("{line} below {current}"));
        let allowed: &[&str] = match family.kind.as_str() {
            "counter" => &["_total"],
            "gauge" => &[""],
            "histogram" => &["_bucket", "_sum", "_count"],
            // Two plugins use this name for two kinds of metric.
            "unknown" => &["", "_total", "_bucket", "_sum", "_count"],
            kind => panic!("{current} is a {kind}"),
        };
        assert!(allowed.contains(&suffix), "{line}");
        let number = value.parse().unwrap_or_else(|_| panic!("{line}"));
        assert!(family.samples.insert(series.to_owned(), number).is_none(), "{series} twice");
    }
    families
}

#[tokio::test(flavor = "multi_thread")]
async fn every_metric_is_well_formed_documented_and_served() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    ConfigMaps::at(&server.url()).await.create("something").await;
    let plugin = |name: &str, kind: &str| {
        let values = format!("[[\"{kind}\", \"seen\", 2.0], [\"histogram\", \"took_seconds\", 0.3]]");
        let lines = format!("[plugin.config]\nvalues = {values}");
        plugin(name, &guest("gauger"), "v1/configmaps", &lines)
    };
    let lease = "lease = \"default/informer\"\n".to_owned();
    let toml = lease + &watch("v1/configmaps") + &plugin("one", "counter") + &plugin("other", "gauge");
    let host = TestHost::start(&server.url(), &toml).await.unwrap();
    host.synced().await;

    let families = parse(&host.metrics());

    assert_documented(&families);
    let sample = |family: &str, series: &str| families[family].samples[series];
    assert_eq!(sample("informer_cache_synced", r#"informer_cache_synced{watch="v1/configmaps"}"#), 1.0);
    let calls = sample("informer_runtime_calls", r#"informer_runtime_calls_total{plugin="one"}"#);
    let timed = sample(
        "informer_runtime_call_duration_seconds",
        r#"informer_runtime_call_duration_seconds_count{plugin="one"}"#,
    );
    assert!(calls >= 1.0 && calls == timed, "{calls} {timed}");
    let one = |family: &str| sample(family, &format!("{family}{{plugin=\"one\"}}"));
    let component = std::fs::metadata(guest("gauger")).unwrap().len();
    assert_eq!(one("informer_runtime_component_bytes"), f64::from(u32::try_from(component).unwrap()));
    assert!(one("informer_runtime_code_bytes") > 1000.0 && one("informer_runtime_compile_seconds") > 0.0);
    // A page at least, and less than with tables and what the host holds.
    let (linear, all) = (one("informer_runtime_linear_memory_bytes"), one("informer_runtime_memory_bytes"));
    assert!((65536.0..all).contains(&linear), "{linear} {all}");
    // One name has two kinds: neither plugin hides or renames the metric of the other.
    let seen = &families["informer_plugin_seen"];
    let names: Vec<_> = seen.samples.keys().map(String::as_str).collect();
    assert_eq!(seen.kind, "unknown");
    assert_eq!(
        names,
        [
            r#"informer_plugin_seen_total{plugin="one",namespace="default"}"#,
            r#"informer_plugin_seen{plugin="other",namespace="default"}"#,
        ]
    );
    let buckets = families["informer_plugin_took_seconds"].samples.keys();
    assert!(buckets.clone().any(|series| series.contains(r#"le="+Inf""#)), "{buckets:?}");
    host.stop().await;
}

/// Each family has a row in METRICS.md with its kind, its labels and its help, and each row has a family.
fn assert_documented(families: &BTreeMap<String, Family>) {
    let rows = DOCUMENTED.lines().filter_map(|line| line.strip_prefix("| `"));
    let documented: BTreeMap<&str, Vec<&str>> = rows
        .map(|row| row.split_once("` | ").unwrap())
        .map(|(name, rest)| (name, rest.trim_end_matches(" |").split(" | ").collect()))
        .collect();
    for (name, family) in families.iter().filter(|(name, _)| !name.starts_with("informer_plugin_")) {
        let row = documented.get(name.as_str()).unwrap_or_else(|| panic!("{name} is not in METRICS.md"));
        assert_eq!((row[0], row[2]), (family.kind.as_str(), family.help.as_str()), "{name}");
        for series in family.samples.keys() {
            for label in row[1].split(", ").filter(|label| *label != "none") {
                assert!(series.contains(&format!("{label}=\"")), "{series} without {label}");
            }
        }
    }
    let served: BTreeSet<&str> = families.keys().map(String::as_str).collect();
    let missing: Vec<_> =
        documented.keys().filter(|name| !served.contains(*name) && !LATER.contains(name)).collect();
    assert!(missing.is_empty(), "documented and not served: {missing:?}");
}

/// The parsed answer of the admin endpoint.
async fn scrape(host: &TestHost) -> BTreeMap<String, Family> {
    let (kind, text) = host.scrape("application/openmetrics-text").await.unwrap();
    assert_eq!(kind, "application/openmetrics-text; version=1.0.0; charset=utf-8");
    parse(&text)
}

/// The only sample of a family whose labels contain `series`.
fn sample(families: &BTreeMap<String, Family>, family: &str, series: &str) -> f64 {
    let samples = families[family].samples.iter();
    let found: Vec<_> = samples.filter(|(name, _)| name.contains(series)).collect();
    assert_eq!(found.len(), 1, "{family} {series}: {found:?}");
    *found[0].1
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_timed_from_its_watch_and_an_object_of_the_first_list_is_not() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let objects = ConfigMaps::at(&server.url()).await;
    objects.create("first").await;
    let toml = watch("v1/configmaps")
        + &plugin("one", &guest("gauger"), "v1/configmaps", "[plugin.config]\nvalues = []");
    let host = TestHost::start(&server.url(), &toml).await.unwrap();
    host.synced().await;
    let timed = |families: &BTreeMap<String, Family>, of: &str| {
        let name = "informer_runtime_watch_to_done_seconds";
        sample(families, name, &format!("{name}_{of}{{plugin=\"one\""))
    };
    assert_eq!(timed(&parse(&host.metrics()), "count"), 0.0);

    objects.create("second").await;

    let deadline = tokio::time::Instant::now() + PATIENCE;
    let families = loop {
        let families = parse(&host.metrics());
        if timed(&families, "count") > 0.0 {
            break families;
        }
        assert!(tokio::time::Instant::now() < deadline, "{families:#?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    let sum = timed(&families, "sum");
    assert!(timed(&families, "count") == 1.0 && sum > 0.0 && sum < PATIENCE.as_secs_f64(), "{sum}");
    let process = |name: &str| sample(&families, name, name);
    assert!(process("process_resident_memory_bytes") > f64::from(1 << 20));
    assert!(process("process_open_fds") < process("process_max_fds"));
    assert!(process("process_start_time_seconds") > 1.7e9);
    let version = format!("version=\"{}\"", env!("CARGO_PKG_VERSION"));
    assert_eq!(sample(&families, "informer_build_info", &version), 1.0);
    host.stop().await;
}

/// A configuration with two reconcilers: `quick` fails twice for `bad`, and `slow` never ends a call.
fn reconcilers() -> String {
    // The expression fails for `bad`, so `bad` passes.
    let when = "object.metadata.name == 'bad' ? object.data.x == 'y' : object.metadata.name != 'skipped'";
    let plugin = |name: &str, config: &str| {
        let lines = format!(
            "labels = \"selected\"\nwhen = \"{when}\"\n[plugin.limits]\ndeadline = \"2m\"\n\
             [plugin.workqueue]\nmin = \"1ms\"\n[plugin.config]\n{config}"
        );
        plugin(name, &guest("reconciles"), "v1/configmaps", &lines)
    };
    let host =
        "[host]\nadmin = \"127.0.0.1:0\"\nstate-dir = \"off\"\nshutdown-timeout = \"100ms\"\n".to_owned();
    host + &watch("v1/configmaps")
        + &plugin("quick", "times = 2\nonly = \"bad\"")
        + &plugin("slow", "millis = 60000")
}

/// The workqueue reports its depth, its additions and its retries (W-14).
#[tokio::test(flavor = "multi_thread")]
async fn keys_and_filters_are_measured() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let objects = ConfigMaps::at(&server.url()).await;
    objects.create_labelled("good", "selected").await;
    objects.create_labelled("bad", "selected").await;
    objects.create_labelled("skipped", "selected").await;
    objects.create("other").await;
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("informer.toml");
    std::fs::write(&path, reconcilers()).unwrap();
    let host = TestHost::start_file(&server.url(), &path).await.unwrap();
    host.synced().await;

    let deadline = tokio::time::Instant::now() + PATIENCE;
    let families = loop {
        let families = scrape(&host).await;
        let of = |family, plugin| sample(&families, family, &format!("plugin=\"{plugin}\""));
        if of("informer_workqueue_succeeded", "quick") == 2.0
            && of("informer_workqueue_longest_running_seconds", "slow") > 0.0
        {
            break families;
        }
        assert!(tokio::time::Instant::now() < deadline, "{families:#?}");
    };
    let quick = |family: &str| sample(&families, family, "plugin=\"quick\"");
    // There are two keys. One of them failed twice and was added again each time.
    assert_eq!(quick("informer_workqueue_adds"), 4.0);
    assert_eq!((quick("informer_workqueue_failed"), quick("informer_workqueue_retries")), (2.0, 2.0));
    assert_eq!((quick("informer_workqueue_depth"), quick("informer_workqueue_dropped")), (0.0, 0.0));
    assert_eq!(quick("informer_workqueue_unfinished_work_seconds"), 0.0);
    for histogram in ["informer_workqueue_queue_duration_seconds", "informer_workqueue_work_duration_seconds"]
    {
        let of =
            |suffix: &str| sample(&families, histogram, &format!("{histogram}_{suffix}{{plugin=\"quick\""));
        assert_eq!(of("count"), 4.0, "{histogram}");
        assert!(of("sum") > 0.0, "{histogram}");
    }
    let slow = |family: &str| sample(&families, family, "plugin=\"slow\"");
    // There is one worker: one key is in flight, and the other is pending.
    assert_eq!((slow("informer_workqueue_in_flight"), slow("informer_workqueue_depth")), (1.0, 1.0));
    assert!(
        slow("informer_workqueue_unfinished_work_seconds")
            >= slow("informer_workqueue_longest_running_seconds")
    );

    assert_eq!((quick("informer_filter_passed"), quick("informer_filter_when_errors")), (2.0, 1.0));
    let suppressed = |by: &str| {
        let samples = families["informer_filter_suppressed"].samples.iter();
        let is =
            |name: &str| name.contains("plugin=\"quick\"") && name.contains(&format!("condition=\"{by}\""));
        samples.filter(|(name, _)| is(name)).map(|(_, value)| *value).sum::<f64>()
    };
    assert_eq!((suppressed("when"), suppressed("changed")), (1.0, 0.0));
    // The host may have requested only the objects with the label.
    assert!(suppressed("labels") <= 1.0);
    assert_eq!((quick("informer_queue_given_back"), quick("informer_runtime_rollbacks")), (0.0, 0.0));
    host.stop().await;
}
