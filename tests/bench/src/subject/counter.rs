//! Counts handled objects and events.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU64, Ordering},
};

use anyhow::{Result, bail};
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::sample::nanoseconds;

/// Counts handled objects and wakes the task that waits for a number of them. All clones share one count.
///
/// The cost for a handler is one atomic addition for each object and one wake-up for each batch.
#[derive(Clone, Debug, Default)]
pub struct Counter(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    count: AtomicU64,
    target: AtomicU64,
    /// Not set before the arrivals are recorded, so that the other phases pay nothing for it.
    arrivals: OnceLock<Mutex<Vec<u64>>>,
    failure: Mutex<Option<String>>,
    changed: Notify,
}

// === impl Counter ===

impl Counter {
    /// Counts one more handled object.
    pub fn add(&self) {
        if let Some(arrivals) = self.0.arrivals.get() {
            arrivals.lock().push(nanoseconds());
        }
        let count = self.0.count.fetch_add(1, Ordering::SeqCst) + 1;
        if count >= self.0.target.load(Ordering::SeqCst) {
            self.0.changed.notify_one();
        }
    }

    /// Reports a failure of the subject: all waits return an error. The first failure wins.
    pub fn fail(&self, why: String) {
        self.0.failure.lock().get_or_insert(why);
        self.0.changed.notify_one();
    }

    /// Records the time of each object that is counted from now on.
    pub fn record_arrivals(&self) {
        self.0.arrivals.get_or_init(Mutex::default);
    }

    /// The recorded times, in nanoseconds since 1970.
    pub fn arrivals(&self) -> Vec<u64> {
        self.0.arrivals.get().map_or_else(Vec::new, |arrivals| arrivals.lock().clone())
    }

    /// The count so far.
    pub fn count(&self) -> u64 {
        self.0.count.load(Ordering::SeqCst)
    }

    /// Waits until the count reaches `target`. Only one task may wait at a time.
    ///
    /// # Errors
    /// The subject failed.
    ///
    /// # Cancel safety
    /// Dropping the future has no effect.
    pub async fn reaches(&self, target: u64) -> Result<()> {
        self.0.target.store(target, Ordering::SeqCst);
        loop {
            if let Some(why) = self.0.failure.lock().clone() {
                bail!("{why}");
            }
            // An addition reads the target after it counts, and a waiter reads the count after it sets the target. So at
            // least one of them sees the other.
            if self.count() >= target {
                return Ok(());
            }
            self.0.changed.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_target_that_is_already_reached_needs_no_wait() {
        let counter = Counter::default();
        counter.add();

        counter.reaches(1).await.unwrap();
    }

    #[tokio::test]
    async fn the_addition_that_reaches_the_target_wakes_the_waiter() {
        let counter = Counter::default();
        let adder = counter.clone();

        let adds = tokio::spawn(async move {
            for _ in 0..1_000 {
                adder.add();
                tokio::task::yield_now().await;
            }
        });

        counter.reaches(1_000).await.unwrap();
        adds.await.unwrap();
        assert_eq!(counter.count(), 1_000);
    }

    #[tokio::test]
    async fn a_failure_ends_the_wait_with_the_first_reason() {
        let counter = Counter::default();
        counter.fail("the watch broke".to_owned());
        counter.fail("and then this".to_owned());

        let error = counter.reaches(1).await.unwrap_err();

        assert_eq!(error.to_string(), "the watch broke");
    }
}
