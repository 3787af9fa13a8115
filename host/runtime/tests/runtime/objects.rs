//! Objects by token.

use std::sync::Arc;

use informer_runtime::{Codegen, Engine, EngineConfig};
use informer_types::{Cause, Change, Outcome};

use crate::host::{Running, Setup, added, delivery, object, pod};

fn reader(what: &str, pointer: &str) -> Setup {
    Setup::new(&format!(r#"{{"gvr": "v1/pods", "what": "{what}", "pointer": "{pointer}"}}"#)).read(&[])
}

async fn answer(running: &Running, json: &str) -> String {
    running.log.clear();
    assert_eq!(running.deliver(added(object("default", "web", "1", json))).await, Outcome::Acknowledged);
    running.log.messages().join("\n")
}

#[tokio::test]
async fn a_field_is_the_json_text_at_its_pointer() {
    let running = reader("field", "/spec/a~1b").load("reader").await;

    assert_eq!(answer(&running, r#"{"spec": {"a/b": "x"}}"#).await, r#"Some("\"x\"")"#);
    assert_eq!(answer(&running, r#"{"spec": {"a/b": [1, 2]}}"#).await, r#"Some("[1, 2]")"#);
    assert_eq!(answer(&running, r#"{"spec": {}}"#).await, "None");
}

#[tokio::test]
async fn an_invalid_pointer_is_refused_with_the_remedy() {
    let running = reader("field", "spec").load("reader").await;

    let answer = answer(&running, "{}").await;

    assert!(answer.starts_with("error: invalid: `spec` is not a JSON pointer"), "{answer}");
}

#[tokio::test]
async fn a_field_of_a_notification_that_the_plugin_does_not_declare_is_refused() {
    let running = reader("field", "/spec/x").declares("v1/pods", &["/spec/y"], false).load("reader").await;
    let answer = answer(&running, r#"{"spec": {"x": 1}}"#).await;
    assert!(
        answer.starts_with("error: invalid: \"/spec/x\" of v1/pods is not kept for this plugin"),
        "{answer}"
    );

    let running = reader("field", "sha256:/spec").declares("v1/pods", &["/spec"], false).load("reader").await;
    let (one, two) = (
        self::answer(&running, r#"{"spec": {"x": 1}}"#).await,
        self::answer(&running, r#"{"spec": {"x": 2}}"#).await,
    );
    assert!(one.starts_with("Some(") && one != two, "{one} {two}");
}

#[tokio::test]
async fn the_whole_object_is_the_cached_json() {
    let running = reader("json", "").load("reader").await;

    assert_eq!(answer(&running, r#"{"kind":"Pod",  "x": 1}"#).await, r#"{"kind":"Pod",  "x": 1}"#);
}

/// The bytes that the plugin has received, and that it has passed to the host.
fn crossed(running: &Running) -> (usize, usize) {
    let stats = running.plugin.stats();
    (stats.received_bytes.try_into().unwrap(), stats.sent_bytes.try_into().unwrap())
}

#[tokio::test]
async fn the_data_that_a_guest_reads_and_prints_is_counted_and_no_more() {
    let large = format!(r#"{{"small": 1, "large": "{}"}}"#, "x".repeat(10_000));
    // Names, a version and a line break come with the data.
    let around = |bytes: usize| bytes..bytes + 100;

    let whole = reader("json", "").load("reader").await;
    let before = crossed(&whole);
    assert_eq!(answer(&whole, &large).await, large);
    let after = crossed(&whole);
    assert!(around(large.len()).contains(&(after.0 - before.0)), "{before:?} {after:?}");
    assert!(around(large.len()).contains(&(after.1 - before.1)), "{before:?} {after:?}");

    let field = reader("field", "/small").load("reader").await;
    let before = crossed(&field);
    let printed = answer(&field, &large).await;
    let after = crossed(&field);
    assert!(around(1).contains(&(after.0 - before.0)), "{before:?} {after:?}");
    assert!(around(printed.len()).contains(&(after.1 - before.1)), "{before:?} {after:?}");
}

#[tokio::test]
async fn an_object_beyond_the_limit_is_refused_but_its_fields_can_be_read() {
    let large = format!(r#"{{"small": 1, "large": "{}"}}"#, "x".repeat(1_000));
    let limit = |limits: &mut informer_runtime::Limits| limits.response_bytes = 500;

    let whole = reader("json", "").limits(limit).load("reader").await;
    let refused = answer(&whole, &large).await;
    assert!(refused.starts_with("error: too-large: ") && refused.contains("limit is 500"), "{refused}");

    let field = reader("field", "/small").limits(limit).load("reader").await;
    assert_eq!(answer(&field, &large).await, r#"Some("1")"#);
}

#[tokio::test]
async fn the_old_object_of_an_update_has_a_token_and_can_be_compared() {
    let running = reader("field", "/spec/node").load("reader").await;
    let (old, new) = (pod("web", "1"), pod("web", "2"));

    for (old, new) in [(&old, &new), (&new, &new)] {
        let update = Change::Updated { old: old.clone(), new: new.clone() };
        assert_eq!(running.deliver(delivery(update, Cause::Live)).await, Outcome::Acknowledged);
    }

    assert_eq!(running.log.messages(), ["default/web 1 true", "default/web 2 false"]);
}

#[tokio::test]
async fn a_token_of_an_earlier_call_is_stale_and_never_names_another_object() {
    let pods = vec![pod("a", "1"), pod("b", "1")];
    let running = Setup::new("{}").read(&["v1/pods"]).cache("v1/pods", pods).load("stale_token").await;

    for name in ["first", "second"] {
        assert_eq!(running.add(name).await, Outcome::Acknowledged);
    }

    let told: Vec<String> = running
        .log
        .messages()
        .iter()
        .map(|line| line.splitn(3, ": ").take(2).collect::<Vec<_>>().join(": "))
        .collect();
    let expected = [
        "object in start: stale-token",
        "invented object: stale-token",
        "invented page: stale-page",
        "bad pointer: invalid",
        "old object: stale-token",
        "old page: stale-page",
        "bad pointer: invalid",
    ];
    assert_eq!(told, expected);
}

/// A call of a component that reads two fields of its object.
#[tokio::test]
#[ignore = "needs valgrind"]
async fn a_call_that_reads_two_fields_stays_within_its_instructions() {
    // The baseline compiler takes less time under callgrind.
    let engine =
        Engine::new(&EngineConfig { codegen: Codegen::Baseline, ..EngineConfig::default() }).unwrap();
    let running = Setup::new("{}").engine(&engine).load("two_fields").await;
    let pod = object("shop", "web", "1", r#"{"spec": {"nodeName": "n"}, "status": {"phase": "Running"}}"#);
    const TEST: &str = "objects::a_call_that_reads_two_fields_stays_within_its_instructions";

    for _ in 0..informer_instructions::rounds(TEST, 500, 362_000) {
        assert_eq!(running.deliver(added(Arc::clone(&pod))).await, Outcome::Acknowledged);
    }
}
