mod budget;
mod closing;
mod every;
mod explaining;
mod keys;
mod lanes;
mod merging;
mod quarantine;
mod rate;
mod retrying;
mod settling;
mod waiting;

use std::{pin::pin, time::Duration};

use informer_types::{Cause, Failure, FailureKind};
use tokio::time;

use super::*;
use crate::{
    Fate, QuarantineConfig, Settled, Settlement, Stands,
    testing::{Held, added, deleted, text, updated},
};

fn queue() -> Queue {
    Queue::new(&QueueConfig::default())
}

/// The time of the paused clock.
fn now() -> Instant {
    time::Instant::now().into_std()
}

fn offer_all(queue: &Queue, notifications: impl IntoIterator<Item = Notification>) {
    for notification in notifications {
        queue.offer(notification);
    }
}

/// `web: +a1`, as the handler would see it.
fn seen(delivery: &Delivery) -> String {
    let Notification { change, .. } = &delivery.notification;
    format!("{}: {}", delivery.notification.key().name, text(change))
}

fn take(queue: &Queue) -> (Lease, String) {
    let (lease, delivery) = queue.take().expect("nothing is ready");
    let seen = seen(&delivery);
    (lease, seen)
}

/// Delivers one after the other until nothing is ready.
fn deliver_all(queue: &Queue) -> Vec<String> {
    std::iter::from_fn(|| queue.take())
        .map(|(lease, delivery)| {
            lease.settle(Settlement::Acknowledged);
            seen(&delivery)
        })
        .collect()
}

fn retry(delay_ms: u64, floor_ms: u64) -> Settlement {
    let (delay, floor) = (Duration::from_millis(delay_ms), Duration::from_millis(floor_ms));
    Settlement::Retry { delay, floor, failure: failure() }
}

fn spent(floor_ms: u64, fate: Fate) -> Settlement {
    Settlement::Spent { floor: Duration::from_millis(floor_ms), fate, failure: failure() }
}

fn permanent() -> Settlement {
    Settlement::Permanent { failure: failure() }
}

fn failure() -> Failure {
    Failure::new(FailureKind::Handler, "no")
}

/// Every offered notification is in exactly one place.
fn assert_balanced(queue: &Queue) {
    let QueueStats {
        offered,
        acknowledged,
        merged,
        cancelled,
        dead,
        dropped,
        discarded,
        pending,
        in_flight,
        ..
    } = queue.stats();
    let elsewhere = acknowledged + merged.total() + cancelled + dead + dropped + discarded;
    assert_eq!(offered, elsewhere + (pending + in_flight) as u64, "{:?}", queue.stats());
}

/// From the offer of a notification to the acknowledgement of its call.
#[tokio::test]
#[ignore = "needs valgrind"]
async fn a_notification_is_offered_and_taken_within_its_instructions() {
    let queue = queue();
    const TEST: &str = "queue::tests::a_notification_is_offered_and_taken_within_its_instructions";

    for _ in 0..informer_instructions::rounds(TEST, 1_000, 50_300) {
        queue.offer(updated("web", "1", "2", Cause::Live));
        assert_eq!(deliver_all(&queue).len(), 1);
    }
}
