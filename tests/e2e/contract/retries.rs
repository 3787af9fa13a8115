//! Point 3: at least once. A call counts when it returned ok. Otherwise it is made again until it succeeds, newer
//! state of the object replaces it, or its attempts are spent. Then it becomes a dead letter. Nothing is dropped
//! silently.

use informer_tests::host::TestHost;
use serde_json::{Value, json};

use super::{
    Stage,
    witness::{Call, WITNESS, calls, wait_for_calls},
};

/// The counters of the queue add up: each offered notification is in one of them.
fn assert_accounted_for(host: &TestHost, plugin: &str) {
    let queue = &host.plugin(plugin)["queue"];
    let count = |counter: &str| queue[counter].as_u64().unwrap();
    let merged: u64 = queue["merged"].as_object().unwrap().values().filter_map(Value::as_u64).sum();
    let settled = ["acknowledged", "cancelled", "dead", "dropped", "discarded", "pending", "in-flight"];
    let settled: u64 = settled.into_iter().map(count).sum();
    assert_eq!(count("offered"), settled + merged, "{queue:#}");
}

/// A handler can fail, and is called again (P-19).
#[tokio::test(flavor = "multi_thread")]
async fn a_failed_call_is_made_again_until_it_succeeds() {
    let stage = Stage::new().await;
    let config = "[plugin.retry]\nmin = \"1ms\"\nmax = \"5ms\"\n[plugin.config]\ntimes = 3";
    let host = stage.host("flaky", "", config).await;
    host.synced().await;

    stage.objects.create("a").await;
    host.until("the acknowledgement", |_| host.plugin("flaky")["queue"]["acknowledged"] == 1).await;

    let plugin = host.plugin("flaky");
    assert_eq!((&plugin["queue"]["delivered"], &plugin["queue"]["retried"]), (&json!(4), &json!(3)));
    assert_eq!(plugin["calls"]["failures"], json!({"handler": 3}));
    assert_accounted_for(&host, "flaky");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn newer_state_replaces_a_notification_that_waits_for_its_retry() {
    let stage = Stage::new().await;
    // The retry is due in an hour, so the update causes the second call.
    let config = "[plugin.retry]\nmin = \"1ms\"\nmax = \"1h\"\nfactor = 10.0\n[plugin.config]\nfail = \"a\"";
    let host = stage.host(WITNESS, "", config).await;
    host.synced().await;
    stage.objects.create("a").await;
    // The delays are 1 ms, 10 ms, 100 ms, 1 s and 10 s: after the fifth failure there is time.
    wait_for_calls(&host, 5).await;
    host.until("the fifth failure", |_| host.plugin(WITNESS)["queue"]["in-flight"] == 0).await;

    stage.objects.update("a", 1).await;
    host.lines
        .until(WITNESS, "the newer state", |lines| calls(lines).last().is_some_and(|call| call.round == "1"))
        .await;

    let Call { verb, attempt, .. } = calls(&host.lines.of(WITNESS)).pop().unwrap();
    // The addition never succeeded, so the call is still an addition. The attempts of the older state count.
    assert_eq!((verb.as_str(), attempt), ("add", 6));
    assert_eq!(host.plugin(WITNESS)["queue"]["merged"]["add"], 1);
    assert_accounted_for(&host, WITNESS);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_letter_has_a_reason_and_newer_state_withdraws_it() {
    let stage = Stage::new().await;
    let config = "[plugin.retry]\nmin = \"1ms\"\nmax = \"2ms\"\nattempts = 3\n[plugin.config]\ntimes = 3";
    let host = stage.host("flaky", "", config).await;
    host.synced().await;
    stage.objects.create("a").await;
    host.until("the dead letter", |_| host.plugin("flaky")["queue"]["dead"] == 1).await;

    let letters = host.plugin("flaky")["dead-letters"].clone();
    let letter = &letters[0];
    assert_eq!((&letter["verb"], &letter["attempts"]), (&json!("add"), &json!(3)), "{letters:#}");
    assert!(letter["failure"].as_str().unwrap().contains("failure 3 for default/a"), "{letters:#}");
    assert_accounted_for(&host, "flaky");

    // This guest has no handler for updates, so the update succeeds.
    stage.objects.update("a", 1).await;
    host.until("the withdrawal", |_| host.plugin("flaky")["dead-letters"] == json!([])).await;
    assert_accounted_for(&host, "flaky");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_retry_delay_and_the_permanent_failure_of_a_handler_are_respected() {
    let stage = Stage::new().await;
    let toml = |how: &str| format!("[plugin.config]\ntimes = 1\nhow = \"{how}\"");
    for (how, counter) in [("retry-after", "acknowledged"), ("permanent", "dead")] {
        let host = stage.host("flaky", "", &toml(how)).await;
        host.synced().await;
        stage.objects.create(how).await;
        host.until(how, |_| {
            let queue = &host.plugin("flaky")["queue"];
            let settled = queue["acknowledged"].as_u64().unwrap() + queue["dead"].as_u64().unwrap();
            queue[counter].as_u64() >= Some(1) && settled == queue["offered"].as_u64().unwrap()
        })
        .await;
        assert_accounted_for(&host, "flaky");
        host.stop().await;
    }
}
