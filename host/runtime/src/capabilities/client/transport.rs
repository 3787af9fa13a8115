//! The transport to the API server, which the composition root provides.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures::future::BoxFuture;
use http::Method;

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
