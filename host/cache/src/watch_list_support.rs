//! Remembers the APIs for which streaming lists failed.

use std::{collections::HashMap, time::Duration};

use parking_lot::Mutex;
use tokio::time::Instant;

/// After this time a streaming list is tried again: the server may have been upgraded.
const REMEMBERED: Duration = Duration::from_secs(60 * 60);

/// The API roots for which streaming lists do not work, shared by all reflectors of a factory (D-3). Support is
/// remembered by group and version, because the aggregation layer may route each of them to another server.
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
    /// Records that streaming lists do not work below this root (`/apis/apps/v1`).
    pub(crate) fn lacks(&self, api_root: String, reason: String) {
        self.lacking.lock().insert(api_root, Lacking { reason, since: Instant::now() });
    }

    /// Returns the reason why a streaming list should not be tried, or `None` if it should.
    pub(crate) fn reason(&self, api_root: &str) -> Option<String> {
        let lacking = self.lacking.lock();
        let lacking = lacking.get(api_root).filter(|lacking| lacking.since.elapsed() < REMEMBERED)?;
        Some(lacking.reason.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that lacks streaming lists is remembered by group and version (D-3).
    #[tokio::test(start_paused = true)]
    async fn missing_support_is_remembered_for_an_hour_and_only_for_that_group_and_version() {
        let support = WatchListSupport::default();
        support.lacks("/api/v1".to_owned(), "no end mark".to_owned());

        assert_eq!(support.reason("/api/v1").as_deref(), Some("no end mark"));
        assert_eq!(support.reason("/apis/apps/v1"), None);

        tokio::time::advance(REMEMBERED).await;
        assert_eq!(support.reason("/api/v1"), None);
    }
}
