//! The consequences of failures and their reports: R-2, R-16, R-17, R-21 to R-23.

use std::time::Duration;

use informer_cache::{ErrorClass, FactoryConfig, Phase};
use serde_json::json;

use crate::{
    server::{Answer, Script},
    world::{World, config, event, pod, pods, status},
};

fn table(version: &str) -> serde_json::Value {
    json!({"kind": "Table", "apiVersion": format!("meta.k8s.io/{version}"), "rows": []})
}

/// The first list gets this answer, and the next list succeeds. Returns the error text.
async fn failing_list(answer: Answer, class: ErrorClass) -> String {
    let script = Script::new();
    script.list(answer);
    script.list(Answer::list("10", &[pod("a", "1")]));
    let world = World::start(script);
    let text = world.fails(class).await;
    assert!(!world.informer.has_synced());
    world.caches(&["shop/a@1"]).await;
    text
}

/// Scenario 32: a list that fails is retried forever (R-16), and a Table is not a list (R-17).
#[tokio::test(start_paused = true)]
async fn an_answer_that_is_not_a_list_is_described_and_retried() {
    for (answer, expected) in [
        (Answer::ok("<!DOCTYPE html><html>"), "answered with HTML, not JSON: is it an API server?"),
        (
            Answer::ok(r#"{"kind":"PodList","items":[{"metadata""#),
            "closed the connection in the middle of its answer, after 38 bytes",
        ),
        (Answer::ok(r#"{"kind":"PodList",nonsense"#), "not JSON"),
        (Answer::ok("[]"), "a JSON value that is no list"),
        (Answer::json(&json!({"kind": "Table", "rows": []})), "answered with a Table"),
        (Answer::json(&table("v1")), "answered with a Table"),
        (Answer::json(&table("v1beta1")), "answered with a Table"),
        (Answer::json(&pod("a", "1")), "`Pod`, which is no list"),
    ] {
        let text = failing_list(answer, ErrorClass::Malformed).await;

        assert!(text.contains(expected), "{text}");
        assert!(text.contains("cannot list v1/pods") && text.contains("http://scripted"), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_breaks_off_is_described() {
    let (live, answer) = Answer::live(200);
    live.bytes(r#"{"kind":"PodList","#);
    live.reset();

    let text = failing_list(answer, ErrorClass::Malformed).await;

    assert!(text.contains("closed the connection in the middle of its answer, after 18 bytes"), "{text}");
}

/// Scenario 83: the status reports each failure with its remedy. client-go has an error handler instead (R-35).
#[tokio::test(start_paused = true)]
async fn a_refused_request_is_reported_with_its_remedy() {
    for (answer, class, expected) in [
        (
            Answer::error(403, "Forbidden", "pods is forbidden: User \"x\" cannot list"),
            ErrorClass::Forbidden,
            &["403 Forbidden", "User \"x\" cannot list", "grant get, list and watch"][..],
        ),
        (Answer::status(401, "Unauthorized"), ErrorClass::Unauthorized, &["401", "renew the credentials"]),
        (Answer::status(404, "404 page not found\n"), ErrorClass::NotFound, &["404", "page not found"]),
        (Answer::status(502, "<html>Bad Gateway"), ErrorClass::Server, &["502", "an HTML page"]),
        (Answer::Refused, ErrorClass::Refused, &["cannot be reached", "refused", "is it running?"]),
        (
            Answer::json(&status(500, "InternalError", "a status in a 200")),
            ErrorClass::Server,
            &["a status in a 200"],
        ),
    ] {
        let text = failing_list(answer, class).await;

        assert!(expected.iter().all(|part| text.contains(part)), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_without_an_answer_times_out() {
    let (_live, answer) = Answer::live(200);

    let text = failing_list(answer, ErrorClass::Silent).await;

    assert!(text.contains("sent nothing for 90 s"), "{text}");
}

/// The delay between two attempts doubles (R-2).
#[tokio::test(start_paused = true)]
async fn lists_are_retried_with_growing_delays() {
    let script = Script::new();
    let world = World::start(script);

    world.lists(6).await;

    let lists = world.script.lists();
    let delays: Vec<u128> = lists.windows(2).map(|pair| (pair[1].at - pair[0].at).as_millis()).collect();
    assert_eq!(delays[..5], [800, 1600, 3200, 6400, 12800]);
    let status = world.informer.status();
    assert_eq!(status.phase, Phase::BackingOff);
    assert_eq!(
        status.to_string(),
        "v1/pods: backing-off, not synced, 0 objects; cannot list v1/pods: the API server at http://scripted \
         answered 500 Internal Server Error: the script has no more lists (LIST v1/pods); failed 6 times in 25 s; \
         it is tried again in 26 s; what helps: read the API server's log"
    );
}

#[tokio::test(start_paused = true)]
async fn the_next_list_waits_for_the_retry_after_of_the_server() {
    let script = Script::new();
    script.list(Answer::error(429, "TooManyRequests", "slow down").with_header("Retry-After", "7"));
    script.list(Answer::list("10", &[]));
    let world = World::start(script);

    world.watches(1).await;

    let lists = world.script.lists();
    assert_eq!(lists[1].at - lists[0].at, Duration::from_secs(7));
}

/// Scenario 115: a refused or throttled watch is reopened at its last version after a backoff (R-21).
#[tokio::test(start_paused = true)]
async fn refused_and_throttled_watches_are_resumed_without_a_list() {
    let script = Script::new();
    script.list(Answer::list("10", &[]));
    script.watch(Answer::Refused);
    script.watch(Answer::error(429, "TooManyRequests", "slow down"));
    script.watch(Answer::watch(&[
        event("ADDED", pod("a", "11")),
        event("ERROR", status(429, "TooManyRequests", "x")),
    ]));
    let world = World::start(script);

    world.watches(4).await;

    assert_eq!(world.watch_versions(), ["10", "10", "10", "11"]);
    assert_eq!(world.list_versions().len(), 1);
    let watches = world.script.watches();
    let delays: Vec<u128> = watches.windows(2).map(|pair| (pair[1].at - pair[0].at).as_millis()).collect();
    assert_eq!(delays, [800, 1600, 3200]);
}

/// Scenario 115: a watch that fails to open for another reason ends the run (R-21).
/// Nothing below the reflector repeats the request (A-12).
#[tokio::test(start_paused = true)]
async fn any_other_failure_to_open_a_watch_leads_to_a_relist() {
    for status in [401, 403, 404, 500, 503] {
        let script = Script::new();
        script.list(Answer::list("10", &[]));
        script.watch(Answer::status(status, "no"));
        script.list(Answer::list("20", &[]));
        let world = World::start(script);

        world.watches(2).await;

        assert_eq!(world.watch_versions(), ["10", "20"], "{status}");
    }
}

/// Scenarios 9 and 116: an ERROR event that is neither throttling nor a retried internal error ends the run (R-22).
#[tokio::test(start_paused = true)]
async fn any_other_error_event_leads_to_a_relist() {
    for payload in [status(500, "InternalError", "store read error"), pod("x", "1"), json!(null)] {
        let script = Script::new();
        script.list(Answer::list("10", &[pod("a", "1")]));
        script.watch(Answer::watch(&[event("MODIFIED", pod("a", "11")), event("ERROR", payload)]));
        script.list(Answer::list("20", &[]));
        let world = World::start(script);

        world.watches(2).await;

        assert_eq!(world.list_versions(), ["0", "11"]);
        assert!(world.cached().is_empty());
    }
}

/// Within the configured window, an internal error reopens the watch without a list (R-23).
#[tokio::test(start_paused = true)]
async fn internal_errors_within_the_window_reopen_the_watch() {
    let script = Script::new();
    script.list(Answer::list("10", &[]));
    for _ in 0..3 {
        script.watch(Answer::watch(&[event("ERROR", status(500, "InternalError", "etcd"))]));
    }
    let config = FactoryConfig { internal_error_retry: Duration::from_secs(30), ..config() };
    let world = World::start_with(script, config, pods());

    world.watches(4).await;

    assert_eq!(world.list_versions().len(), 1);
}

/// After an invalid frame the rest of the stream cannot be trusted (A-11).
#[tokio::test(start_paused = true)]
async fn an_invalid_frame_ends_the_watch_and_leads_to_a_relist() {
    for (frame, expected) in [
        ("{\"type\":\"ADDED\",\"object\":{\n", "not JSON"),
        ("<html>\n", "not JSON"),
        ("{\"type\":\"CHANGED\",\"object\":{}}\n", "unknown type `CHANGED`"),
    ] {
        let script = Script::new();
        script.list(Answer::list("10", &[]));
        let watch = script.live_watch();
        script.list(Answer::list("20", &[]));
        let world = World::start(script);
        watch.bytes(frame);

        let text = world.fails(ErrorClass::Malformed).await;
        world.watches(2).await;

        assert!(text.contains("cannot watch v1/pods") && text.contains(expected), "{text}");
        assert_eq!(world.list_versions(), ["0", "10"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_frame_without_end_is_an_error_and_does_not_exhaust_the_memory() {
    let script = Script::new();
    script.list(Answer::list("10", &[]));
    let watch = script.live_watch();
    script.list(Answer::list("20", &[]));
    let world = World::start_with(script, FactoryConfig { max_object_bytes: 1_000, ..config() }, pods());
    watch.bytes(vec![b'x'; 1_001]);

    let text = world.fails(ErrorClass::Malformed).await;

    assert!(text.contains("more than 1000 bytes"), "{text}");
}

/// The delays start over after two minutes in which watches were open (D-1).
#[tokio::test(start_paused = true)]
async fn two_healthy_minutes_reset_the_delays() {
    let script = Script::new();
    script.list(Answer::error(500, "InternalError", "x"));
    script.list(Answer::error(500, "InternalError", "x"));
    script.list(Answer::list("10", &[]));
    let watch = script.live_watch();
    script.list(Answer::list("20", &[]));
    let world = World::start(script);
    world.watches(1).await;
    tokio::time::sleep(Duration::from_secs(130)).await;
    let broke = tokio::time::Instant::now();
    watch.frame(&event("ERROR", status(410, "Expired", "x")));

    world.lists(4).await;

    let delay = world.script.lists()[3].at - broke;
    assert!((800..1_600).contains(&delay.as_millis()), "{delay:?}");
}

#[tokio::test(start_paused = true)]
async fn a_recovery_is_reported_and_the_last_error_is_kept() {
    let script = Script::new();
    script.list(Answer::error(403, "Forbidden", "no"));
    script.list(Answer::list("10", &[]));
    let world = World::start(script);
    world.watches(1).await;

    tokio::time::sleep(Duration::from_secs(2)).await;

    let status = world.informer.status();
    assert_eq!((status.phase, status.reflectors[0].consecutive_failures), (Phase::Watching, 0));
    assert_eq!(status.reflectors[0].last_error.as_ref().unwrap().class, ErrorClass::Forbidden);
    assert_eq!(status.to_string(), "v1/pods: watching, synced, 0 objects");
}

/// Scenario 3: failures are retried (R-16), a watch that cannot be opened leads to a relist (R-21), and the cache stays
/// readable meanwhile (R-32).
#[tokio::test(start_paused = true)]
async fn a_failed_run_reports_its_reason_and_the_next_list_closes_the_gap() {
    let script = Script::new();
    script.list(Answer::list("10", &[pod("a", "1"), pod("b", "2")]));
    script.watch(Answer::error(500, "InternalError", "the watch is broken"));
    script.list(Answer::error(503, "ServiceUnavailable", "the list is broken"));
    let (third, answer) = Answer::live(200);
    script.list(answer);
    let world = World::start(script);

    assert!(world.fails(ErrorClass::Server).await.contains("the watch is broken"));
    world.lists(3).await;
    let last_error = world.informer.status().reflectors[0].last_error.as_ref().unwrap().text.clone();
    assert!(last_error.contains("the list is broken"), "{last_error}");
    assert_eq!(world.cached(), ["shop/a@1", "shop/b@2"]);

    third.bytes(
        json!({"metadata": {"resourceVersion": "20"}, "items": [pod("b", "12"), pod("c", "13")]}).to_string(),
    );
    third.end();
    world.caches(&["shop/b@12", "shop/c@13"]).await;
    assert_eq!(
        world.received()[2..],
        ["delete shop/a@1 relist?", "update shop/b@2->12 relist", "add shop/c@13 relist"]
    );
}
