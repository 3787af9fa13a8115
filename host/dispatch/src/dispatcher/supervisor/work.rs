//! One worker: one call at a time.

use std::{any::Any, panic::AssertUnwindSafe, pin::pin};

use futures::FutureExt;
use tokio::{select, task::coop::consume_budget};
use tokio_util::sync::CancellationToken;

use super::Work;

/// Takes one, makes the call, ends it, and again: until there is nothing more to do; until `retire`, then finishing the
/// call in hand; or until `shutdown`, then dropping it, which puts back what is in hand.
pub(super) async fn work<W: Work>(worker: W, shutdown: CancellationToken, retire: CancellationToken) {
    let (mut shutdown, mut retired) = (pin!(shutdown.cancelled()), pin!(retire.cancelled()));
    loop {
        // Calls that are always ready at once must not keep the executor's thread.
        consume_budget().await;
        let next = select! {
            biased;
            () = &mut shutdown => return,
            () = &mut retired => return,
            next = worker.next() => next,
        };
        let Some((held, order)) = next else { return };
        // Nothing of ours is shared with the call but what it is about.
        let call = AssertUnwindSafe(async { worker.call(order).await }).catch_unwind();
        let outcome = select! {
            biased;
            () = &mut shutdown => return,
            outcome = call => outcome,
        };
        worker.end(held, outcome.unwrap_or_else(|panic| worker.panicked(words(panic.as_ref()))));
    }
}

/// The words of a panic, where it has any.
fn words(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}
