//! The limits of a plugin, and what happens at each limit.

use std::{
    num::NonZeroU32,
    time::{Duration, Instant},
};

use informer_types::{Cause, Change, FailureKind, Outcome};

use crate::host::{PATIENCE, Setup, delivery, pod};

#[tokio::test]
async fn a_plugin_that_used_up_its_processor_share_waits_and_the_wait_extends_its_deadline() {
    let deadline = Duration::from_secs(5);
    let cpu = |limits: &mut informer_runtime::Limits| limits.cpu = Some(Duration::from_millis(10));
    let running = Setup::new("{}").deadline(deadline).limits(cpu).load("spin").await;
    let call = running.spawn_add("any");

    // It uses the share of one second at once, then a hundredth of a processor.
    let begun = Instant::now();
    while running.plugin.stats().throttled_time <= deadline {
        assert!(begun.elapsed() < PATIENCE, "{:?}", running.plugin.stats());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }

    assert!(running.plugin.stats().throttled > 1);
    assert!(!call.is_finished(), "waits that the host imposes do not count");
    call.abort();
}

#[tokio::test]
async fn another_share_applies_at_once_to_waiting_calls_and_starts_no_instance() {
    let share = |cpu: Option<Duration>| {
        Setup::new("{}").deadline(Duration::from_secs(2)).limits(|limits| limits.cpu = cpu)
    };
    // With a millisecond per second, a call that used one tick waits longer than the test.
    let least = Some(Duration::from_millis(1));
    let running = share(None).load("spin").await;
    let created = running.plugin.stats().instances.created;
    assert_eq!(running.plugin.configure(share(least).config).await.unwrap(), None);
    let call = running.spawn_add("any");
    let begun = Instant::now();
    while running.plugin.stats().throttled < 2 {
        assert!(begun.elapsed() < PATIENCE, "{:?}", running.plugin.stats());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(!call.is_finished());

    assert_eq!(running.plugin.configure(share(None).config).await.unwrap(), None);

    // It spins until its deadline, of which nothing has passed yet.
    let outcome = tokio::time::timeout(PATIENCE, call).await.unwrap().unwrap();
    assert!(matches!(&outcome, Outcome::Retry { failure, .. } if failure.kind == FailureKind::Deadline));
    assert_eq!(running.plugin.stats().instances.created, created);

    // And back to a limit.
    let before = running.plugin.stats().throttled;
    assert_eq!(running.plugin.configure(share(least).config).await.unwrap(), None);
    let call = running.spawn_add("any");
    let begun = Instant::now();
    while running.plugin.stats().throttled == before {
        assert!(begun.elapsed() < PATIENCE, "{:?}", running.plugin.stats());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    call.abort();
}

#[tokio::test]
async fn another_deadline_or_memory_limit_applies_after_the_swap_and_another_number_of_instances_at_once() {
    let spin = |deadline: u64, instances: usize| {
        Setup::new("{}").deadline(Duration::from_millis(deadline)).instances(instances)
    };
    let running = spin(1_000, 1).load("spin").await;
    assert_eq!(running.add_fails("any").await.kind, FailureKind::Deadline);

    let slower = running.plugin.configure(spin(60_000, 1).config).await.unwrap();
    assert!(slower.is_some(), "a new version starts with the new limits");
    let call = running.spawn_add("any");
    let waits = running.spawn_add("other");
    let begun = Instant::now();
    while running.plugin.stats().instances.waited == 0 {
        assert!(begun.elapsed() < PATIENCE);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }

    // With one more instance the waiting call starts; no version is restarted.
    let created = running.plugin.stats().instances.created;
    assert_eq!(running.plugin.configure(spin(60_000, 2).config).await.unwrap(), None);
    while running.plugin.stats().instances.created == created {
        assert!(begun.elapsed() < PATIENCE);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(!call.is_finished() && !waits.is_finished());
    call.abort();
    waits.abort();
}

#[tokio::test]
async fn a_plugin_within_its_share_never_waits() {
    let cpu = |limits: &mut informer_runtime::Limits| limits.cpu = Some(Duration::from_secs(1));
    let running = Setup::new("{}").limits(cpu).load("echo").await;

    for _ in 0..20 {
        assert_eq!(running.add("web").await, Outcome::Acknowledged);
    }

    let stats = running.plugin.stats();
    assert_eq!((stats.throttled, stats.throttled_time), (0, Duration::ZERO));
}

#[tokio::test]
async fn a_call_with_too_many_calls_to_the_host_is_ended_at_once() {
    let most = |limits: &mut informer_runtime::Limits| limits.host_calls = NonZeroU32::new(1_000);
    let running = Setup::new(r#"{"only": "bad"}"#).limits(most).load("flood").await;
    let before = running.plugin.stats().host_calls;

    let failure = running.add_fails("bad").await;

    assert_eq!(failure.kind, FailureKind::HostCalls);
    assert!(failure.message.contains("more than 1000 calls to the host"), "{failure}");
    assert!(failure.message.contains("`host-calls` under [plugin.limits]"), "{failure}");
    let stats = running.plugin.stats();
    assert!(stats.host_calls - before < 1_100, "it was ended at once: {stats:?}");
    assert_eq!((stats.failures[&FailureKind::HostCalls], stats.instances.retired), (1, 1));
    assert_eq!(running.add("good").await, Outcome::Acknowledged);
}

#[tokio::test]
async fn a_call_that_returns_after_too_many_calls_to_the_host_fails() {
    let most = |limits: &mut informer_runtime::Limits| limits.host_calls = NonZeroU32::new(2);
    let running = Setup::new("{}").limits(most).load("echo").await;

    // It reads the delivery, checks the level and writes a line: three calls.
    let failure = running.add_fails("web").await;

    assert_eq!(failure.kind, FailureKind::HostCalls);
}

#[tokio::test]
async fn the_count_of_calls_to_the_host_starts_anew_with_each_call() {
    let most = |limits: &mut informer_runtime::Limits| limits.host_calls = NonZeroU32::new(8);
    let running = Setup::new("{}").limits(most).load("echo").await;

    for _ in 0..5 {
        assert_eq!(running.add("web").await, Outcome::Acknowledged);
    }

    assert!(running.plugin.stats().host_calls > 8);
}

#[tokio::test]
async fn a_flood_of_lines_is_cut_and_ends_at_the_deadline() {
    let limits = |limits: &mut informer_runtime::Limits| {
        limits.log_bytes = 4 << 10;
        limits.deadline = Duration::from_secs(1);
    };
    let running = Setup::new("{}").limits(limits).load("flood").await;

    let change = Change::Updated { old: pod("web", "1"), new: pod("web", "2") };
    let outcome = running.deliver(delivery(change, Cause::Live)).await;

    assert!(
        matches!(&outcome, Outcome::Retry { failure, .. } if failure.kind == FailureKind::Deadline),
        "{outcome:?}"
    );
    let logged: usize = running.log.lines().iter().map(|line| line.message.len()).sum();
    assert!(logged < 5 << 10, "{logged}");
    assert!(running.plugin.stats().log_bytes_dropped > 4 << 10);
}

#[tokio::test]
async fn calls_that_wait_for_an_instance_are_counted() {
    let running = Setup::new(r#"{"millis": 20}"#).instances(1).load("slow").await;

    let calls: Vec<_> = (0..3).map(|call| running.spawn_add(&format!("pod-{call}"))).collect();
    for call in futures::future::join_all(calls).await {
        assert_eq!(call.unwrap(), Outcome::Acknowledged);
    }

    let stats = running.plugin.stats();
    assert_eq!((stats.instances.created, stats.instances.waited), (1, 2));
}
