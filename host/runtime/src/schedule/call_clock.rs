//! The deadline of a call, extended by the waits for turns and for the processor share, and facts about the slice that runs
//! on this thread.

use std::{
    cell::Cell,
    future::{Future, poll_fn},
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    task::{Context, Poll},
    time::{Duration, Instant},
};

use tokio::time::{Sleep, sleep_until};

use crate::{interruption::Interruption, revocation::Revocation};

/// How long after the deadline the timer of a call fires. The epoch comes first, because it ends a running guest and so
/// reports the frames of the guest.
const GRACE: Duration = Duration::from_millis(50);

thread_local! {
    /// How long the work waited before the slice.
    static WAITED: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    /// True if the epoch interrupted the slice.
    static TICKED: Cell<bool> = const { Cell::new(false) };
}

/// The clock of the call in flight of one instance. It is shared because the store belongs to the call while it runs. One
/// thread at a time uses it.
pub(crate) struct CallClock {
    made: Instant,
    /// The deadline, in nanoseconds after `made`.
    deadline: AtomicU64,
    /// The end of the grants of the instance.
    revocation: Arc<Revocation>,
}

// === impl CallClock ===

impl CallClock {
    pub(crate) fn new(revocation: Arc<Revocation>) -> Self {
        Self { made: Instant::now(), deadline: AtomicU64::new(0), revocation }
    }

    /// Begins a call with this time limit.
    pub(crate) fn start(&self, allowed: Duration) {
        let deadline = self.made.elapsed().saturating_add(allowed);
        self.deadline.store(nanos(deadline), Relaxed);
    }

    /// The deadline of the call.
    pub(crate) fn deadline(&self) -> Instant {
        self.made + Duration::from_nanos(self.deadline.load(Relaxed))
    }

    /// The time at which the grants of the instance end.
    pub(crate) fn revocation(&self) -> Arc<Revocation> {
        Arc::clone(&self.revocation)
    }

    /// The time until the deadline.
    pub(crate) fn left(&self) -> Duration {
        self.deadline().saturating_duration_since(Instant::now())
    }

    /// Runs the call that was started, and ends it at its deadline. If the call waits in the host then, it ends [`GRACE`] later. Waits for
    /// turns and for the share do not count. No further slice runs once the grants of the instance have ended.
    ///
    /// # Errors
    /// The error of the call, [`Interruption::Deadline`], or [`Interruption::GrantsRevoked`].
    pub(crate) async fn within<T>(
        &self,
        call: impl Future<Output = wasmtime::Result<T>>,
    ) -> wasmtime::Result<T> {
        let mut call = pin!(call);
        let mut timer = None;
        let mut begun = false;
        poll_fn(|context| {
            // A wait before the first slice is not part of the call.
            let waited = take_waited();
            if std::mem::replace(&mut begun, true) {
                self.deadline.fetch_add(nanos(waited), Relaxed);
            }
            if self.revocation.is_due() {
                return Poll::Ready(Err(Interruption::GrantsRevoked.into()));
            }
            if timer.is_some() && self.overdue(&mut timer, context) {
                return Poll::Ready(Err(Interruption::Deadline.into()));
            }
            let polled = call.as_mut().poll(context);
            // A call that was interrupted does not wait in the host, so the epoch ends it.
            if polled.is_pending() && !ticked() && self.overdue(&mut timer, context) {
                return Poll::Ready(Err(Interruption::Deadline.into()));
            }
            polled
        })
        .await
    }

    /// Returns true if the deadline and [`GRACE`] have passed. Otherwise the task is woken at that time.
    fn overdue(&self, timer: &mut Option<Pin<Box<Sleep>>>, context: &mut Context<'_>) -> bool {
        let at = (self.deadline() + GRACE).into();
        let timer = timer.get_or_insert_with(|| Box::pin(sleep_until(at)));
        if timer.deadline() != at {
            timer.as_mut().reset(at);
        }
        timer.as_mut().poll(context).is_ready()
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Begins a slice whose work waited this long for its turn and its share.
pub(super) fn begin_slice(waited: Duration) {
    WAITED.set(waited);
    TICKED.set(false);
}

/// To be called when the epoch interrupts the guest on this thread.
pub(crate) fn tick() {
    TICKED.set(true);
}

/// Returns true if the epoch interrupted the slice.
pub(super) fn ticked() -> bool {
    TICKED.get()
}

/// How long the work waited before the slice. Returns zero from the second call on.
fn take_waited() -> Duration {
    WAITED.take()
}
