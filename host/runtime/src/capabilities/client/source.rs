//! What the client of one plugin shares over all its calls, instances and versions.

use std::sync::Arc;

use futures::future::{BoxFuture, ready};

use super::{
    budget::RequestBudget,
    events::{EventSeries, SpamFilter},
    transport::{ApiAnswer, ApiClient, ApiFailure, ApiRequest},
};

/// The way of one plugin to the API server, with the plugin's request budget and the series of Events that it recorded
/// lately. There is one for each plugin, over all its versions. Cheap to clone; clones share everything.
#[derive(Clone)]
pub struct ClientSource(pub(super) Arc<Shared>);

pub(super) struct Shared {
    pub(super) transport: Arc<dyn ApiClient>,
    pub(super) budget: RequestBudget,
    pub(super) series: EventSeries,
    pub(super) spam: SpamFilter,
    /// The `reportingInstance` of the plugin's Events: the name of the pod or of the machine.
    pub(super) instance: String,
}

/// Answers every request with [`ApiFailure::Unavailable`].
struct NoServer;

// === impl ClientSource ===

impl ClientSource {
    /// `instance` is shown in the plugin's Events: the name of the pod or of the machine.
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

/// No API server: every request fails with `unavailable`.
impl Default for ClientSource {
    fn default() -> Self {
        Self::new(Arc::new(NoServer), String::new())
    }
}

impl ApiClient for NoServer {
    fn send(&self, _: ApiRequest) -> BoxFuture<'_, Result<ApiAnswer, ApiFailure>> {
        Box::pin(ready(Err(ApiFailure::Unavailable("this host has no API server".to_owned()))))
    }
}
