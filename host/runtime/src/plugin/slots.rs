//! How many calls of a plugin run at a time.

use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::stats::Counters;

/// As many slots as calls may run, changed while they run.
pub(super) struct Slots {
    semaphore: Semaphore,
    limit: AtomicUsize,
    /// Slots that are too many and are still taken.
    debt: Mutex<usize>,
}

/// The right to make one call.
pub(super) struct Slot<'a> {
    /// There until it is dropped.
    permit: Option<SemaphorePermit<'a>>,
    slots: &'a Slots,
}

// === impl Slots ===

impl Slots {
    pub(super) fn new(limit: usize) -> Self {
        let limit = limit.min(Semaphore::MAX_PERMITS);
        Self { semaphore: Semaphore::new(limit), limit: AtomicUsize::new(limit), debt: Mutex::new(0) }
    }

    /// Calls that may run at a time, and instances that are worth keeping for them.
    pub(super) fn limit(&self) -> usize {
        self.limit.load(Ordering::Relaxed)
    }

    /// First come, first served; who has to wait is counted. The semaphore is never closed.
    pub(super) async fn acquire(&self, counters: &Counters) -> Slot<'_> {
        let permit = match self.semaphore.try_acquire() {
            Ok(permit) => Some(permit),
            Err(_) => {
                counters.waited_for_instance();
                self.semaphore.acquire().await.ok()
            }
        };
        Slot { permit, slots: self }
    }

    /// From now on so many; calls beyond that finish, and none begins in their place.
    pub(super) fn resize(&self, limit: usize) {
        let limit = limit.min(Semaphore::MAX_PERMITS);
        let mut debt = self.debt.lock();
        let before = self.limit.swap(limit, Ordering::Relaxed);
        if limit >= before {
            let more = limit - before;
            let forgiven = more.min(*debt);
            *debt -= forgiven;
            self.semaphore.add_permits(more - forgiven);
        } else {
            let less = before - limit;
            *debt += less - self.semaphore.forget_permits(less);
        }
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        let mut debt = self.slots.debt.lock();
        if *debt > 0 {
            *debt -= 1;
            if let Some(permit) = self.permit.take() {
                permit.forget();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    fn free(slots: &Slots) -> usize {
        slots.semaphore.available_permits()
    }

    #[test]
    fn fewer_slots_take_effect_as_calls_end_and_more_at_once() {
        let (slots, counters) = (Slots::new(3), Counters::default());
        let mut held: Vec<_> = (0..3).map(|_| slots.acquire(&counters).now_or_never().unwrap()).collect();

        slots.resize(1);
        held.pop();
        assert!(slots.acquire(&counters).now_or_never().is_none(), "two still run where one may");
        held.pop();
        assert!(slots.acquire(&counters).now_or_never().is_none());
        held.pop();
        assert_eq!((free(&slots), slots.limit()), (1, 1));

        slots.resize(4);
        assert_eq!((free(&slots), slots.limit()), (4, 4));
    }

    #[test]
    fn slots_that_were_too_many_are_kept_where_more_are_wanted_again() {
        let (slots, counters) = (Slots::new(2), Counters::default());
        let held = [
            slots.acquire(&counters).now_or_never().unwrap(),
            slots.acquire(&counters).now_or_never().unwrap(),
        ];

        slots.resize(1);
        slots.resize(2);
        drop(held);

        assert_eq!(free(&slots), 2);
    }
}
