//! `metrics`: what a plugin measures, over all its versions and within its limit.

use informer_runtime::capabilities::{MetricKind, MetricValue, MetricsStats};
use informer_types::Outcome;
use serde_json::json;

use crate::host::Setup;

#[tokio::test]
async fn measured_values_add_up_over_calls_and_versions() {
    let values =
        json!([["counter", "seen_total", 2.0], ["gauge", "size", 7.5], ["histogram", "took_seconds", 0.3]]);
    let running = Setup::new(&json!({"values": values}).to_string()).load("gauger").await;
    assert_eq!(running.add("a").await, Outcome::Acknowledged);
    running.load("gauger").await.unwrap();
    assert_eq!(running.add("a").await, Outcome::Acknowledged);

    let families = running.plugin.metrics();

    let of: Vec<_> = families.iter().map(|(name, family)| (name.as_str(), family.kind)).collect();
    let kinds = [MetricKind::Counter, MetricKind::Gauge, MetricKind::Histogram];
    assert_eq!(of, [("seen", kinds[0]), ("size", kinds[1]), ("took_seconds", kinds[2])]);
    let first = |name: &str| families[name].series.first_key_value().unwrap();
    let labels = vec![("namespace".to_owned(), "default".to_owned())];
    assert_eq!(first("seen"), (&labels, &MetricValue::Number(4.0)), "a reload lost nothing");
    assert_eq!(first("size").1, &MetricValue::Number(7.5));
    assert_eq!(running.plugin.stats().metrics, MetricsStats { series: 3, refused: 0 });
}

#[tokio::test]
async fn series_beyond_the_limit_are_refused_with_an_error_and_counted() {
    let config = json!({"flood": 5000, "values": [["gauge", "flood", 1.0], ["counter", "late", 1.0]]});
    let running =
        Setup::new(&config.to_string()).limits(|limits| limits.metric_series = 100).load("gauger").await;
    running.add("a").await;
    running.add("a").await;

    assert_eq!(running.plugin.stats().metrics.series, 100);
    assert!(running.plugin.stats().metrics.refused >= 9800, "{:?}", running.plugin.stats().metrics);
    let said = running.log.messages();
    assert!(said.iter().any(|line| line.ends_with("one name is one kind of metric")), "{said:?}");
}
