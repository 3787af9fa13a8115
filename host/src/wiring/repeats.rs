//! The objects for which a handler requested another call.

use std::{future::Future, num::NonZeroUsize, time::Duration};

use informer_dispatch::workqueue::{RateLimiter, RateLimitingQueue};
use informer_types::{Backoff, Gvr, ObjectKey, Outcome, Source};

/// The wait if a cache is not complete when an object is due.
const A_LITTLE: Duration = Duration::from_secs(1);

/// This backoff is never used, because no key fails.
const BACKOFF: Backoff = Backoff { min: A_LITTLE, max: A_LITTLE, factor: 1.0, jitter: 0.0 };

/// The objects of one plugin that are to be delivered again after a time, as keys of a queue: `v1/pods shop/web`. Clones share one
/// queue.
#[derive(Clone)]
pub(crate) struct Repeats(RateLimitingQueue);

// === impl Repeats ===

impl Repeats {
    /// `stops_clock` is for tests of plugins.
    pub(crate) fn new(stops_clock: bool) -> Self {
        // The capacity applies to keys that a guest adds, and no guest adds keys here.
        let queue = RateLimitingQueue::new(NonZeroUsize::MIN, RateLimiter::backoff(BACKOFF));
        if stops_clock {
            queue.stop_clock();
        }
        Self(queue)
    }

    pub(crate) fn queue(&self) -> &RateLimitingQueue {
        &self.0
    }

    /// Call it when a call for the object has ended. That ends the wait, unless the handler requested another call.
    pub(crate) fn settle(&self, source: &Source, key: impl FnOnce() -> ObjectKey, outcome: &Outcome) {
        if let Outcome::Again(after) = outcome {
            let (gvr, key) = (source.gvr(), key());
            if let Err(error) = self.0.schedule(&text(gvr, &key), *after) {
                tracing::warn!(resource = %gvr, object = %key, %error, "the object is not delivered again");
            }
        } else if self.0.keys() > 0 {
            self.0.cancel(&text(source.gvr(), &key()));
        }
    }

    /// Passes each object that is due to `deliver`, which returns false if the object has to wait a little longer. Never returns before
    /// the queue is closed.
    pub(crate) async fn deliver_with<F: Future<Output = bool>>(&self, deliver: impl Fn(Gvr, ObjectKey) -> F) {
        while let Some(work) = self.0.get().await {
            let object = work
                .key()
                .split_once(' ')
                .and_then(|(gvr, key)| Some((gvr.parse().ok()?, key.parse().ok()?)));
            let delivered = match object {
                Some((gvr, key)) => deliver(gvr, key).await,
                // The host made the key.
                None => true,
            };
            if delivered {
                work.succeed();
            } else {
                work.requeue_after(A_LITTLE);
            }
        }
    }
}

fn text(gvr: &Gvr, key: &ObjectKey) -> String {
    format!("{gvr} {key}")
}
