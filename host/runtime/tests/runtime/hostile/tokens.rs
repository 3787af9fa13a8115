//! Tokens and handles that are stale, belong to another plugin, or were never issued.
//!
//! A key of the workqueue is not a token but a text, and each plugin has a queue of its own.

use std::{sync::Arc, time::Duration};

use informer_types::{FailureKind, Outcome};

use super::{
    every_call_fails, hostile, load,
    neighbour::{Neighbour, calls},
};
use crate::host::{Running, pod};

/// The lender's call lasts longer than any test.
const HOUR: Duration = Duration::from_secs(3600);

/// A plugin that may list two pods.
async fn reading(config: &str, guest: &'static str) -> Running {
    let pods = vec![pod("theirs", "1"), pod("others", "1")];
    load(hostile(config).deadline(HOUR).read(&["v1/pods"]).cache("v1/pods", pods), guest).await
}

#[tokio::test]
async fn tokens_of_an_earlier_call_give_access_to_nothing() {
    let running = reading("{}", "stale_token").await;
    let neighbour = Neighbour::start().await;

    neighbour.hardly_notices(&running.plugin, || calls(Arc::clone(&running.plugin))).await;

    // Two more calls of one instance.
    assert_eq!([running.add("bad").await, running.add("bad").await], [const { Outcome::Acknowledged }; 2]);
    let lines = running.log.messages();
    let asked = |what: &str| lines.iter().filter(|line| line.starts_with(what)).count();
    assert!(asked("old object: ") > 0 && asked("old page: ") > 0, "{lines:?}");
    let refused = |line: &String| line.contains(": stale-token: ") || line.contains(": stale-page: ");
    assert!(lines.iter().all(|line| refused(line) || line.starts_with("bad pointer: invalid")), "{lines:?}");
}

#[tokio::test]
async fn tokens_that_another_plugin_holds_give_access_to_nothing_and_stay_valid() {
    let lender = reading(r#"{"role": "lends"}"#, "impostor").await;
    let lent = lender.spawn_add("theirs");
    lender.log.wait_for("page 0.1", 1).await;
    let running = reading(r#"{"role": "tries", "page": "0.1", "key": "default/theirs"}"#, "impostor").await;
    let neighbour = Neighbour::start().await;

    neighbour.hardly_notices(&running.plugin, || calls(Arc::clone(&running.plugin))).await;

    running.log.clear();
    assert_eq!(running.add("mine").await, Outcome::Acknowledged);
    let told = running.log.messages();
    let [objects, pages @ ..] = told.as_slice() else { panic!("{told:?}") };
    assert!(!objects.contains("theirs"), "its own object at most: {objects}");
    assert_eq!(pages, ["meta: stale-page", "fields: stale-page", "json: stale-page"]);
    assert!(!lent.is_finished(), "the tokens are still valid for the lender");
    assert!(running.keys.asked().contains(&"forget default/theirs".to_owned()));
    assert!(lender.keys.asked().is_empty(), "each plugin has its own queue");
    lent.abort();
}

#[tokio::test]
async fn a_handle_that_was_given_away_is_a_trap() {
    let running = load(hostile(r#"{"what": "handle"}"#), "vandal").await;

    every_call_fails(&running, FailureKind::Trap, "unknown handle index").await;

    let lines = running.log.messages();
    assert!(lines.is_empty(), "the guest did not run on: {lines:?}");
}
