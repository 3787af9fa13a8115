//! `rate` and `burst`.

use std::{num::NonZeroU32, task::Poll};

use futures::poll;

use super::*;

fn limited(per_second: f64, burst: u32) -> Queue {
    let rate = Rate { per_second, burst: NonZeroU32::new(burst).unwrap() };
    Queue::new(&QueueConfig { rate: Some(rate), ..QueueConfig::default() })
}

#[tokio::test(start_paused = true)]
async fn a_burst_goes_at_once_and_the_rest_at_the_rate() {
    let queue = limited(10.0, 2);
    for name in ["a", "b", "c", "d"] {
        queue.offer(added(name, "a1", Cause::Live));
    }

    let start = time::Instant::now();
    let mut at = Vec::new();
    while queue.stats().pending > 0 {
        let (lease, delivery) = queue.next().await.unwrap();
        lease.settle(Settlement::Acknowledged);
        at.push((delivery.notification.key().name.to_string(), start.elapsed().as_millis()));
    }

    let expected = [("a", 0), ("b", 0), ("c", 100), ("d", 200)];
    assert_eq!(at, expected.map(|(name, millis)| (name.to_owned(), millis)));
    assert_eq!(queue.stats().rate_limited, 2);
}

#[tokio::test(start_paused = true)]
async fn a_retry_is_a_call_too() {
    let queue = limited(1.0, 1);
    queue.offer(added("web", "a1", Cause::Live));
    take(&queue).0.settle(retry(10, 10));

    time::advance(Duration::from_millis(999)).await;
    assert!(queue.take().is_none());
    time::advance(Duration::from_millis(1)).await;
    assert_eq!(deliver_all(&queue), ["web: +a1"]);
}

#[tokio::test(start_paused = true)]
async fn each_worker_that_waits_gets_its_turn() {
    let queue = limited(1.0, 1);
    let (mut first, mut second) = (pin!(queue.next()), pin!(queue.next()));
    assert!(poll!(&mut first).is_pending() && poll!(&mut second).is_pending());
    for name in ["a", "b", "c"] {
        queue.offer(added(name, "a1", Cause::Live));
    }
    let Poll::Ready(Some((_busy, _))) = poll!(&mut first) else { panic!("it still waits") };

    // The first is busy for ever; the second does the rest alone.
    let (_lease, delivery) = time::timeout(Duration::from_secs(5), second).await.unwrap().unwrap();
    assert_eq!(seen(&delivery), "b: +a1");
}

#[tokio::test(start_paused = true)]
async fn a_new_rate_is_in_force_at_once() {
    let queue = limited(0.001, 1);
    queue.offer(added("a", "a1", Cause::Live));
    queue.offer(added("b", "a1", Cause::Live));
    assert_eq!(deliver_all(&queue), ["a: +a1"]);
    let mut next = pin!(queue.next());
    assert!(poll!(&mut next).is_pending());

    queue.configure(&QueueConfig::default());

    let (_, delivery) = time::timeout(Duration::from_secs(1), next).await.unwrap().unwrap();
    assert_eq!(seen(&delivery), "b: +a1");
}

#[tokio::test(start_paused = true)]
async fn a_rate_that_stays_the_same_is_not_filled_anew() {
    let config = |per_second, dead_letters| QueueConfig {
        rate: Some(Rate { per_second, burst: NonZeroU32::MIN }),
        dead_letters: std::num::NonZeroUsize::new(dead_letters).unwrap(),
        ..QueueConfig::default()
    };
    let queue = Queue::new(&config(0.5, 1));
    for name in ["a", "b", "c"] {
        queue.offer(added(name, "a1", Cause::Live));
    }
    assert_eq!(deliver_all(&queue), ["a: +a1"]);

    queue.configure(&config(0.5, 2));
    assert!(queue.take().is_none(), "something else was changed");
    queue.configure(&config(0.25, 2));
    assert_eq!(deliver_all(&queue), ["b: +a1"], "another rate begins with its burst");
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_plugin_does_not_wait_for_calls_that_the_rate_holds_back_for_longer() {
    let queue = limited(1.0, 1);
    for name in ["a", "b"] {
        queue.offer(added(name, "a1", Cause::Live));
    }
    assert_eq!(deliver_all(&queue), ["a: +a1"]);

    assert!(poll!(pin!(queue.quiet(now() + Duration::from_millis(900)))).is_ready());
    assert!(poll!(pin!(queue.quiet(now() + Duration::from_millis(1100)))).is_pending());
}
