//! The limits of requests, and the deadline.

use std::{num::NonZeroU32, sync::atomic::Ordering, time::Duration};

use informer_runtime::capabilities::ApiFailure;
use informer_types::{FailureKind, Outcome};
use serde_json::json;

use super::{ALL, answers, writer};

#[tokio::test]
async fn more_requests_than_the_limit_wait_and_then_are_refused() {
    let steps = json!([{"do": "merge", "body": {}, "times": 200}]);
    let running = writer(&steps)
        .write(ALL)
        .deadline(Duration::from_secs(5))
        .limits(|limits| limits.requests = NonZeroU32::new(10).unwrap())
        .load("writer")
        .await;

    let answers = answers(&running).await;

    let refused = answers.iter().filter(|line| line.starts_with("merge error limit-exceeded: ")).count();
    let sent = running.api.asked().len();
    assert_eq!((sent + refused, answers.len()), (200, 200));
    // Ten at once, and more until the deadline, which waits for turns extend.
    assert!(sent >= 10 && refused > 0, "{sent} and {refused}");
    assert_eq!(running.plugin.stats().client.limited, u64::try_from(refused).unwrap());
    assert!(answers[199].contains("raise `requests` under [plugin.limits]"), "{}", answers[199]);
}

#[tokio::test]
async fn the_error_for_a_long_answer_shows_that_the_write_was_made() {
    let steps = json!([{"do": "merge", "body": {}}]);
    let running = writer(&steps).write(ALL).idle();
    running.api.fail(ApiFailure::TooLarge { status: 200, limit: 10 });
    running.load("writer").await.unwrap();

    let answers = answers(&running).await;

    let expected = "merge error too-large: the answer is longer than the plugin's limit of 10 bytes; \
                    request less, or raise `response` under [plugin.limits]";
    assert_eq!(answers, [expected]);
}

#[tokio::test]
async fn the_transport_receives_the_limit_on_answers() {
    let steps = json!([{"do": "get"}]);
    let running = writer(&steps).read(&["v1/pods"]).write(&[]).limits(|limits| limits.response_bytes = 77);
    let running = running.load("writer").await;

    answers(&running).await;

    assert_eq!(running.api.requests.lock()[0].longest_answer, 77);
}

#[tokio::test]
async fn a_server_that_never_answers_costs_one_call_its_deadline() {
    let steps = json!([{"do": "merge", "body": {}}]);
    let running = writer(&steps).write(ALL).deadline(Duration::from_secs(2)).load("writer").await;
    running.api.silent.store(true, Ordering::Relaxed);

    let failure = running.add_fails("web").await;

    assert_eq!(failure.kind, FailureKind::Deadline);
    assert_eq!(running.api.asked().len(), 1);
    let stats = running.plugin.stats().client;
    assert_eq!((stats.requests, stats.failed), (1, 1), "a request without an answer has failed");
    running.api.silent.store(false, Ordering::Relaxed);
    assert_eq!(running.add("web").await, Outcome::Acknowledged, "the next call is served");
}
