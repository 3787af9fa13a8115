//! The access of one plugin to the API server: the transport, which the composition root provides, and the state that all calls,
//! instances and versions of the plugin share.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures::future::{BoxFuture, ready};
use http::Method;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::events::{EventSeries, SpamFilter};
use crate::capabilities::rate_budget::RateBudget;

/// Makes requests to the API server, with the host's credentials.
pub trait ApiClient: Send + Sync + 'static {
    /// Sends one request and reads its whole answer, whatever its status.
    ///
    /// # Errors
    /// [`ApiFailure`] if there is no complete answer. The server may have executed a write all the same.
    ///
    /// # Cancel safety
    /// Dropping the future ends the request. Whether the server executed it is unknown.
    fn send(&self, request: ApiRequest) -> BoxFuture<'_, Result<ApiAnswer, ApiFailure>>;
}

/// One request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiRequest {
    /// The name of the plugin. It becomes part of the user agent, which the server's log and audit show.
    pub plugin: Arc<str>,
    /// HTTP method.
    pub method: Method,
    /// Path and query, percent-encoded, starting with `/`.
    pub path: String,
    /// Content type of the body. `None` means that there is no body.
    pub content_type: Option<&'static str>,
    /// Body, as JSON text.
    pub body: Bytes,
    /// The longest answer that is read, in bytes.
    pub longest_answer: usize,
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiAnswer {
    /// HTTP status.
    pub status: u16,
    /// Value of the `Retry-After` header.
    pub retry_after: Option<Duration>,
    /// The whole body.
    pub body: Bytes,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApiFailure {
    /// The answer is longer than [`ApiRequest::longest_answer`].
    #[error("the answer is longer than the plugin's limit of {limit} bytes")]
    TooLarge {
        /// HTTP status of the answer.
        status: u16,
        /// The limit, in bytes.
        limit: usize,
    },
    /// There was no connection, or it broke.
    #[error("{0}")]
    Unavailable(String),
}

/// Counters of the client of one plugin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct ClientStats {
    /// Requests sent.
    pub requests: u64,
    /// Requests sent that were answered with an error, or not at all.
    pub failed: u64,
    /// Requests not sent because no grant allows them.
    pub refused: u64,
    /// Requests not sent because the plugin's request limit was reached.
    pub limited: u64,
    /// Events left out because there were too many about one object.
    pub events_suppressed: u64,
}

pub(crate) type ClientCounters = Mutex<ClientStats>;

/// The access of one plugin to the API server, with the plugin's request budget and the series of Events that it recorded lately.
/// There is one for each plugin, over all its versions. Cheap to clone; clones share everything.
#[derive(Clone)]
pub struct ClientSource(pub(super) Arc<Shared>);

pub(super) struct Shared {
    pub(super) transport: Arc<dyn ApiClient>,
    pub(super) budget: RateBudget,
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
            budget: RateBudget::default(),
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
