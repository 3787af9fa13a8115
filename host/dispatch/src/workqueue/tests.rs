//! The promises of the workqueue (W-1 to W-15), and scenarios 119 to 125 of client-go's tests.

mod adding;
mod delaying;
mod ending;
mod explaining;
mod measuring;
mod quarantine;
mod reconciling;
mod scheduling;

use std::{num::NonZeroUsize, time::Duration};

use informer_types::{Failure, FailureKind};
use tokio::time;

use super::*;
use crate::keyed::{Idle, QueueState};

/// A queue of at most `capacity` keys of the guest, whose limiter waits 10 ms, 20 ms, 40 ms ... 1 s.
fn queue(capacity: usize) -> RateLimitingQueue {
    let limiter = RateLimiter::exponential(Duration::from_millis(10), Duration::from_secs(1));
    RateLimitingQueue::new(NonZeroUsize::new(capacity).unwrap(), limiter)
}

fn failure() -> Failure {
    Failure::new(FailureKind::Handler, "no")
}

/// The keys that wait now, each done at once.
fn drain(queue: &RateLimitingQueue) -> Vec<String> {
    std::iter::from_fn(|| {
        let work = queue.take()?;
        let key = work.key().to_string();
        work.done();
        Some(key)
    })
    .collect()
}

/// Paused time goes on.
async fn after(millis: u64) {
    time::advance(Duration::from_millis(millis)).await;
}
