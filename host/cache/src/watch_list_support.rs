//! Where streaming lists turned out not to work.

use std::{collections::HashMap, time::Duration};

use parking_lot::Mutex;
use tokio::time::Instant;

/// After so long it is tried again: the server may have been upgraded, or the trouble was another one.
const REMEMBERED: Duration = Duration::from_secs(60 * 60);

/// What every reflector of a factory knows of its API server (D-3). By group and version: behind one URL there
/// may be several servers, and the aggregation layer tells them apart by that.
#[derive(Debug, Default)]
pub(crate) struct WatchListSupport {
    lacking: Mutex<HashMap<String, Lacking>>,
}

#[derive(Debug)]
struct Lacking {
    reason: String,
    since: Instant,
}

// === impl WatchListSupport ===

impl WatchListSupport {
    /// Streaming lists do not work below this root (`/apis/apps/v1`).
    pub(crate) fn lacks(&self, api_root: String, reason: String) {
        self.lacking.lock().insert(api_root, Lacking { reason, since: Instant::now() });
    }

    /// Why a streaming list is not to be tried; none: it is.
    pub(crate) fn reason(&self, api_root: &str) -> Option<String> {
        let lacking = self.lacking.lock();
        let lacking = lacking.get(api_root).filter(|lacking| lacking.since.elapsed() < REMEMBERED)?;
        Some(lacking.reason.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_does_not_work_is_remembered_for_an_hour_and_for_its_group_and_version_alone_d3() {
        let support = WatchListSupport::default();
        support.lacks("/api/v1".to_owned(), "no end mark".to_owned());

        assert_eq!(support.reason("/api/v1").as_deref(), Some("no end mark"));
        assert_eq!(support.reason("/apis/apps/v1"), None);

        tokio::time::advance(REMEMBERED).await;
        assert_eq!(support.reason("/api/v1"), None);
    }
}
