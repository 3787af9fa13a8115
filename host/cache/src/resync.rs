//! Puts a resync into the delta queue whenever the resync period of a listener has elapsed.
//!
//! Unlike in client-go (P-9), every listener keeps its own period, independent of other listeners. A resync never sends
//! a request to the API server.

use std::sync::Arc;

use tokio::sync::watch;

use crate::{
    delta_queue::{Delta, DeltaKind, DeltaSender},
    processor::Processor,
};

/// Runs until dropped. Pushes no resync before the informer has synced.
pub(crate) async fn run(processor: Arc<Processor>, deltas: DeltaSender, mut synced: watch::Receiver<bool>) {
    if synced.wait_for(|synced| *synced).await.is_err() {
        return;
    }
    loop {
        let moved = processor.resync_moved();
        let Some(next) = processor.next_resync() else {
            moved.await;
            continue;
        };
        tokio::select! {
            biased;
            () = moved => {}
            () = tokio::time::sleep_until(next) => {
                deltas.push(Delta::now(DeltaKind::SyncAll)).await;
                // One resync at a time: the controller signals when it has notified the listeners.
                processor.resync_moved().await;
            }
        }
    }
}
