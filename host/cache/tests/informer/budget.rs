//! The request budget that all informers of a factory share, Retry-After, and the spacing of reopened watches.

use std::{num::NonZeroU32, sync::Arc, time::Duration};

use informer_cache::FactoryConfig;
use tokio::time::Instant;

use crate::{
    server::{Answer, Script},
    world::{World, bookmark, config, event, listener, pod, pods, status},
};

fn slow(qps: u32, burst: u32) -> FactoryConfig {
    let number = |number| NonZeroU32::new(number).unwrap();
    FactoryConfig { qps: number(qps), burst: number(burst), ..config() }
}

/// A watch of `count` namespaces, with one reflector for each.
fn namespaces(count: usize) -> informer_cache::WatchConfig {
    let namespaces = (0..count).map(|number| format!("n{number}")).collect();
    informer_cache::WatchConfig { namespaces, ..pods() }
}

fn at(world: &World) -> Vec<Instant> {
    world.script.requests().iter().map(|request| request.at).collect()
}

/// All reflectors of a factory share one rate. In client-go, each client has its own rate.
#[tokio::test(start_paused = true)]
async fn reflectors_that_start_together_share_the_rate() {
    let script = Script::new();
    (0..10).for_each(|_| script.list(Answer::list("10", &[])));
    let world = World::start_with(script, slow(10, 4), namespaces(10));

    world.watches(10).await;

    // Discovery took the first of the four tokens.
    let at = at(&world);
    let start = at[0];
    let after: Vec<u128> = at.iter().map(|at| (*at - start).as_millis()).collect();
    assert_eq!(&after[..3], [0, 0, 0]);
    assert!(after[3..].windows(2).all(|pair| pair[1] - pair[0] >= 99), "{after:?}");
    assert!(after[19] >= 1_690, "{after:?}");
}

#[tokio::test(start_paused = true)]
async fn all_pages_of_a_list_count_as_one_request() {
    let script = Script::new();
    for page in 0..20 {
        script.list(Answer::page("10", &format!("t{page}"), &[pod(&format!("p{page}"), "1")]));
    }
    script.list(Answer::page("10", "", &[]));
    let world = World::start_with(script, slow(1, 3), pods());

    world.watches(1).await;

    let at = at(&world);
    assert!(at[20] - at[0] < Duration::from_millis(100));
}

/// Scenario 115: if the server asks one informer for a pause, all informers pause. No layer below the reflector retries
///
#[tokio::test(start_paused = true)]
async fn a_retry_after_of_a_429_pauses_all_informers() {
    let script = Script::new();
    let refusal = || Answer::error(429, "TooManyRequests", "slow down").with_header("Retry-After", "7");
    script.path("/api/v1/namespaces/n0/pods", refusal());
    (0..5).for_each(|_| script.list(Answer::list("10", &[])));
    let start = Instant::now();
    let world = World::start_with(script, slow(1_000, 1), namespaces(3));

    world.watches(3).await;

    // The first request is for n0; the others follow after the seven seconds.
    assert!(at(&world).iter().all(|at| *at - start >= Duration::from_secs(7)), "{:?}", at(&world));
}

#[tokio::test(start_paused = true)]
async fn a_retry_after_of_a_503_delays_only_that_resource() {
    let script = Script::new();
    let unavailable = Answer::error(503, "ServiceUnavailable", "the aggregated server is down")
        .with_header("Retry-After", "20");
    script.path("/api/v1/namespaces/n0/pods", unavailable);
    (0..3).for_each(|_| script.list(Answer::list("10", &[])));
    let start = Instant::now();
    let world = World::start_with(script, config(), namespaces(2));

    world.watches(2).await;

    let requests = world.script.requests();
    let first =
        |namespace: &str| requests.iter().find(|request| request.path.contains(namespace)).unwrap().at;
    assert!(first("n1") - start < Duration::from_secs(1));
    assert!(first("n0") - start >= Duration::from_secs(20));
}

#[tokio::test(start_paused = true)]
async fn a_status_in_the_stream_may_request_a_pause() {
    let script = Script::new();
    script.list(Answer::list("10", &[]));
    let mut refusal = status(429, "TooManyRequests", "slow down");
    refusal["details"] = serde_json::json!({"retryAfterSeconds": 9});
    script.watch(Answer::watch(&[bookmark("11"), event("ERROR", refusal)]));
    let world = World::start(script);

    world.watches(2).await;

    let at = at(&world);
    assert!(at[2] - at[1] >= Duration::from_secs(9));
    assert_eq!(world.watch_versions(), ["10", "11"]);
}

/// Every wait ends when the informer stops (D-4).
#[tokio::test(start_paused = true)]
async fn a_stop_ends_the_wait_for_the_budget() {
    let script = Script::new();
    script.list(Answer::list("10", &[]));
    let world = World::start_with(script, slow(1, 1), namespaces(100));
    let other = world.factory.informer(pods());
    other.add_listener(listener("other"), Arc::clone(&world.recorder) as _).unwrap();
    world.factory.start();
    world.lists(1).await;
    let before = Instant::now();

    world.factory.shutdown().await;

    assert!(before.elapsed() < Duration::from_millis(100));
}
