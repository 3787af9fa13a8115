//! Why a request failed.

use std::{error::Error, io, iter, sync::Arc, time::Duration};

use http::StatusCode;
use informer_types::excerpt;

use crate::{api_status::ApiStatus, error_class::ErrorClass};

/// The most bytes shown of a text that the server has written. The last error is kept, logged and shown.
pub(crate) const SHOWN_BYTES: usize = 1 << 10;

/// A failed request. The text is for operators.
#[derive(Debug, thiserror::Error)]
#[error("the API server at {server} {problem}{}", problem.advice(call, renewal))]
pub(crate) struct RequestError {
    server: Arc<str>,
    /// The remedy after an answer 401.
    renewal: Arc<str>,
    call: String,
    #[source]
    problem: Problem,
}

/// The client sends no request, because it has no credentials. A client returns this error as the cause of its own error. The text
/// names the source of the credentials, the reason why there are none, and the remedy.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct NoCredentials(pub String);

/// What went wrong with one request. The texts follow "the API server at URL".
#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    /// Not marked as `#[source]`: the text already contains the innermost cause, which is the useful one.
    #[error("cannot be reached: {}", innermost(.0.as_ref()))]
    Transport(Box<dyn Error + Send + Sync>),
    #[error("was not asked, because there are no credentials: {0}")]
    NoCredentials(NoCredentials),
    #[error("sent nothing for {} s", .0.as_secs_f64())]
    Silent(Duration),
    #[error("answered {code}{}", said(*.code, &.status.message))]
    Status { code: StatusCode, status: Box<ApiStatus>, retry_after: Option<Duration> },
    #[error("answered with HTML, not JSON: is it an API server?")]
    Html,
    #[error("closed the connection in the middle of its answer, after {0} bytes")]
    Truncated(u64),
    #[error("answered with a text that is not JSON: {}", excerpt(&.0.to_string(), SHOWN_BYTES))]
    NotJson(#[source] serde_json::Error),
    #[error("answered with {}", excerpt(.0, SHOWN_BYTES))]
    Unexpected(String),
    #[error("answered with a Table: it ignored `Accept: application/json`")]
    Table,
    #[error("sent an object of more than {0} bytes")]
    TooLong(usize),
    #[error("sent a list of more than {0} bytes")]
    ListTooLarge(u64),
    #[error("sent objects for which there is no room: the objects of this host take more than {0} bytes")]
    CacheFull(usize),
    #[error("sent more than {most} pages of one list that {what}")]
    EndlessPages { most: u32, what: &'static str },
}

// === impl RequestError ===

impl RequestError {
    pub(crate) fn new(
        server: &Arc<str>,
        renewal: &Arc<str>,
        call: impl Into<String>,
        problem: Problem,
    ) -> Self {
        Self { server: Arc::clone(server), renewal: Arc::clone(renewal), call: call.into(), problem }
    }

    pub(crate) fn class(&self) -> ErrorClass {
        self.problem.class()
    }

    /// The pause that the server asked for.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        let Problem::Status { status, retry_after, .. } = &self.problem else { return None };
        let seconds = status.details.retry_after_seconds;
        retry_after.or_else(|| (seconds > 0).then(|| Duration::from_secs(seconds)))
    }

    /// Returns true if the continue token has expired.
    pub(crate) fn has_reason_expired(&self) -> bool {
        matches!(&self.problem, Problem::Status { status, .. } if status.has_reason_expired())
    }

    /// Returns true if the server no longer has the requested resource version, or does not have it yet.
    pub(crate) fn is_version_unavailable(&self) -> bool {
        matches!(self.class(), ErrorClass::Expired | ErrorClass::TooLargeResourceVersion)
    }

    /// Returns true if the failure passes by itself and leaves no gap, so that the same request may be sent again
    ///
    pub(crate) fn is_passing(&self) -> bool {
        matches!(self.class(), ErrorClass::Refused | ErrorClass::NoCredentials)
            || self.class().asks_for_a_pause()
    }

    /// Returns true if the server does not support the request: 400 or 422.
    pub(crate) fn is_unsupported(&self) -> bool {
        matches!(
            &self.problem,
            Problem::Status { code: StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY, .. }
        )
    }

    /// Returns true for an internal error, after which the watch may be reopened.
    pub(crate) fn is_internal_error(&self) -> bool {
        matches!(&self.problem, Problem::Status { status, .. } if status.is_internal_error())
    }
}

// === impl Problem ===

impl Problem {
    /// The problem of a request that got no answer.
    pub(crate) fn unanswered(error: kube::Error) -> Self {
        let cause = causes::<NoCredentials>(&error).next().cloned();
        cause.map_or_else(|| Self::Transport(Box::new(error)), Self::NoCredentials)
    }

    /// The problem of a `Status` that came without a status code of HTTP: in a list, or in an ERROR event.
    pub(crate) fn of_status(status: Box<ApiStatus>) -> Self {
        let code = StatusCode::from_u16(status.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self::Status { code, status, retry_after: None }
    }

    fn class(&self) -> ErrorClass {
        match self {
            Self::Transport(source) if is_refused(source.as_ref()) => ErrorClass::Refused,
            Self::Transport(_) => ErrorClass::Unreachable,
            Self::NoCredentials(_) => ErrorClass::NoCredentials,
            Self::Silent(_) => ErrorClass::Silent,
            Self::Status { status, .. } if status.is_too_large_resource_version() => {
                ErrorClass::TooLargeResourceVersion
            }
            Self::Status { status, .. } if status.is_expired() => ErrorClass::Expired,
            Self::Status { status, .. } if status.is_initializing() => ErrorClass::Initializing,
            Self::Status { status, .. } if status.is_too_many_requests() => ErrorClass::Throttled,
            Self::Status { code, .. } => match *code {
                StatusCode::UNAUTHORIZED => ErrorClass::Unauthorized,
                StatusCode::FORBIDDEN => ErrorClass::Forbidden,
                StatusCode::NOT_FOUND => ErrorClass::NotFound,
                _ => ErrorClass::Server,
            },
            Self::ListTooLarge(_) => ErrorClass::ListTooLarge,
            Self::CacheFull(_) => ErrorClass::CacheFull,
            Self::EndlessPages { .. }
            | Self::Html
            | Self::Truncated(_)
            | Self::NotJson(_)
            | Self::Unexpected(_)
            | Self::Table
            | Self::TooLong(_) => ErrorClass::Malformed,
        }
    }

    /// The end of the error text: the call, and a remedy if there is one.
    fn advice(&self, call: &str, renewal: &str) -> String {
        let remedy = match self.class() {
            ErrorClass::Unauthorized => renewal,
            ErrorClass::Forbidden => "grant get, list and watch on it to this identity",
            ErrorClass::Refused => "is it running?",
            _ => return format!(" ({call})"),
        };
        format!(" ({call}); {remedy}")
    }
}

/// An error and its causes in one line, without repetition.
pub(crate) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

/// The innermost cause. The layers of an HTTP client above it only report "error sending request" and the like.
fn innermost(mut error: &(dyn Error + 'static)) -> String {
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

/// The message of a status, if it adds something to the code.
fn said(code: StatusCode, message: &str) -> String {
    if message.is_empty() || code.canonical_reason() == Some(message) {
        return String::new();
    }
    format!(": {}", excerpt(message, SHOWN_BYTES))
}

/// Returns true if the peer refused the connection.
fn is_refused(error: &(dyn Error + 'static)) -> bool {
    causes::<io::Error>(error).any(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

/// The errors of type `E` among the error and its causes.
fn causes<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a E> {
    iter::successors(Some(error), |&error| error.source()).filter_map(|error| error.downcast_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_message_grows_with_what_the_server_sends() {
        let long = || "x".repeat(1 << 20);
        let status = ApiStatus { message: long(), ..ApiStatus::default() };
        let unreadable = serde_json::from_str::<bool>(&format!("\"{}\"", long())).unwrap_err();
        for problem in [
            Problem::Status { code: StatusCode::FORBIDDEN, status: Box::new(status), retry_after: None },
            Problem::Unexpected(long()),
            Problem::NotJson(unreadable),
        ] {
            let message = problem.to_string();
            assert!(message.len() < 2 << 10, "{}", excerpt(&message, 200));
            assert!(message.ends_with(" bytes)"), "{message}");
        }
    }
}
