//! Why something a plugin asked for could not be done.

use std::time::Duration;

use crate::bindings::informer::plugin::client::{ApiCode, ApiError};
use crate::bindings::informer::plugin::types;

pub use types::ErrorCode;

/// A refusal of the host, or a value that is not of the type asked for.
///
/// In a handler `?` turns it into [`Failure::retry`](crate::Failure::retry), in `start` into the text the operator sees.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The host refused the call.
    #[error("{code}: {message}")]
    Host {
        /// What kind of refusal.
        code: ErrorCode,
        /// The host's explanation, for a person.
        message: String,
    },
    /// A request to the API server was refused, or failed.
    #[error("{code}: {message}")]
    Api {
        /// What kind of failure.
        code: ApiCode,
        /// For a person: the server's own words where it has any.
        message: String,
        /// The HTTP status; 0 where nothing came back.
        status: u32,
        /// When the server, or the plugin's own limit, asks to be asked again.
        retry_after: Option<Duration>,
    },
    /// The value is there but is not of the type asked for.
    #[error("{what} does not have the expected type")]
    Decode {
        /// Which value: a pointer, or the name of the whole.
        what: String,
        /// Where and why.
        source: serde_json::Error,
    },
}

// === impl Error ===

impl Error {
    /// The host's reason, where it was the host that refused.
    #[must_use]
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Host { code, .. } => Some(*code),
            Self::Api { .. } | Self::Decode { .. } => None,
        }
    }

    /// What kind of failure, where it was a request to the API server that failed.
    #[must_use]
    pub fn api_code(&self) -> Option<ApiCode> {
        match self {
            Self::Api { code, .. } => Some(*code),
            Self::Host { .. } | Self::Decode { .. } => None,
        }
    }

    pub(crate) fn decode(what: &str, source: serde_json::Error) -> Self {
        Self::Decode { what: what.to_owned(), source }
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

/// The word of the WIT interface: `not-granted`, `too-large` ...
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

/// The word of the WIT interface: `not-granted`, `conflict` ...
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

/// One line: the error and what caused it.
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
    fn a_refusal_keeps_its_code_and_the_hosts_words() {
        let error = Error::from(types::Error { code: ErrorCode::NotGranted, message: "v1/pods".to_owned() });

        assert_eq!(error.code(), Some(ErrorCode::NotGranted));
        assert_eq!(String::from(error), "not-granted: v1/pods");
    }

    #[test]
    fn the_line_of_a_decode_error_tells_what_and_why() {
        let source = serde_json::from_str::<u32>("\"x\"").unwrap_err();
        let error = Error::decode("/spec/replicas", source);

        assert_eq!(error.code(), None);
        assert_eq!(
            String::from(error),
            "/spec/replicas does not have the expected type: \
             invalid type: string \"x\", expected u32 at line 1 column 3"
        );
    }
}
