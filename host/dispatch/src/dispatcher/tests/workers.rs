use std::{
    collections::HashMap,
    sync::atomic::{AtomicUsize, Ordering},
};

use super::*;

/// How many calls are running, and how many ran at most.
#[derive(Clone, Default)]
struct Gauge(Arc<(AtomicUsize, AtomicUsize)>);

impl Gauge {
    fn enter(&self) {
        let running = self.0.0.fetch_add(1, Ordering::SeqCst) + 1;
        self.0.1.fetch_max(running, Ordering::SeqCst);
    }

    fn leave(&self) {
        self.0.0.fetch_sub(1, Ordering::SeqCst);
    }

    fn most(&self) -> usize {
        self.0.1.swap(0, Ordering::SeqCst)
    }

    fn call(&self, millis: u64) -> BoxFuture<'static, Outcome> {
        let gauge = self.clone();
        Box::pin(async move {
            gauge.enter();
            sleep(Duration::from_millis(millis)).await;
            gauge.leave();
            Outcome::Acknowledged
        })
    }
}

fn offer_many(queue: &Queue, count: usize) {
    for name in 0..count {
        queue.offer(added(&name.to_string(), "a1", Cause::Live));
    }
}

#[tokio::test(start_paused = true)]
async fn as_many_calls_run_at_a_time_as_there_are_workers_live_changeable() {
    let gauge = Gauge::default();
    let calls = gauge.clone();
    let handler = Handler::new(move |_| calls.call(10));
    let Running { queue, handle, .. } = run(3, &handler);
    offer_many(&queue, 30);
    until_settled(&queue).await;
    assert_eq!(gauge.most(), 3);

    handle.configure(config(8));
    offer_many(&queue, 80);
    until_settled(&queue).await;
    assert_eq!(gauge.most(), 8);

    handle.configure(config(1));
    offer_many(&queue, 10);
    until_settled(&queue).await;
    assert_eq!(gauge.most(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_is_too_many_finishes_its_call() {
    let handler = Handler::new(|_| slow(100));
    let Running { queue, handle, .. } = run(4, &handler);
    offer_many(&queue, 4);
    sleep(Duration::from_millis(50)).await;

    handle.configure(config(1));
    until_settled(&queue).await;

    let stats = queue.stats();
    assert_eq!((stats.acknowledged, stats.delivered, stats.given_back), (4, 4, 0));
}

/// Real threads: eight workers, twenty objects, and calls that end in any order.
/// Scenario 119.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn calls_for_one_object_never_overlap_and_never_go_back_in_time() {
    let running = Arc::new(Mutex::new(HashMap::<String, bool>::new()));
    let states = Arc::new(Mutex::new(HashMap::<String, Vec<usize>>::new()));
    let (inside, seen) = (Arc::clone(&running), Arc::clone(&states));
    let handler = Handler::new(move |delivery: Delivery| {
        let object = delivery.notification.change.object();
        let (name, state) = (object.name().to_owned(), object.resource_version()[1..].parse().unwrap());
        assert!(!inside.lock().insert(name.clone(), true).unwrap_or_default(), "two calls for {name}");
        seen.lock().entry(name.clone()).or_default().push(state);
        let inside = Arc::clone(&inside);
        Box::pin(async move {
            for _ in 0..fastrand::u8(0..5) {
                tokio::task::yield_now().await;
            }
            inside.lock().insert(name, false);
            Outcome::Acknowledged
        })
    });
    let Running { queue, handle, .. } = run(8, &handler);

    for state in 0..500 {
        for name in 0..20 {
            let (name, new) = (name.to_string(), format!("a{state}"));
            match state {
                0 => queue.offer(added(&name, &new, Cause::Live)),
                _ => queue.offer(updated(&name, &format!("a{}", state - 1), &new, Cause::Live)),
            }
        }
        tokio::task::yield_now().await;
    }
    let left = handle.drain(Duration::from_secs(60)).await;

    assert_eq!((left.notifications, queue.stats().dead), (0, 0));
    for (name, states) in states.lock().iter() {
        assert!(states.is_sorted(), "{name} went back: {states:?}");
        assert_eq!(states.last(), Some(&499), "{name} did not reach its final state");
    }
}
