//! The turns of compilations: the order in which they run, and how long each runs if others wait.
//!
//! At most two compilations run at a time: one that has the turn, and one beside the turns that takes longer. A new compilation
//! waits for the turn, first come, first served. If it is not ready after a whole turn, it gives the turn back and goes on beside
//! the turns. If the place beside the turns is taken, it keeps its turn until a third compilation waits for the turn. Then it is
//! stopped, and it starts again when the place is free.
//!
//! A plugin has one compilation at a time. So a component that compiles within one turn waits at most one turn for each other
//! plugin, whatever their components do; a component that takes longer also waits at most the time limit for each other one that
//! takes longer.

use std::{
    pin::pin,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use tokio::{
    sync::{Notify, Semaphore, SemaphorePermit},
    time::sleep,
};

use super::compiler::NotCompiled;

/// How long a compilation keeps its turn while others wait. A Python component of 18 MB takes about ten seconds.
pub(crate) const TURN: Duration = Duration::from_secs(10);

/// The queue of compilations.
pub(crate) struct Compiling {
    /// A turn. Waiters are served in the order in which they came.
    turn: Semaphore,
    /// The place beside the turns, for one compilation that takes longer.
    long: Semaphore,
    /// Compilations that wait for a turn.
    waiting: AtomicUsize,
    /// Notified when one begins to wait.
    more_wait: Notify,
    /// False if a compilation that is dropped goes on: then it always keeps its turn to the end.
    can_be_stopped: bool,
}

/// Counts a waiter, also if its future is dropped.
struct Waiter<'a>(&'a Compiling);

// === impl Compiling ===

impl Compiling {
    pub(crate) fn new(can_be_stopped: bool) -> Self {
        Self {
            turn: Semaphore::new(1),
            long: Semaphore::new(1),
            waiting: AtomicUsize::new(0),
            more_wait: Notify::new(),
            can_be_stopped,
        }
    }

    /// Runs a compilation in its turn. `attempt` is called again if the compilation was stopped in favour of others.
    ///
    /// # Errors
    /// Returns the errors of the attempt.
    ///
    /// # Cancel safety
    /// If the future is dropped, so is the attempt.
    pub(crate) async fn run<T, F: Future<Output = Result<T, NotCompiled>>>(
        &self,
        attempt: impl Fn() -> F,
    ) -> Result<T, NotCompiled> {
        let turn = self.next_turn().await;
        if !self.can_be_stopped {
            return attempt().await;
        }
        let mut long = pin!(self.long.acquire());
        {
            let mut first = pin!(attempt());
            let place = tokio::select! {
                biased;
                done = &mut first => return done,
                place = self.beside_the_turns(&mut long) => place,
            };
            if let Some(_place) = place {
                drop(turn);
                return first.await;
            }
        }
        // The attempt is stopped: the next one needs its memory.
        drop(turn);
        let _place = long.await;
        attempt().await
    }

    /// Returns after a whole turn: the place beside the turns, or `None` if it is taken and another compilation waits for the turn.
    async fn beside_the_turns<'a>(
        &self,
        long: impl Future<Output = Result<SemaphorePermit<'a>, tokio::sync::AcquireError>>,
    ) -> Option<SemaphorePermit<'a>> {
        sleep(TURN).await;
        let others_wait = async {
            loop {
                let more = self.more_wait.notified();
                if self.waiting.load(Ordering::SeqCst) > 0 {
                    return;
                }
                more.await;
            }
        };
        tokio::select! {
            biased;
            // The semaphore is never closed.
            place = long => place.ok(),
            () = others_wait => None,
        }
    }

    async fn next_turn(&self) -> Option<SemaphorePermit<'_>> {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let _waiter = Waiter(self);
        self.more_wait.notify_waiters();
        // The semaphore is never closed.
        self.turn.acquire().await.ok()
    }
}

// === impl Waiter ===

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests;
