//! Plugins that fill something that the host keeps.

use std::{
    num::NonZeroU32,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use futures::future::ready;
use informer_runtime::{
    Limits,
    capabilities::{Kept, KeyValueSource, Place, Quota},
};
use informer_types::{Cause, Change, Delivery, EventHandler, Failure, FailureKind, Outcome};
use serde_json::json;

use super::{
    DEADLINE, LATER, every_call_fails, hostile, load,
    neighbour::{Neighbour, calls},
};
use crate::host::{Running, added, delivery, object};

/// Key-values that accept every write at once and count the writes.
#[derive(Default)]
struct Writes(AtomicUsize);

impl KeyValueSource for Writes {
    fn get(&self, _: Place, keys: Vec<String>, _: usize) -> Kept<'_, Vec<Option<Vec<u8>>>> {
        Box::pin(ready(Ok(vec![None; keys.len()])))
    }

    fn exists(&self, _: Place, _: String) -> Kept<'_, bool> {
        Box::pin(ready(Ok(false)))
    }

    fn keys(&self, _: Place, _: Option<String>, _: usize) -> Kept<'_, Vec<String>> {
        Box::pin(ready(Ok(Vec::new())))
    }

    fn change(&self, _: Place, _: Vec<(String, Option<Vec<u8>>)>, _: Quota) -> Kept<'_, ()> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Box::pin(ready(Ok(())))
    }

    fn increment(&self, _: Place, _: String, _: u64, _: Quota) -> Kept<'_, u64> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Box::pin(ready(Ok(0)))
    }
}

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

/// How fairly the writes of several plugins are committed is shown by `host/src/state/commits/tests.rs`.
#[tokio::test]
async fn key_value_writes_are_limited_to_the_budget_of_the_plugin() {
    const A_SECOND: u32 = 100;
    let limits = |limits: &mut Limits| {
        limits.keyvalue_writes = NonZeroU32::new(A_SECOND).unwrap();
        limits.deadline = DEADLINE;
    };
    let (large, many) = (json!({"set": ["k", 40 << 10]}), json!({"delete-many": vec![""; 500]}));
    let steps =
        [json!({"set": ["k", 1]}), json!({"increment": ["n", 1]}), json!({"delete": "k"}), large, many];
    let store = Arc::new(Writes::default());
    let setup =
        hostile(&json!({"steps": steps}).to_string()).limits(limits).keyvalue(Arc::clone(&store) as _);
    let running = load(setup, "keeper").await;
    let (neighbour, begun) = (Neighbour::start().await, Instant::now());

    neighbour.hardly_notices(&running.plugin, || calls(Arc::clone(&running.plugin))).await;

    let written = store.0.load(Ordering::Relaxed);
    let most = f64::from(A_SECOND) * (begun.elapsed().as_secs_f64() + 1.0);
    assert!(written >= 50 && written as f64 <= most, "{written} writes, {most} allowed");
    let stats = running.plugin.stats().keyvalue;
    assert!(stats.refused > 0 && stats.failed == 0, "{stats:?}");
    assert!(running.log.messages().iter().any(|line| line.contains("raise `keyvalue-writes`")));
}

/// How they share commits with other writes is shown by `host/src/state/key_values/tests.rs`.
#[tokio::test]
async fn key_value_writes_of_many_small_entries_are_paid_for_by_the_entry() {
    // The budget has 100 tokens at once, and 90 more before the deadline.
    let limits = |limits: &mut Limits| {
        limits.keyvalue_writes = NonZeroU32::new(100).unwrap();
        limits.deadline = LATER;
    };
    let (keys, pairs, few) = (vec![""; 3_200], vec![["", ""]; 3_200], vec![""; 160]);
    let steps = json!({"steps": [{"delete-many": keys}, {"set-many": pairs}, {"delete-many": few}]});
    let store = Arc::new(Writes::default());
    let setup = hostile(&steps.to_string()).limits(limits).keyvalue(Arc::clone(&store) as _);
    let running = load(setup, "keeper").await;

    assert_eq!(running.add("bad").await, Outcome::Acknowledged);

    let stats = running.plugin.stats().keyvalue;
    assert_eq!((stats.refused, stats.writes, store.0.load(Ordering::Relaxed)), (2, 1, 1), "{stats:?}");
}

#[tokio::test]
async fn many_pointers_into_a_large_object_cost_one_reading_of_its_text() {
    // One reading is one slice. Without optimisation it takes about 25 ms for the largest object of etcd, and 0.3 ms for
    // this one.
    let members: Vec<String> =
        (0..320).map(|number| format!("\"key-{number}\":\"{}\"", "x".repeat(50))).collect();
    let large = object("default", "large", "1", &format!("{{\"data\":{{{}}}}}", members.join(",")));
    let running = load(hostile(r#"{"what": "pointers"}"#).deadline(DEADLINE), "vandal").await;

    let failure = attack_fails(&Neighbour::start().await, &running, || added(Arc::clone(&large))).await;

    assert_eq!(failure.kind, FailureKind::Deadline, "{failure}");
}

/// The functions that answer with digests.
const BY_DIGESTS: [&str; 4] = ["get-many", "differs", "get-fields", "list-fields"];

#[tokio::test]
async fn many_digests_of_a_large_value_cost_one_hash_of_it() {
    let neighbour = Neighbour::start().await;
    for by in BY_DIGESTS {
        let forms = ["sha256:/data", "sha1-pairs:/data", "sha1-base64-pairs:/data"].map(str::to_owned);
        let failure = digests_fail(&neighbour, by, &forms).await;

        assert_eq!(failure.kind, FailureKind::Deadline, "{by}: {failure}");
    }
}

#[tokio::test]
async fn digests_of_large_values_that_contain_one_another_are_refused_or_compared_once() {
    let neighbour = Neighbour::start().await;
    let pointers: Vec<String> =
        (0..LEVELS).map(|level| format!("sha256:/data{}", "/a".repeat(level))).collect();
    for by in BY_DIGESTS {
        let failure = digests_fail(&neighbour, by, &pointers).await;

        match by {
            // Values that are equal contain equal values.
            "differs" => assert_eq!(failure.kind, FailureKind::Deadline, "{failure}"),
            _ => {
                assert_eq!(failure.kind, FailureKind::Handler, "{by}: {failure}");
                assert!(
                    failure.message.contains(
                        "bytes of the object, because their values contain one another or are wanted in several forms; at most 1048576"
                    ),
                    "{by}: {failure}"
                );
            }
        }
    }
}

/// The values around the text of [`digests_fail`].
const LEVELS: usize = 100;

/// The failure of a plugin that requests digests of an object of 16 KiB, whose text is in [`LEVELS`] values.
async fn digests_fail(neighbour: &Neighbour, by: &str, pointers: &[String]) -> Failure {
    let text = format!(
        "{{\"data\":{}\"{}\"{}}}",
        "{\"a\":".repeat(LEVELS),
        "x".repeat(16 << 10),
        "}".repeat(LEVELS)
    );
    let [old, new] = ["1", "2"].map(|version| object("default", "large", version, &text));
    let setup = hostile(&json!({"by": by, "pointers": pointers}).to_string()).read(&["v1/pods"]);
    let setup = setup.cache("v1/pods", vec![Arc::clone(&new)]).deadline(DEADLINE);
    let running = load(setup, "hasher").await;
    let update = || delivery(Change::Updated { old: Arc::clone(&old), new: Arc::clone(&new) }, Cause::Live);

    attack_fails(neighbour, &running, update).await
}

/// Attacks with these deliveries, each of which fails. Returns the failure of one with a long deadline.
async fn attack_fails(neighbour: &Neighbour, running: &Running, of: impl Fn() -> Delivery) -> Failure {
    let attack = || {
        let (plugin, delivery) = (Arc::clone(&running.plugin), of());
        async move {
            loop {
                plugin.handle(delivery.clone()).await;
                tokio::task::yield_now().await;
            }
        }
    };

    neighbour.hardly_notices(&running.plugin, attack).await;

    running.set_deadline(LATER).await;
    match running.plugin.handle(of()).await {
        Some(Outcome::Retry { failure, .. }) => failure,
        other => panic!("it never returns by itself: {other:?}"),
    }
}
