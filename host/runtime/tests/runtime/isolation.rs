//! A failed call costs its instance and nothing else. `hostile.rs` has loops, recursion and waits in the host.

use informer_types::{FailureKind, Outcome};

use crate::host::{PATIENCE, Setup};

#[tokio::test]
async fn the_failure_of_a_panic_has_the_guests_words_and_the_key_and_costs_the_instance() {
    let running = Setup::new(r#"{"only": "bad"}"#).load("trap").await;
    assert_eq!(running.add("good").await, Outcome::Acknowledged);

    let failure = running.add_fails("bad").await;

    assert_eq!(failure.kind, FailureKind::Trap);
    assert!(failure.message.starts_with("add of v1/pods default/bad: "), "{failure}");
    assert!(failure.message.contains("no way: default/bad"), "{failure}");
    assert!(failure.message.contains("trap.rs"), "{failure}");
    assert!(!failure.message.contains('\n') && !failure.message.contains("wasmtime::"), "{failure}");
    assert_eq!(running.add("good").await, Outcome::Acknowledged);
    let stats = running.plugin.stats();
    assert_eq!((stats.calls, stats.acknowledged, stats.failures[&FailureKind::Trap]), (3, 2, 1));
    assert_eq!((stats.instances.created, stats.instances.retired, stats.instances.idle), (2, 1, 1));
    assert_eq!(stats.last_failure, Some(failure.to_string()));
}

#[tokio::test(flavor = "current_thread")]
async fn other_plugins_are_served_on_the_same_thread_while_a_guest_spins() {
    let spinning = Setup::new("{}").deadline(PATIENCE).load("spin").await;
    let neighbour = Setup::new("{}").load("echo").await;
    let call = spinning.spawn_add("bad");

    for _ in 0..5 {
        assert_eq!(neighbour.spawn_add("good").await.unwrap(), Outcome::Acknowledged);
    }

    assert!(!call.is_finished(), "it still spins");
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled(), "it can be ended");
    assert_eq!(spinning.plugin.stats().instances.retired, 1);
}

#[tokio::test]
async fn a_guest_that_exceeds_its_memory_limit_is_retired() {
    let running = Setup::new("{}").limits(|limits| limits.memory_bytes = 8 << 20).load("hog").await;

    let failure = running.add_fails("any").await;

    assert_eq!(failure.kind, FailureKind::Memory);
    assert!(failure.message.contains("8388608 bytes"), "{failure}");
    assert!(failure.message.contains("memory allocation of"), "the guest's own words: {failure}");
    let stats = running.plugin.stats();
    assert!(stats.memory_refusals >= 1, "{stats:?}");
    assert_eq!((stats.instances.retired, stats.instances.idle), (1, 0));
}

#[tokio::test]
async fn a_guest_that_survives_a_refused_allocation_returns_its_answer_and_is_retired() {
    let limit = |limits: &mut informer_runtime::Limits| limits.memory_bytes = 8 << 20;
    let running = Setup::new(r#"{"survive": true}"#).limits(limit).load("hog").await;

    assert_eq!(running.add("any").await, Outcome::Acknowledged);

    let said = running.log.messages();
    assert!(said.iter().any(|line| line.starts_with("refused after ")), "{said:?}");
    let limit =
        "the guest wanted more memory than its limit of 8388608 bytes (`memory` under [plugin.limits])";
    assert_eq!(said.last().map(String::as_str), Some(limit), "{said:?}");
    let stats = running.plugin.stats();
    assert!(stats.memory_refusals >= 1, "{stats:?}");
    assert_eq!((stats.acknowledged, stats.instances.retired, stats.instances.idle), (1, 1, 0));
}

#[tokio::test]
async fn a_call_whose_future_is_dropped_costs_its_instance() {
    let running = Setup::new(r#"{"millis": 60000, "only": "bad"}"#).load("slow").await;
    let call = running.spawn_add("bad");
    running.log.wait_for("begin default/bad", 1).await;

    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());

    assert_eq!(running.plugin.stats().instances.retired, 1);
    assert_eq!(running.add("good").await, Outcome::Acknowledged);
    assert_eq!(running.plugin.stats().instances.created, 2);
}
