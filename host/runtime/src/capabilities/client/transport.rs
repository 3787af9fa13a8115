//! What the composition root lends: a way to the API server.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures::future::BoxFuture;
use http::Method;

/// Makes requests to the API server, with the host's credentials.
pub trait ApiClient: Send + Sync + 'static {
    /// Sends one request and reads its whole answer, whatever its status.
    ///
    /// # Errors
    /// [`ApiFailure`] where there is no such answer. A write may have been made then.
    ///
    /// # Cancel safety
    /// A dropped future ends the request; whether the server has acted on it is not known.
    fn send(&self, request: ApiRequest) -> BoxFuture<'_, Result<ApiAnswer, ApiFailure>>;
}

/// One request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiRequest {
    /// Whose it is: the server's log and audit see it as part of the user agent.
    pub plugin: Arc<str>,
    /// Of HTTP.
    pub method: Method,
    /// Path and query, encoded, beginning with `/`.
    pub path: String,
    /// Of the body; none: there is no body.
    pub content_type: Option<&'static str>,
    /// JSON text.
    pub body: Bytes,
    /// An answer that is longer is not read to its end, in bytes.
    pub longest_answer: usize,
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiAnswer {
    /// Of HTTP.
    pub status: u16,
    /// The `Retry-After` header.
    pub retry_after: Option<Duration>,
    /// The whole body.
    pub body: Bytes,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApiFailure {
    /// It is longer than asked for; the status came all the same.
    #[error("the answer is longer than the plugin's limit of {limit} bytes")]
    TooLarge {
        /// Of HTTP.
        status: u16,
        /// What was asked for.
        limit: usize,
    },
    /// No connection, or one that broke.
    #[error("{0}")]
    Unavailable(String),
}
