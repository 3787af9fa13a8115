//! Taking keys out.

use std::{pin::pin, time::Instant};

use tokio::{select, time::sleep_until};

use super::{RateLimitingQueue, Work, now};

/// Why a worker finds nothing.
enum Idle {
    /// Nothing is ready before this instant, if there is one.
    Until(Option<Instant>),
    ShutDown,
}

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
        loop {
            // The short way: no waiter is registered where there is work.
            if let Some(work) = self.take() {
                return Some(work);
            }
            let mut ready = pin!(self.0.ready.notified());
            // From here on no permit is missed, so the second look is the one that counts.
            ready.as_mut().enable();
            match self.look() {
                Ok(work) => return Some(work),
                Err(Idle::ShutDown) => return None,
                Err(Idle::Until(None)) => ready.await,
                Err(Idle::Until(Some(due))) => select! {
                    biased;
                    () = ready => {}
                    () = sleep_until(due.into()) => {}
                },
            }
        }
    }

    fn look(&self) -> Result<Work, Idle> {
        let now = now();
        let mut keys = self.0.keys.lock();
        let Some(taken) = keys.take(now) else {
            return Err(if keys.is_over() { Idle::ShutDown } else { Idle::Until(keys.next_due()) });
        };
        let more = keys.waiting(now) > 0 || keys.next_due().is_some();
        drop(keys);
        if more {
            // Several delays may have ended at once, and who else waits may sleep until a later one.
            self.0.ready.notify_one();
        }
        Ok(Work::new(self.clone(), taken))
    }
}
