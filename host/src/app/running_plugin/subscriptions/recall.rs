//! The end of a recall: the receipts of an earlier process are compared with a cache.

use std::{sync::Arc, time::Duration};

use informer_cache::{ResourceVersion, SharedInformer, VersionError};
use informer_dispatch::{Filter, Queue};
use tokio::time::timeout;

use crate::app::blocking::off_the_workers;

/// Time for an informer to reach the states that the plugin acknowledged in an earlier process: a list may come from an API
/// server that is behind. After a restore of etcd, the informer never reaches some of them.
const SEEN_WITHIN: Duration = Duration::from_secs(120);

/// Waits until an informer has reached every state that the plugin acknowledged in an earlier process. An acknowledged object that
/// the informer does not have then is gone, unless it cannot be decoded. An object that cannot be decoded exists, although the cache
/// does not have it: this function waits until each such object can be decoded or is gone. If the informer ends first, the function
/// returns, and the objects that the informer has not reached do not count as gone.
pub(super) async fn end_recall(informer: SharedInformer, filter: Arc<Filter<Queue>>) {
    if !informer.wait_synced().await {
        // Another informer replaces it.
        return;
    }
    if let Some(version) = filter.newest_recalled::<ResourceVersion>() {
        let reached = timeout(SEEN_WITHIN, informer.wait_for_version(version.as_str(), None)).await;
        if matches!(reached, Ok(Err(VersionError::Stopped(_)))) {
            return;
        }
    }
    loop {
        let (caught_up, ending) = (informer.clone(), Arc::clone(&filter));
        let end = move || {
            let undecoded = caught_up.undecoded();
            // The cache has a change before the filter receives it, so wait until the filter has received everything.
            caught_up.wait_offered();
            ending.end_recall(|key| undecoded.may_have(key));
            undecoded
        };
        let undecoded = off_the_workers(end).await;
        if !filter.recalls() || !informer.wait_released(&undecoded).await {
            return;
        }
    }
}
