//! The circuit breaker.

use std::{num::NonZeroU32, task::Poll};

use futures::poll;

use super::*;
use informer_types::Backoff;

/// After three; probes after 1, 2, 4, 8, 8, ... seconds.
fn quarantining() -> Queue {
    let (min, max) = (Duration::from_secs(1), Duration::from_secs(8));
    let backoff = Backoff { min, max, factor: 2.0, jitter: 0.0 };
    let quarantine = QuarantineConfig { after: NonZeroU32::new(3), backoff };
    Queue::new(&QueueConfig { quarantine, ..QueueConfig::default() })
}

fn fails(kind: FailureKind) -> Settlement {
    let delay = Duration::from_millis(10);
    Settlement::Retry { delay, floor: delay, failure: Failure::new(kind, "no") }
}

/// An error that the handler returns is an answer; the host and the ceiling over all plugins are not the plugin's fault.
const NOT_ITS_FAULT: [FailureKind; 3] = [FailureKind::Handler, FailureKind::Host, FailureKind::GuestMemory];

fn trap() -> Settlement {
    fails(FailureKind::Trap)
}

/// Offers objects and lets each of their calls end like this.
fn call_each(queue: &Queue, names: &[&str], settlement: &Settlement) -> Vec<Settled> {
    names
        .iter()
        .map(|name| {
            queue.offer(added(name, "a1", Cause::Live));
            take(queue).0.settle(settlement.clone())
        })
        .collect()
}

async fn advance(millis: u64) {
    time::advance(Duration::from_millis(millis)).await;
}

#[tokio::test(start_paused = true)]
async fn failures_in_a_row_begin_it_and_no_call_is_made_until_the_probe() {
    for kind in FailureKind::ALL.into_iter().filter(|kind| !NOT_ITS_FAULT.contains(kind)) {
        let queue = quarantining();
        let settled = call_each(&queue, &["a", "b", "c"], &fails(kind));
        let begins = Settled::Quarantined {
            begins: true,
            failure: Failure::new(kind, "no"),
            probe_in: Duration::from_secs(1),
        };
        assert!(matches!(settled[1], Settled::Retrying { .. }), "{settled:?}");
        assert_eq!(settled[2], begins);

        queue.offer(added("d", "a1", Cause::Live));
        advance(999).await;
        assert!(queue.take().is_none(), "{kind}");
        advance(1).await;
        let (_probe, _) = take(&queue);
        assert!(queue.take().is_none(), "one probe at a time");
    }
}

#[tokio::test(start_paused = true)]
async fn the_handlers_own_errors_and_the_hosts_and_the_ceiling_on_memory_never_begin_it() {
    let queue = quarantining();
    for kind in NOT_ITS_FAULT {
        for _ in 0..5 {
            call_each(&queue, &["a", "b", "c"], &fails(kind));
            advance(10_000).await;
        }
        assert_eq!(queue.stats().quarantine, None, "{kind}");
    }
}

#[tokio::test(start_paused = true)]
async fn any_answer_of_the_plugin_starts_the_count_anew() {
    for answer in [Settlement::Acknowledged, permanent(), fails(FailureKind::Handler)] {
        let queue = quarantining();
        call_each(&queue, &["a", "b"], &trap());
        call_each(&queue, &["works"], &answer);
        call_each(&queue, &["c", "d"], &trap());
        assert_eq!(queue.stats().quarantine, None, "{answer:?}");

        call_each(&queue, &["e"], &trap());
        assert!(queue.stats().quarantine.is_some(), "{answer:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_waits_between_probes_grow_and_each_probe_is_about_another_object() {
    let queue = quarantining();
    call_each(&queue, &["a", "b"], &trap());
    assert!(queue.stats().next_retry.is_some());
    call_each(&queue, &["c"], &trap());
    assert_eq!(queue.stats().next_retry, None, "the quarantine holds the retries back");

    let mut probes = Vec::new();
    let start = time::Instant::now();
    for _ in 0..6 {
        let (lease, delivery) = queue.next().await.unwrap();
        probes.push((delivery.notification.key().name.to_string(), start.elapsed().as_secs()));
        lease.settle(trap());
    }

    let expected = [("a", 1), ("b", 3), ("c", 7), ("a", 15), ("b", 23), ("c", 31)];
    assert_eq!(probes, expected.map(|(name, second)| (name.to_owned(), second)));
    let quarantine = queue.stats().quarantine.unwrap();
    assert_eq!((quarantine.failed_probes, quarantine.probe_in), (6, Duration::from_secs(8)));
    assert_eq!(quarantine.lasting, Duration::from_secs(31));
    assert_eq!(queue.stats().quarantines, 1);
    assert_balanced(&queue);
}

#[tokio::test(start_paused = true)]
async fn one_success_ends_it_and_all_that_changed_since_is_delivered_merged_and_in_order() {
    let queue = quarantining();
    queue.offer(updated("web", "a1", "a2", Cause::Live));
    for _ in 0..3 {
        take(&queue).0.settle(trap());
        advance(10).await;
    }
    queue.offer(updated("web", "a2", "a3", Cause::Live));
    queue.offer(updated("web", "a3", "a4", Cause::Live));
    queue.offer(updated("db", "a1", "a2", Cause::Live));
    queue.offer(deleted("db", "a2", true));
    queue.offer(added("new", "a1", Cause::Live));
    advance(1_000).await;

    let (lease, delivery) = queue.take().unwrap();
    let settled = lease.settle(Settlement::Acknowledged);

    assert_eq!(settled, Settled::Recovered);
    let mut all = vec![seen(&delivery)];
    all.extend(deliver_all(&queue));
    all.sort();
    assert_eq!(all, ["db: -a2", "new: +a1", "web: a1>a4"]);
    assert_eq!(queue.stats().quarantine, None);
    assert_balanced(&queue);
}

#[tokio::test(start_paused = true)]
async fn attempts_are_not_spent_in_it_nor_by_the_call_that_begins_it() {
    let queue = quarantining();
    queue.offer(added("web", "a1", Cause::Live));
    let mut attempts = Vec::new();
    for _ in 0..8 {
        let (lease, delivery) = queue.next().await.unwrap();
        attempts.push(delivery.attempt);
        // The third attempt would be the last.
        lease.settle(match delivery.attempt {
            1 | 2 => trap(),
            _ => {
                let failure = Failure::new(FailureKind::Trap, "no");
                Settlement::Spent { floor: Duration::from_millis(10), fate: Fate::DeadLetter, failure }
            }
        });
    }

    assert_eq!(attempts, [1, 2, 3, 3, 3, 3, 3, 3]);
    assert_eq!((queue.stats().dead, queue.stats().pending), (0, 1));
    assert_balanced(&queue);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_began_before_it_neither_counts_nor_prolongs_it_and_ends_it_if_it_succeeds() {
    let queue = quarantining();
    queue.offer(added("early", "a1", Cause::Live));
    queue.offer(added("late", "a1", Cause::Live));
    let (early, _) = take(&queue);
    let (late, _) = take(&queue);
    call_each(&queue, &["a", "b", "c"], &trap());
    advance(500).await;

    let settled = early.settle(trap());
    assert!(matches!(settled, Settled::Quarantined { begins: false, .. }), "{settled:?}");
    assert_eq!(queue.stats().quarantine.unwrap().probe_in, Duration::from_millis(500));

    assert_eq!(late.settle(Settlement::Acknowledged), Settled::Recovered);
    assert_eq!(queue.stats().quarantine, None);
    advance(10).await;
    assert_eq!(deliver_all(&queue).len(), 4);
    assert_balanced(&queue);
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_proves_nothing_is_followed_by_another_at_once() {
    let queue = quarantining();
    call_each(&queue, &["a", "b", "c"], &trap());
    advance(1_000).await;

    // Cut short by the host, then refused for good by the handler.
    drop(take(&queue).0);
    take(&queue).0.settle(permanent());

    let (lease, _) = take(&queue);
    assert!(queue.take().is_none(), "it is still a probe");
    lease.settle(Settlement::Acknowledged);
    assert_eq!(queue.stats().quarantine, None);
}

#[tokio::test(start_paused = true)]
async fn a_new_version_is_probed_at_once_and_the_waits_start_anew() {
    let queue = quarantining();
    call_each(&queue, &["a", "b", "c"], &trap());
    for _ in 0..4 {
        queue.next().await.unwrap().0.settle(trap());
    }
    assert_eq!(queue.stats().quarantine.unwrap().probe_in, Duration::from_secs(8));
    let mut next = pin!(queue.next());
    assert!(poll!(&mut next).is_pending());
    advance(100).await;

    queue.new_version();

    let Poll::Ready(Some((lease, _))) = poll!(&mut next) else { panic!("no probe") };
    lease.settle(trap());
    assert_eq!(queue.stats().quarantine.unwrap().probe_in, Duration::from_secs(2));
}

#[tokio::test(start_paused = true)]
async fn a_new_version_waits_for_no_probe_of_the_one_before_and_is_not_judged_by_it() {
    let queue = quarantining();
    call_each(&queue, &["a", "b", "c"], &trap());
    let (of_the_old, _) = queue.next().await.unwrap();
    advance(100).await;

    queue.new_version();

    let (probe, _) = take(&queue);
    advance(100).await;
    of_the_old.settle(trap());
    let quarantine = queue.stats().quarantine.unwrap();
    assert_eq!(
        (quarantine.failed_probes, quarantine.probe_in),
        (0, Duration::ZERO),
        "its own probe is in flight"
    );
    assert_eq!(probe.settle(Settlement::Acknowledged), Settled::Recovered);
}

#[tokio::test(start_paused = true)]
async fn calls_of_the_version_before_that_fail_late_begin_no_quarantine() {
    for last in [trap(), spent(10, Fate::Quarantine)] {
        let queue = quarantining();
        ["a", "b", "c"].iter().for_each(|name| queue.offer(added(name, "a1", Cause::Live)));
        let [a, b, c] = [(); 3].map(|()| take(&queue).0);
        a.settle(trap());
        b.settle(trap());
        advance(1).await;
        queue.new_version();
        c.settle(last.clone());
        assert_eq!(queue.stats().quarantine, None, "{last:?}");

        call_each(&queue, &["d", "e"], &trap());
        assert_eq!(queue.stats().quarantine, None, "it has failed twice itself");
        call_each(&queue, &["f"], &trap());
        assert!(queue.stats().quarantine.is_some());
        advance(10_000).await;
        assert_eq!(queue.take().unwrap().1.attempt, 2, "a failed once");
    }
}

#[tokio::test(start_paused = true)]
async fn closing_wakes_every_waiting_worker() {
    let queue = quarantining();
    call_each(&queue, &["a", "b", "c"], &trap());
    let (mut one, mut two, mut three) = (pin!(queue.next()), pin!(queue.next()), pin!(queue.next()));
    assert!(poll!(&mut one).is_pending() && poll!(&mut two).is_pending() && poll!(&mut three).is_pending());
    advance(1_000).await;
    let Poll::Ready(Some((probe, _))) = poll!(&mut one) else { panic!("no probe") };
    assert!(poll!(&mut two).is_pending() && poll!(&mut three).is_pending());

    probe.settle(Settlement::Acknowledged);

    let wait = Duration::from_secs(1);
    let _two = time::timeout(wait, two).await.expect("the second worker wakes up").unwrap();
    let _three = time::timeout(wait, three).await.expect("the third worker wakes up").unwrap();
}

#[tokio::test(start_paused = true)]
async fn on_exhausted_quarantine_replaces_the_dead_letter_for_any_failure() {
    let queue = quarantining();
    queue.offer(added("web", "a1", Cause::Live));
    let settled = take(&queue).0.settle(spent(10, Fate::Quarantine));
    assert!(matches!(settled, Settled::Quarantined { begins: true, .. }), "{settled:?}");
    queue.offer(added("db", "a1", Cause::Live));
    assert!(queue.take().is_none());

    advance(1_000).await;
    let (lease, _) = take(&queue);
    // Its own errors prolong a quarantine, although they do not begin one.
    lease.settle(fails(FailureKind::Handler));
    assert!(queue.take().is_none());
    let (lease, delivery) = queue.next().await.unwrap();
    assert_eq!((seen(&delivery).as_str(), delivery.attempt), ("web: +a1", 1), "its attempts start anew");
    assert_eq!(lease.settle(Settlement::Acknowledged), Settled::Recovered);
    assert_eq!((queue.stats().dead, deliver_all(&queue).len()), (0, 1));
    assert_balanced(&queue);
}

#[tokio::test(start_paused = true)]
async fn a_stop_does_not_wait_for_a_plugin_in_quarantine() {
    let queue = quarantining();
    call_each(&queue, &["a", "b", "c"], &trap());

    let quiet = time::timeout(Duration::from_millis(1), queue.quiet(now() + Duration::from_secs(3600)));

    assert!(quiet.await.is_ok());
    assert_eq!(queue.close().notifications, 3);
}
