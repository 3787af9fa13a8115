//! Errors of calls to the host.

use std::time::Duration;

use crate::bindings::informer::plugin::client::{ApiCode, ApiError};
use crate::bindings::informer::plugin::types;

pub use types::ErrorCode;

/// Why a call to the host failed.
///
/// In a handler, `?` turns an error into [`Failure::retry`](crate::Failure::retry). In `start`, `?` turns it into the text
/// that the operator sees.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The host refused the call.
    #[error("{code}: {message}")]
    Host {
        /// The kind of the refusal.
        code: ErrorCode,
        /// An explanation for a person.
        message: String,
    },
    /// A request to the API server was refused or failed.
    #[error("{code}: {message}")]
    Api {
        /// The kind of the failure.
        code: ApiCode,
        /// An explanation for a person: the server's message if there is one.
        message: String,
        /// The HTTP status, or 0 if no answer came back.
        status: u32,
        /// How long to wait before the next request, if the server or the plugin's own limit says so.
        retry_after: Option<Duration>,
    },
    /// The host refused a call of [`keyvalue`](crate::keyvalue), or its state is not available.
    #[error("key-value: {message}")]
    KeyValue {
        /// An explanation for a person.
        message: String,
    },
    /// The value exists but does not fit the type.
    #[error("{what} does not have the expected type")]
    Decode {
        /// The name of the value: a JSON pointer, or for example `the object`.
        what: String,
        /// The problem and its position in the text.
        source: serde_json::Error,
    },
}

// === impl Error ===

impl Error {
    /// Returns the code if the host refused the call, `None` for other errors.
    #[must_use]
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Host { code, .. } => Some(*code),
            Self::Api { .. } | Self::KeyValue { .. } | Self::Decode { .. } => None,
        }
    }

    /// Returns the code if a request to the API server failed, `None` for other errors.
    #[must_use]
    pub fn api_code(&self) -> Option<ApiCode> {
        match self {
            Self::Api { code, .. } => Some(*code),
            Self::Host { .. } | Self::KeyValue { .. } | Self::Decode { .. } => None,
        }
    }
}

impl From<types::Error> for Error {
    fn from(types::Error { code, message }: types::Error) -> Self {
        Self::Host { code, message }
    }
}

impl From<ApiError> for Error {
    fn from(ApiError { code, message, status, retry_after_ms }: ApiError) -> Self {
        let retry_after = retry_after_ms.map(|millis| Duration::from_millis(millis.into()));
        Self::Api { code, message, status, retry_after }
    }
}

impl From<Error> for String {
    fn from(error: Error) -> Self {
        with_sources(&error)
    }
}

/// Writes the word of the WIT interface: `not-granted`, `too-large`.
impl std::fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::UnknownResource => "unknown-resource",
            Self::NotGranted => "not-granted",
            Self::StaleToken => "stale-token",
            Self::StalePage => "stale-page",
            Self::Invalid => "invalid",
            Self::TooLarge => "too-large",
            Self::LimitExceeded => "limit-exceeded",
            Self::Internal => "internal",
        })
    }
}

/// Writes the word of the WIT interface: `not-granted`, `conflict`.
impl std::fmt::Display for ApiCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::NotGranted => "not-granted",
            Self::BadArgument => "bad-argument",
            Self::LimitExceeded => "limit-exceeded",
            Self::TooLarge => "too-large",
            Self::Invalid => "invalid",
            Self::Unauthorized => "unauthorized",
            Self::Forbidden => "forbidden",
            Self::NotFound => "not-found",
            Self::AlreadyExists => "already-exists",
            Self::Conflict => "conflict",
            Self::Gone => "gone",
            Self::TooManyRequests => "too-many-requests",
            Self::Timeout => "timeout",
            Self::Unavailable => "unavailable",
            Self::Internal => "internal",
        })
    }
}

/// The error and its causes in one line.
pub(crate) fn with_sources(error: &dyn std::error::Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        line.push_str(": ");
        line.push_str(&inner.to_string());
        cause = inner.source();
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_keeps_the_code_and_the_message_of_the_host() {
        let error = Error::from(types::Error { code: ErrorCode::NotGranted, message: "v1/pods".to_owned() });

        assert_eq!(error.code(), Some(ErrorCode::NotGranted));
        assert_eq!(String::from(error), "not-granted: v1/pods");
    }

    #[test]
    fn the_line_of_a_decode_error_names_the_value_and_the_cause() {
        let error = crate::json::parse::<u32>("/spec/replicas", "\"x\"").unwrap_err();

        assert_eq!(error.code(), None);
        assert_eq!(
            String::from(error),
            "/spec/replicas does not have the expected type: \
             invalid type: string \"x\", expected u32 at line 1 column 3"
        );
    }
}
