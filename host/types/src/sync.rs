//! Readiness as the release of all tokens.

use std::{fmt, sync::Arc};

/// A token for a group of notifications: the initial notifications of a listener, or those of a replay. Each notification carries a
/// clone until it is settled: acknowledged, given up, or dropped without a call (D-8). A notification that merges passes its clone on
/// to the result. When the last clone is dropped, the function given at creation runs once: the handler has synced (P-16), or the
/// replay is settled. No counter has to be kept in step with the notifications.
#[derive(Clone)]
pub struct SyncToken(#[expect(dead_code, reason = "held for its Drop")] Arc<Done>);

struct Done(Option<Box<dyn FnOnce() + Send + Sync>>);

impl SyncToken {
    /// `done` runs on the thread that drops the last clone. It must be quick and must not block.
    pub fn new(done: impl FnOnce() + Send + Sync + 'static) -> Self {
        Self(Arc::new(Done(Some(Box::new(done)))))
    }
}

impl Drop for Done {
    fn drop(&mut self) {
        if let Some(done) = self.0.take() {
            done();
        }
    }
}

impl fmt::Debug for SyncToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SyncToken")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Scenario 107.
    #[test]
    fn the_function_runs_once_when_the_last_clone_is_dropped() {
        let done = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&done);
        let first = SyncToken::new(move || {
            counter.fetch_add(1, Ordering::SeqCst);
        });
        let second = first.clone();

        drop(first);
        assert_eq!(done.load(Ordering::SeqCst), 0);
        drop(second);
        assert_eq!(done.load(Ordering::SeqCst), 1);
    }
}
