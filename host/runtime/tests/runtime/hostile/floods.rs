//! Plugins that fill something that the host keeps.

use std::{
    num::NonZeroU32,
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use informer_runtime::Limits;
use informer_types::{FailureKind, Outcome};
use serde_json::json;

use super::{
    every_call_fails, hostile, load,
    neighbour::{Neighbour, calls},
};

#[tokio::test]
async fn ever_new_series_are_refused_beyond_the_limit_and_counted() {
    let limit = |limits: &mut Limits| limits.metric_series = 50;
    let running = load(hostile(r#"{"flood": 500}"#).limits(limit), "gauger").await;
    let neighbour = Neighbour::start().await;

    neighbour.hardly_notices(&running.plugin, || calls(Arc::clone(&running.plugin))).await;

    assert_eq!(running.add("bad").await, Outcome::Acknowledged, "existing series still count");
    let metrics = running.plugin.stats().metrics;
    assert_eq!(metrics.series, 50);
    assert!(metrics.refused >= 450, "{metrics:?}");
    assert_eq!(
        running.plugin.metrics().values().next().unwrap().series.len(),
        50,
        "the exposition has the series within the limit"
    );
}

#[tokio::test]
async fn ten_million_keys_are_refused_beyond_the_capacity_until_the_call_ends() {
    let limit = |limits: &mut Limits| limits.host_calls = NonZeroU32::new(10_000);
    let running = load(hostile(r#"{"keys": 10000000, "insist": true}"#).limits(limit), "enqueues").await;
    running.keys.capacity.store(1_000, Ordering::Relaxed);

    every_call_fails(&running, FailureKind::HostCalls, "more than 10000 calls to the host").await;

    assert_eq!(running.keys.asked().len(), 1_000);
}

/// Each call is for the event that the previous write caused.
#[tokio::test]
async fn writing_over_its_own_object_sends_at_most_the_requests_of_the_budget() {
    const A_SECOND: u32 = 10;
    let limits = |limits: &mut Limits| {
        limits.requests = NonZeroU32::new(A_SECOND).unwrap();
        limits.deadline = Duration::from_millis(50);
    };
    let config = json!({"steps": [{"do": "merge", "body": {"metadata": {"annotations": {"a": "b"}}}}]});
    let setup = hostile(&config.to_string()).read(&[]).write(&["patch v1/pods"]).limits(limits);
    let running = load(setup, "writer").await;
    let neighbour = Neighbour::start().await;
    let begun = Instant::now();

    neighbour.hardly_notices(&running.plugin, || calls(Arc::clone(&running.plugin))).await;

    let most = f64::from(A_SECOND) * (begun.elapsed().as_secs_f64() + 1.0);
    let sent = running.api.asked().len();
    assert!(sent >= 10 && sent as f64 <= most, "{sent} requests, {most} allowed");
    let client = running.plugin.stats().client;
    assert!(client.limited > client.requests, "most requests were refused: {client:?}");
}
