//! How long a call has left, not counting what the host made it wait.

use std::{
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

use super::turns::{take_waited, ticked};
use crate::{
    failure::{DeadlineExceeded, GrantsRevoked},
    revocation::Revocation,
};

/// What the timer of a call allows beyond its deadline: the epoch goes first, because it ends a guest where it runs and
/// so knows the frames.
const GRACE: Duration = Duration::from_millis(50);

/// The clock of the call in hand of one instance. One thread at a time looks at it; it is shared because the store
/// belongs to the call while it runs.
pub(crate) struct CallClock {
    made: Instant,
    /// After `made`, in nanoseconds.
    deadline: AtomicU64,
    /// Of what the instance was granted.
    revocation: Arc<Revocation>,
}

// === impl CallClock ===

impl CallClock {
    pub(crate) fn new(revocation: Arc<Revocation>) -> Self {
        Self { made: Instant::now(), deadline: AtomicU64::new(0), revocation }
    }

    /// A call begins, which may take so long.
    pub(crate) fn start(&self, allowed: Duration) {
        let deadline = self.made.elapsed().saturating_add(allowed);
        self.deadline.store(nanos(deadline), Relaxed);
    }

    /// When the call has to be over.
    pub(crate) fn deadline(&self) -> Instant {
        self.made + Duration::from_nanos(self.deadline.load(Relaxed))
    }

    /// What the call has left.
    pub(crate) fn left(&self) -> Duration {
        self.deadline().saturating_duration_since(Instant::now())
    }

    /// Runs the call that was started, until its deadline if it waits in the host; what it waits for its turn and its share
    /// does not count. Once what the instance was granted is taken away, not a slice more of it runs.
    ///
    /// # Errors
    /// What the call ended in, [`DeadlineExceeded`], or [`GrantsRevoked`].
    pub(crate) async fn within<T>(
        &self,
        call: impl Future<Output = wasmtime::Result<T>>,
    ) -> wasmtime::Result<T> {
        let mut call = pin!(call);
        let mut timer = None;
        let mut begun = false;
        poll_fn(|context| {
            // What was waited for before the call is no time of it.
            let waited = take_waited();
            if std::mem::replace(&mut begun, true) {
                self.deadline.fetch_add(nanos(waited), Relaxed);
            }
            if self.revocation.is_due() {
                return Poll::Ready(Err(GrantsRevoked.into()));
            }
            if timer.is_some() && self.overdue(&mut timer, context) {
                return Poll::Ready(Err(DeadlineExceeded.into()));
            }
            let polled = call.as_mut().poll(context);
            // One that was interrupted waits for nothing in the host.
            if polled.is_pending() && !ticked() && self.overdue(&mut timer, context) {
                return Poll::Ready(Err(DeadlineExceeded.into()));
            }
            polled
        })
        .await
    }

    /// Whether the deadline has passed; if not, the task is woken then.
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
