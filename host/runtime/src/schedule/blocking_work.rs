//! Runs work of the host for a guest on a thread that may block. The processor time of the work counts for the `cpu` limit of the plugin.

use std::{cell::Cell, time::Duration};

use rustix::time::{ClockId, clock_gettime};
use tokio::task::{JoinError, spawn_blocking};

thread_local! {
    /// Processor time of blocking work whose result the slice on this thread received.
    static USED: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// Runs work that may block, such as reading files, outside the threads of the executor. If a call of a guest waits for the work, the
/// processor time of the work counts for the `cpu` limit of the plugin.
///
/// # Errors
/// If the work panics, or if the process ends before the work begins.
///
/// # Cancel safety
/// If the future is dropped, the work goes on, and its processor time does not count.
pub async fn blocking_work<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, JoinError> {
    let measured = spawn_blocking(move || {
        let before = thread_time();
        let done = work();
        (done, thread_time().saturating_sub(before))
    });
    let (done, used) = measured.await?;
    // The guest goes on in this slice, which is charged when it ends.
    USED.set(USED.get() + used);
    Ok(done)
}

/// Returns the processor time of the blocking work whose result was received on this thread since the last call of this function.
pub(super) fn take_blocking_time() -> Duration {
    USED.take()
}

/// The processor time that this thread has used.
pub(super) fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::{num::NonZeroUsize, sync::Arc, time::Instant};

    use super::{
        super::{Lane, Turnstile, by_turns},
        *,
    };

    const SHARE: Duration = Duration::from_millis(10);

    fn work_for(time: Duration) {
        let before = thread_time();
        while thread_time().saturating_sub(before) < time {
            std::hint::spin_loop();
        }
    }

    #[tokio::test]
    async fn a_plugin_pays_for_the_blocking_work_that_its_guest_waits_for() {
        let turnstile = Arc::new(Turnstile::new(NonZeroUsize::MIN));
        let lane = Lane::new(&turnstile, Some(SHARE));

        by_turns(&lane, blocking_work(|| work_for(3 * SHARE))).await.unwrap();

        let (budget, _) = lane.budget().unwrap();
        assert!(budget.wait(Instant::now()).is_some(), "three shares were used");
    }

    #[tokio::test]
    async fn a_plugin_does_not_pay_for_the_blocking_work_of_others() {
        let turnstile = Arc::new(Turnstile::new(NonZeroUsize::MIN));
        let lane = Lane::new(&turnstile, Some(SHARE));
        // The host waits for this work on the thread of guests, outside a slice.
        blocking_work(|| work_for(3 * SHARE)).await.unwrap();

        by_turns(&lane, async {}).await;

        let (budget, _) = lane.budget().unwrap();
        assert_eq!(budget.wait(Instant::now()), None);
    }
}
