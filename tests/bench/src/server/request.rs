//! What the handler of a request receives: the shared state and the parameters.

use std::sync::Arc;

use serde::Deserialize;
use tokio::sync::watch::Sender;

use super::pace::Pace;
use crate::collection::Collection;

/// The shared state of all requests.
#[derive(Clone)]
pub(super) struct Served {
    pub(super) collection: Arc<Collection>,
    pub(super) page_size: usize,
    /// The number of events since the list that may be sent.
    pub(super) emitted: Arc<Sender<u64>>,
    pub(super) pace: Arc<Pace>,
}

/// The parameters of a list or a watch that this server uses. Clients also send others.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Parameters {
    pub(super) watch: Option<String>,
    pub(super) resource_version: String,
    pub(super) limit: usize,
    #[serde(rename = "continue")]
    pub(super) continue_token: String,
}

// === impl Served ===

impl Served {
    /// The state before the first event.
    pub(super) fn new(collection: Arc<Collection>, page_size: usize) -> Self {
        Self { collection, page_size, emitted: Arc::new(Sender::new(0)), pace: Arc::default() }
    }
}
