//! One worker: one call at a time.

use std::{any::Any, future::Future, panic::AssertUnwindSafe, pin::pin};

use futures::FutureExt;
use tokio::{select, task::coop::consume_budget};
use tokio_util::sync::CancellationToken;

/// What a worker does: takes something from a queue, makes a call, and ends it.
pub(crate) trait Work: Clone + Send + Sync + 'static {
    /// What the worker has during a call. Dropping it gives it back to the queue.
    type Held: Send;
    /// What a call is about.
    type Order: Send;
    /// How a call ended.
    type Outcome: Send;

    /// Waits for the next call. Returns `None` if there will never be another one. A dropped future has taken nothing.
    fn next(&self) -> impl Future<Output = Option<(Self::Held, Self::Order)>> + Send;

    /// Makes the call.
    fn call(&self, order: Self::Order) -> impl Future<Output = Self::Outcome> + Send;

    /// The outcome of a call that panicked with this message.
    fn panicked(&self, message: &str) -> Self::Outcome;

    /// Ends the call.
    fn end(&self, held: Self::Held, outcome: Self::Outcome);
}

/// Makes one call after the other until the queue has ended. `retire` ends the worker after its call; `shutdown` ends it at
/// once and drops its call.
pub(super) async fn work<W: Work>(worker: W, shutdown: CancellationToken, retire: CancellationToken) {
    let (mut shutdown, mut retired) = (pin!(shutdown.cancelled()), pin!(retire.cancelled()));
    loop {
        // Calls that are always ready at once must not block the executor's thread.
        consume_budget().await;
        let next = select! {
            biased;
            () = &mut shutdown => return,
            () = &mut retired => return,
            next = worker.next() => next,
        };
        let Some((held, order)) = next else { return };
        // The call shares only its order with the worker, so a panic leaves nothing inconsistent.
        let call = AssertUnwindSafe(async { worker.call(order).await }).catch_unwind();
        let outcome = select! {
            biased;
            () = &mut shutdown => return,
            outcome = call => outcome,
        };
        worker.end(held, outcome.unwrap_or_else(|panic| worker.panicked(message(panic.as_ref()))));
    }
}

/// The message of a panic, if it has one.
fn message(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}
