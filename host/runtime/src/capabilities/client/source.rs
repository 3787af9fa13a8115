//! What one plugin's client is made of, over all its calls, instances and versions.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use futures::future::{BoxFuture, ready};

use super::{
    ApiAnswer, ApiClient, ApiFailure, ApiRequest,
    budget::RequestBudget,
    events::{EventSeries, SpamFilter},
};

/// The way to the API server of one plugin, with its request budget and the events it recorded lately: one for each
/// plugin, over all its versions. Cheap to clone; clones share all of it.
#[derive(Clone)]
pub struct ClientSource(pub(super) Arc<Shared>);

pub(super) struct Shared {
    pub(super) transport: Arc<dyn ApiClient>,
    pub(super) budget: RequestBudget,
    pub(super) series: EventSeries,
    pub(super) spam: SpamFilter,
    /// What the plugin's Events name as where they come from: the pod, or the machine.
    pub(super) instance: String,
}

/// A snapshot of what a plugin's client did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientStats {
    /// Sent.
    pub requests: u64,
    /// Of these, answered with an error, or not at all.
    pub failed: u64,
    /// Not sent because no grant allows them.
    pub refused: u64,
    /// Not sent because the plugin's request limit was reached.
    pub limited: u64,
    /// Events left out because there were too many about one object.
    pub events_suppressed: u64,
}

/// Where there is nobody to ask.
struct Nobody;

#[derive(Debug, Default)]
pub(crate) struct ClientCounters {
    pub(super) requests: AtomicU64,
    pub(super) failed: AtomicU64,
    pub(super) refused: AtomicU64,
    pub(super) limited: AtomicU64,
    pub(super) events_suppressed: AtomicU64,
}

// === impl ClientSource ===

impl ClientSource {
    /// `instance` is shown in the plugin's Events: the name of the pod, or of the machine.
    pub fn new(transport: Arc<dyn ApiClient>, instance: impl Into<String>) -> Self {
        Self(Arc::new(Shared {
            transport,
            budget: RequestBudget::default(),
            series: EventSeries::default(),
            spam: SpamFilter::default(),
            instance: instance.into(),
        }))
    }
}

/// No API server: every request is answered `unavailable`.
impl Default for ClientSource {
    fn default() -> Self {
        Self::new(Arc::new(Nobody), String::new())
    }
}

impl ApiClient for Nobody {
    fn send(&self, _: ApiRequest) -> BoxFuture<'_, Result<ApiAnswer, ApiFailure>> {
        Box::pin(ready(Err(ApiFailure::Unavailable("this host has no API server".to_owned()))))
    }
}

// === impl ClientCounters ===

impl ClientCounters {
    pub(crate) fn snapshot(&self) -> ClientStats {
        ClientStats {
            requests: self.requests.load(Relaxed),
            failed: self.failed.load(Relaxed),
            refused: self.refused.load(Relaxed),
            limited: self.limited.load(Relaxed),
            events_suppressed: self.events_suppressed.load(Relaxed),
        }
    }
}
