//! Taking keys out.

use super::{RateLimitingQueue, Work, now};
use crate::idle::{self, Idle};

// === impl RateLimitingQueue ===

impl RateLimitingQueue {
    /// The next key, if one waits now.
    pub fn take(&self) -> Option<Work> {
        self.look().ok()
    }

    /// The next key, and the duty to end it; none once the queue was shut down and what waited is handed out (W-4).
    ///
    /// # Cancel safety
    /// A dropped future has taken nothing.
    pub async fn get(&self) -> Option<Work> {
        idle::wait(&self.0.ready, || self.look()).await
    }

    fn look(&self) -> Result<Work, Idle> {
        let now = now();
        let mut keys = self.0.keys.lock();
        let Some(taken) = keys.take(now) else {
            return Err(if keys.is_over() { Idle::Over } else { Idle::Until(keys.next_due(now)) });
        };
        let more = keys.waiting(now) > 0 || keys.next_due(now).is_some();
        drop(keys);
        if more {
            // Several delays may have ended at once, and who else waits may sleep until a later one.
            self.0.ready.notify_one();
        }
        Ok(Work::new(self.clone(), taken))
    }
}
