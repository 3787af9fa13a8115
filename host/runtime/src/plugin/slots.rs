//! The limit on the calls of a plugin that run at a time.

use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::counter::Counter;

/// One slot for each call that may run. The number of slots may change while calls run.
pub(super) struct Slots {
    semaphore: Semaphore,
    limit: AtomicUsize,
    /// Slots that are taken although the limit was lowered below them.
    debt: Mutex<usize>,
    /// Calls that waited for a slot.
    pub(super) waited: Counter,
}

/// The right to make one call.
pub(super) struct Slot<'a> {
    /// `None` only while the slot is dropped.
    permit: Option<SemaphorePermit<'a>>,
    slots: &'a Slots,
}

// === impl Slots ===

impl Slots {
    pub(super) fn new(limit: usize) -> Self {
        let limit = limit.min(Semaphore::MAX_PERMITS);
        Self {
            semaphore: Semaphore::new(limit),
            limit: AtomicUsize::new(limit),
            debt: Mutex::new(0),
            waited: Counter::default(),
        }
    }

    /// The most calls that may run at a time, and the most idle instances that are kept for them.
    pub(super) fn limit(&self) -> usize {
        self.limit.load(Ordering::Relaxed)
    }

    /// Waits for a slot: first come, first served. The semaphore is never closed.
    pub(super) async fn acquire(&self) -> Slot<'_> {
        let permit = match self.semaphore.try_acquire() {
            Ok(permit) => Some(permit),
            Err(_) => {
                self.waited.increment();
                self.semaphore.acquire().await.ok()
            }
        };
        Slot { permit, slots: self }
    }

    /// Changes the limit. Calls beyond the new limit finish, and no call starts in their place.
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
    fn a_lower_limit_takes_effect_as_calls_end_and_a_higher_one_at_once() {
        let slots = Slots::new(3);
        let mut held: Vec<_> = (0..3).map(|_| slots.acquire().now_or_never().unwrap()).collect();

        slots.resize(1);
        held.pop();
        assert!(slots.acquire().now_or_never().is_none(), "two calls still run, and the limit is one");
        held.pop();
        assert!(slots.acquire().now_or_never().is_none());
        held.pop();
        assert_eq!((free(&slots), slots.limit()), (1, 1));

        slots.resize(4);
        assert_eq!((free(&slots), slots.limit()), (4, 4));
    }

    #[test]
    fn raising_the_limit_again_keeps_slots_that_were_to_be_removed() {
        let slots = Slots::new(2);
        let held = [slots.acquire().now_or_never().unwrap(), slots.acquire().now_or_never().unwrap()];

        slots.resize(1);
        slots.resize(2);
        drop(held);

        assert_eq!(free(&slots), 2);
    }
}
