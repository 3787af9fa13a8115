//! Readiness as the release of all tokens.

use std::{fmt, sync::Arc};

/// A token of which each initial notification carries a clone until it is acknowledged, merged or given up (D-8). When the last
/// clone is dropped, the function given at creation runs once: the handler has synced (P-16). So no counter can go wrong. A replay
/// has a token of the same kind.
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
