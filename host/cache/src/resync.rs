//! Puts a resync into the delta queue whenever some listener's period is over.
//!
//! Other than in client-go (P-9) every listener keeps its own period; nobody's depends on anybody else's.
//! A resync never asks the API server.

use std::sync::Arc;

use tokio::sync::watch;

use crate::{
    delta::{Delta, DeltaKind},
    delta_queue::DeltaSender,
    processor::Processor,
};

/// Runs until dropped. Nothing is due before the informer has synced.
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
                // One at a time: the controller says when it has told the listeners.
                processor.resync_moved().await;
            }
        }
    }
}
