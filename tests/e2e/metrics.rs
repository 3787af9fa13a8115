//! What `GET /metrics` serves: well-formed, documented, and with the plugins' own in it.

use std::collections::{BTreeMap, BTreeSet};

use informer_devserver::DevServer;
use informer_guests::guest;
use informer_tests::host::TestHost;

use crate::configmaps::ConfigMaps;

const DOCUMENTED: &str = include_str!("../../host/METRICS.md");

/// Of these there is nothing to tell before the first failure, request or event.
const LATER: [&str; 3] =
    ["informer_http_requests", "informer_runtime_call_failures", "informer_reflector_last_event_age_seconds"];

/// One family: its kind, its help, and its samples as `name{labels}` and value.
#[derive(Debug, Default)]
struct Family {
    kind: String,
    help: String,
    samples: BTreeMap<String, f64>,
}

/// Reads OpenMetrics text, strictly: a sample belongs to the family before it, once, and nothing follows the end.
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
        format!(
            r#"
            [[plugin]]
            name = "{name}"
            source = {source:?}
            on = [{{ watch = "v1/configmaps" }}]
            config = {{ values = [["{kind}", "seen", 2.0], ["histogram", "took_seconds", 0.3]] }}
            "#,
            source = guest("gauger"),
        )
    };
    let toml = format!(
        "[[watch]]\ngvr = \"v1/configmaps\"\n{}{}",
        plugin("one", "counter"),
        plugin("other", "gauge")
    );
    let host = TestHost::start(&server.url(), &toml).await.unwrap();
    host.synced().await;

    let families = parse(&host.metrics());

    let rows = DOCUMENTED.lines().filter_map(|line| line.strip_prefix("| `"));
    let documented: BTreeMap<&str, Vec<&str>> = rows
        .map(|row| row.split_once("` | ").unwrap())
        .map(|(name, rest)| (name, rest.trim_end_matches(" |").split(" | ").collect()))
        .collect();
    for (name, family) in families.iter().filter(|(name, _)| !name.starts_with("informer_plugin_")) {
        let row = documented.get(name.as_str()).unwrap_or_else(|| panic!("{name} is not in METRICS.md"));
        assert_eq!((row[0], row[2]), (family.kind.as_str(), family.help.as_str()), "{name}");
        for series in family.samples.keys() {
            for label in row[1].split(", ") {
                assert!(series.contains(&format!("{label}=\"")), "{series} without {label}");
            }
        }
    }
    let served: BTreeSet<&str> = families.keys().map(String::as_str).collect();
    let missing: Vec<_> =
        documented.keys().filter(|name| !served.contains(*name) && !LATER.contains(name)).collect();
    assert!(missing.is_empty(), "documented and not served: {missing:?}");

    let sample = |family: &str, series: &str| families[family].samples[series];
    assert_eq!(sample("informer_cache_synced", r#"informer_cache_synced{watch="v1/configmaps"}"#), 1.0);
    let calls = sample("informer_runtime_calls", r#"informer_runtime_calls_total{plugin="one"}"#);
    let timed = sample(
        "informer_runtime_call_duration_seconds",
        r#"informer_runtime_call_duration_seconds_count{plugin="one"}"#,
    );
    assert!(calls >= 1.0 && calls == timed, "{calls} {timed}");
    // One name, two kinds: neither plugin hides the other's.
    let one = &families["informer_plugin_seen__counter"].samples;
    let other = &families["informer_plugin_seen__gauge"].samples;
    assert!(one.keys().all(|series| series.contains(r#"plugin="one""#)), "{one:?}");
    assert!(other.keys().all(|series| series.contains(r#"plugin="other""#)), "{other:?}");
    let buckets = families["informer_plugin_took_seconds"].samples.keys();
    assert!(buckets.clone().any(|series| series.contains(r#"le="+Inf""#)), "{buckets:?}");
    host.stop().await;
}
