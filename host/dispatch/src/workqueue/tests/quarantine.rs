//! The quarantine of a reconciler.

use std::num::NonZeroU32;

use informer_types::{Failure, FailureKind, Reconciled};

use super::{
    reconciling::{Scripted, run, settled},
    *,
};
use informer_types::Backoff;

/// A queue that is quarantined after `after` failures in a row; probes after 1 s, 2 s, 4 s ... 8 s.
fn quarantining(after: u32) -> RateLimitingQueue {
    let queue = queue(10);
    let (min, max) = (Duration::from_secs(1), Duration::from_secs(8));
    let backoff = Backoff { min, max, factor: 2.0, jitter: 0.0 };
    queue.set_quarantine(QuarantineConfig { after: NonZeroU32::new(after), backoff });
    queue
}

fn fails(kind: FailureKind) -> Reconciled {
    Reconciled::Retry { after: None, failure: Failure::new(kind, "no") }
}

fn add(queue: &RateLimitingQueue, keys: &[&str]) {
    keys.iter().for_each(|key| queue.add(key).unwrap());
}

#[tokio::test(start_paused = true)]
async fn after_a_row_of_traps_keys_wait_for_a_probe_and_their_attempts_do_not_count() {
    let queue = quarantining(3);
    let reconciler = Scripted::new((0..4).map(|_| fails(FailureKind::Trap)));
    add(&queue, &["a", "b", "c", "d"]);
    // Two attempts only: without a quarantine every key would be given up soon.
    let _handle = run(&queue, &reconciler, 1, 2);
    settled(&queue).await;

    let expected = [("a", 1), ("b", 1), ("c", 1), ("d", 1), ("c", 1), ("a", 2), ("b", 2), ("d", 1)];
    assert_eq!(reconciler.calls(), expected.map(|(key, attempt)| (key.to_owned(), attempt)));
    assert_eq!(reconciler.gaps(), [0, 0, 1000, 2000, 0, 0, 0], "two probes, and the second ended it");
    let stats = queue.stats();
    assert_eq!((stats.failed, stats.succeeded, stats.dropped, stats.quarantines), (4, 4, 0, 1));
    assert_eq!(stats.quarantine, None);
}

#[tokio::test(start_paused = true)]
async fn while_it_lasts_it_is_shown_and_only_one_worker_probes() {
    let queue = quarantining(3);
    let reconciler = Scripted::new((0..1000).map(|_| fails(FailureKind::Deadline)));
    add(&queue, &["a", "b", "c", "d", "e", "f"]);
    let _handle = run(&queue, &reconciler, 3, 2);

    time::sleep(Duration::from_millis(500)).await;
    let quarantine = queue.stats().quarantine.unwrap();
    assert_eq!((quarantine.failed_probes, quarantine.failure.to_string()), (0, "deadline: no".to_owned()));
    let before = reconciler.calls().len();
    time::sleep(Duration::from_secs(1 + 2 + 4)).await;

    assert_eq!(reconciler.calls().len() - before, 3, "one call for each probe");
    let stats = queue.stats();
    assert_eq!((stats.dropped, stats.keys), (0, 6));
    assert_eq!(stats.quarantine.unwrap().failed_probes, 3);
}

#[tokio::test(start_paused = true)]
async fn errors_of_the_reconciler_itself_are_its_answers_and_start_the_count_anew() {
    let queue = quarantining(3);
    let kinds =
        [FailureKind::Trap, FailureKind::Trap, FailureKind::Handler, FailureKind::Trap, FailureKind::Trap];
    let reconciler = Scripted::new(kinds.map(fails));
    add(&queue, &["a"]);
    let _handle = run(&queue, &reconciler, 1, 0);
    settled(&queue).await;

    assert_eq!((queue.stats().quarantines, queue.stats().failed), (0, 5));
}

#[tokio::test(start_paused = true)]
async fn a_new_version_is_probed_at_once_and_a_shutdown_waits_for_no_probe() {
    let queue = quarantining(3);
    let reconciler = Scripted::new((0..4).map(|_| fails(FailureKind::Memory)));
    add(&queue, &["a", "b", "c"]);
    let handle = run(&queue, &reconciler, 1, 0);
    time::sleep(Duration::from_millis(100)).await;
    assert_eq!(reconciler.calls().len(), 3);

    queue.new_version();
    time::sleep(Duration::from_millis(1)).await;
    assert_eq!(reconciler.calls().len(), 4);
    assert!(queue.stats().quarantine.is_some());

    let began = time::Instant::now();
    assert_eq!(handle.drain(Duration::from_secs(60)).await, 3, "they are left, and counted");
    assert_eq!(began.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_given_up_key_is_a_letter_that_can_be_restored_dropped_or_withdrawn() {
    let queue = queue(10);
    let give_up = |key: &str| {
        queue.add(key).unwrap();
        queue.take().unwrap().give_up(Failure::new(FailureKind::Handler, key));
    };
    let keys = || queue.dropped().list().iter().map(|dropped| dropped.key.to_string()).collect::<Vec<_>>();
    let (empty, _) = queue.dropped().now();
    give_up("a");
    let (seen, letters) = queue.dropped().after(Some(empty)).await;
    assert_eq!((letters.len(), &*letters[0].key), (1, "a"));

    let old = |key: &str| DroppedKey { key: key.into(), attempts: 9, ..letters[0].clone() };
    queue.dropped().restore(vec![old("x"), old("a"), old("y")]);
    assert_eq!(keys(), ["x", "y", "a"], "the older first, and of one key the newer");
    assert_eq!(queue.dropped().list()[2].attempts, 1);
    assert_ne!(queue.dropped().now().0, seen);
    assert_eq!(queue.stats().dropped, 1, "those of an earlier process were counted by it");

    assert_eq!(queue.dropped().drop_if(|key| &**key == "x"), ["x".into()]);
    queue.add("y").unwrap();
    queue.take().unwrap().succeed();
    assert_eq!(keys(), ["a"]);
}

/// After the first failure.
fn in_quarantine(keys: &[&str]) -> RateLimitingQueue {
    let queue = quarantining(1);
    add(&queue, keys);
    let failed = queue.take().unwrap().fail(&Failure::new(FailureKind::Trap, "no"), false);
    assert_eq!(failed, Failed::Quarantined { begins: true, probe_in: Duration::from_secs(1) });
    queue
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_ends_without_an_answer_is_followed_by_another_at_once() {
    let queue = in_quarantine(&["a", "b", "c", "d", "e"]);
    assert!(queue.take().is_none());
    after(1_000).await;

    let ends: [fn(Work); 3] = [Work::done, |work| work.retry(&failure()), drop];
    for end in ends {
        let probe = queue.take().unwrap();
        assert!(queue.take().is_none(), "one at a time");
        end(probe);
        assert!(queue.stats().quarantine.is_some());
    }
    assert!(queue.take().unwrap().succeed(), "it ended the quarantine");
}

#[tokio::test(start_paused = true)]
async fn a_paused_queue_whose_probe_is_due_waits_for_the_end_of_the_pause_and_looks_no_earlier() {
    let queue = in_quarantine(&["a", "b"]);
    queue.pause();
    after(2_000).await;
    assert!(
        matches!(queue.0.with(|keys, now| keys.idle(now)), Idle::Until(None)),
        "a worker would go round and round"
    );
    let got = tokio::spawn({
        let queue = queue.clone();
        async move { queue.get().await.is_some() }
    });
    after(1_000).await;

    queue.resume();

    assert!(got.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_new_version_waits_for_no_probe_of_the_one_before_and_is_not_judged_by_it() {
    let trap = Failure::new(FailureKind::Trap, "no");
    let queue = in_quarantine(&["a", "b", "c"]);
    after(1_000).await;
    let of_the_old = queue.take().unwrap();
    after(100).await;

    queue.new_version();

    let probe = queue.take().unwrap();
    after(100).await;
    of_the_old.fail(&trap, false);
    assert_eq!(queue.stats().quarantine.unwrap().failed_probes, 0);
    let late = {
        assert!(probe.succeed(), "it ended the quarantine");
        queue.take().unwrap()
    };
    after(1).await;
    queue.new_version();
    let failed = late.fail(&trap, false);
    assert!(matches!(failed, Failed::Retrying { .. }), "one failure would begin another");
    assert_eq!(queue.stats().quarantine, None);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_not_made_changes_nothing_about_its_key() {
    let queue = queue(10);
    queue.add("a").unwrap();
    queue.take().unwrap().give_up(Failure::new(FailureKind::Handler, "no"));
    queue.add("a").unwrap();
    queue.take().unwrap().retry(&failure());
    after(10).await;

    let work = queue.take().unwrap();
    assert_eq!(work.attempt(), 2);
    drop(work);

    assert_eq!(queue.dropped().list().len(), 1, "it was not reconciled");
    let work = queue.take().unwrap();
    assert_eq!((work.attempt(), queue.num_requeues("a"), queue.stats().given_back), (2, 1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_key_reconciled_or_dropped_before_the_letters_of_the_run_before_are_read_has_none_of_them() {
    let queue = queue(10);
    queue.dropped().expect();
    let failure = Failure::new(FailureKind::Handler, "no");
    add(&queue, &["done", "requeued", "later", "dropped", "failing", "again"]);
    queue.take().unwrap().succeed();
    queue.take().unwrap().requeue();
    queue.take().unwrap().requeue_after(Duration::from_secs(1));
    queue.take().unwrap().give_up(failure.clone());
    queue.dropped().drop_if(|key| &**key == "dropped");
    queue.take().unwrap().fail(&failure, false);
    queue.take().unwrap().give_up(failure.clone());

    let old = |key: &&str| DroppedKey {
        key: (*key).into(),
        attempts: 9,
        failure: failure.clone(),
        at: std::time::SystemTime::UNIX_EPOCH,
    };
    let kept = ["done", "requeued", "later", "dropped", "failing", "again", "quiet"];
    queue.dropped().restore(kept.iter().map(old).collect());

    let keys: Vec<_> = queue.dropped().list().iter().map(|d| (d.key.to_string(), d.attempts)).collect();
    assert_eq!(keys, [("failing".to_owned(), 9), ("quiet".to_owned(), 9), ("again".to_owned(), 1)]);
}

#[tokio::test(start_paused = true)]
async fn letters_of_keys_are_bounded_the_oldest_make_room_and_are_counted() {
    let queue = queue(10);
    for number in 0..1001 {
        queue.add(&number.to_string()).unwrap();
        queue.take().unwrap().give_up(Failure::new(FailureKind::Handler, "no"));
    }

    let stats = queue.stats();
    assert_eq!((stats.dropped, stats.dropped_keys, stats.dropped_keys_evicted), (1001, 1000, 1));
    assert_eq!(&*queue.dropped().list()[0].key, "1");
}
