//! Counts what a handler handled.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use anyhow::{Result, bail};
use parking_lot::Mutex;
use tokio::sync::Notify;

/// Counts handled objects and wakes who waits for a number of them. All clones are the same counter.
///
/// It costs a handler one atomic addition, and once a batch a wake.
#[derive(Clone, Debug, Default)]
pub struct Counter(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    count: AtomicU64,
    target: AtomicU64,
    failure: Mutex<Option<String>>,
    changed: Notify,
}

// === impl Counter ===

impl Counter {
    /// One more was handled.
    pub fn add(&self) {
        let count = self.0.count.fetch_add(1, Ordering::SeqCst) + 1;
        if count >= self.0.target.load(Ordering::SeqCst) {
            self.0.changed.notify_one();
        }
    }

    /// The subject failed: what waits, or will wait, is an error. The first failure counts.
    pub fn fail(&self, why: String) {
        self.0.failure.lock().get_or_insert(why);
        self.0.changed.notify_one();
    }

    /// What was counted so far.
    pub fn count(&self) -> u64 {
        self.0.count.load(Ordering::SeqCst)
    }

    /// Waits until so many were counted. One task may wait at a time.
    ///
    /// # Errors
    /// The subject failed.
    ///
    /// # Cancel safety
    /// A dropped future changes nothing.
    pub async fn reaches(&self, target: u64) -> Result<()> {
        self.0.target.store(target, Ordering::SeqCst);
        loop {
            if let Some(why) = self.0.failure.lock().clone() {
                bail!("{why}");
            }
            // Each addition reads the target after it counted, each waiter the count after it set the target:
            // one of the two sees the other.
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
    async fn a_number_that_was_reached_before_is_not_waited_for() {
        let counter = Counter::default();
        counter.add();

        counter.reaches(1).await.unwrap();
    }

    #[tokio::test]
    async fn the_last_addition_wakes_the_waiter() {
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
