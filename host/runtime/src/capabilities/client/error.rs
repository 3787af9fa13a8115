//! Errors of the API server, as the guest receives them.

use std::time::Duration;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::source::{ApiAnswer, ApiFailure};
use crate::bindings::informer::plugin::client::{ApiCode, ApiError};

/// The most bytes shown of an answer that is not a `Status`.
const SHOWN_BYTES: usize = 1024;

/// The most bytes shown of an invalid argument.
const SHOWN_OF_GUEST: usize = 256;

/// What an error shows of a `Status`. A field of another type is left out. The host builds no tree of an answer, because a tree may
/// take a hundred times the memory of the text.
#[derive(Default, Deserialize)]
struct Status<'a> {
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    reason: Option<&'a RawValue>,
    #[serde(borrow)]
    details: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Details<'a> {
    #[serde(borrow)]
    retry_after_seconds: Option<&'a RawValue>,
}

impl ApiError {
    /// An error of the host: no request was sent.
    pub(super) fn host(code: ApiCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), status: 0, retry_after_ms: None }
    }

    pub(super) fn bad_argument(message: impl Into<String>) -> Self {
        Self::host(ApiCode::BadArgument, message)
    }

    /// The error for an answer whose status is not a success.
    pub(super) fn answered(answer: &ApiAnswer) -> Self {
        let status: Status<'_> = serde_json::from_slice(&answer.body).unwrap_or_default();
        let reason: String = read(status.reason).unwrap_or_default();
        let details: Option<Details<'_>> = read(status.details);
        let in_body: Option<u64> = details.and_then(|details| read(details.retry_after_seconds));
        let retry_after = answer.retry_after.or(in_body.map(Duration::from_secs));
        Self {
            code: code(answer.status, &reason),
            message: match read::<String>(status.message) {
                Some(message) => message,
                None => {
                    let text = String::from_utf8_lossy(&answer.body);
                    let shown = text.get(..text.floor_char_boundary(SHOWN_BYTES)).unwrap_or_default();
                    format!("the server answered {} {shown}", answer.status).trim_end().to_owned()
                }
            },
            status: answer.status.into(),
            retry_after_ms: retry_after.map(|wait| u32::try_from(wait.as_millis()).unwrap_or(u32::MAX)),
        }
    }
}

impl From<ApiFailure> for ApiError {
    fn from(failure: ApiFailure) -> Self {
        let message = failure.to_string();
        match failure {
            ApiFailure::TooLarge { status, .. } if (200..300).contains(&status) => {
                let message = format!("{message}; request less, or raise `response` under [plugin.limits]");
                Self { status: status.into(), ..Self::host(ApiCode::TooLarge, message) }
            }
            // The request did not succeed, and `too-large` would say that a write was made.
            ApiFailure::TooLarge { status, .. } => {
                Self { status: status.into(), ..Self::host(code(status, ""), message) }
            }
            ApiFailure::Unavailable(_) => Self::host(ApiCode::Unavailable, message),
        }
    }
}

/// The value of a field. Returns `None` if the field is absent or has another type.
fn read<'a, T: Deserialize<'a>>(field: Option<&'a RawValue>) -> Option<T> {
    serde_json::from_str(field?.get()).ok()
}

/// The part of an argument that an error shows.
pub(super) fn shown(text: &str) -> &str {
    text.get(..text.floor_char_boundary(SHOWN_OF_GUEST)).unwrap_or_default()
}

/// The name of the code in the WIT.
pub(super) fn word(code: ApiCode) -> &'static str {
    match code {
        ApiCode::NotGranted => "not-granted",
        ApiCode::BadArgument => "bad-argument",
        ApiCode::LimitExceeded => "limit-exceeded",
        ApiCode::TooLarge => "too-large",
        ApiCode::Invalid => "invalid",
        ApiCode::Unauthorized => "unauthorized",
        ApiCode::Forbidden => "forbidden",
        ApiCode::NotFound => "not-found",
        ApiCode::AlreadyExists => "already-exists",
        ApiCode::Conflict => "conflict",
        ApiCode::Gone => "gone",
        ApiCode::TooManyRequests => "too-many-requests",
        ApiCode::Timeout => "timeout",
        ApiCode::Unavailable => "unavailable",
        ApiCode::Internal => "internal",
    }
}

/// The answer as text.
pub(super) fn text(answer: Bytes) -> Result<String, ApiError> {
    String::from_utf8(answer.into())
        .map_err(|_| ApiError::host(ApiCode::Unavailable, "the server's answer is not UTF-8"))
}

/// The code of a status, and of a reason if a status has two (`k8s.io/apimachinery/pkg/api/errors`).
fn code(status: u16, reason: &str) -> ApiCode {
    match status {
        401 => ApiCode::Unauthorized,
        403 => ApiCode::Forbidden,
        404 => ApiCode::NotFound,
        409 if reason == "AlreadyExists" => ApiCode::AlreadyExists,
        409 => ApiCode::Conflict,
        410 => ApiCode::Gone,
        429 => ApiCode::TooManyRequests,
        408 | 504 => ApiCode::Timeout,
        // 400, 405, 406, 413, 415, 422: this request can never succeed.
        400..500 => ApiCode::Invalid,
        _ => ApiCode::Unavailable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, body: &'static str) -> ApiAnswer {
        ApiAnswer { status, retry_after: None, body: Bytes::from_static(body.as_bytes()) }
    }

    #[test]
    fn each_status_of_the_server_has_a_code() {
        for (status, reason, expected) in [
            (400, "BadRequest", "invalid"),
            (401, "Unauthorized", "unauthorized"),
            (403, "Forbidden", "forbidden"),
            (404, "NotFound", "not-found"),
            (409, "AlreadyExists", "already-exists"),
            (409, "Conflict", "conflict"),
            (410, "Expired", "gone"),
            (413, "RequestEntityTooLarge", "invalid"),
            (415, "UnsupportedMediaType", "invalid"),
            (422, "Invalid", "invalid"),
            (429, "TooManyRequests", "too-many-requests"),
            (500, "InternalError", "unavailable"),
            (503, "ServiceUnavailable", "unavailable"),
            (504, "Timeout", "timeout"),
            (302, "", "unavailable"),
        ] {
            assert_eq!(word(code(status, reason)), expected, "{status} {reason}");
        }
    }

    #[test]
    fn the_guest_receives_the_servers_message_and_wait() {
        let body = r#"{"kind":"Status","message":"busy","reason":"TooManyRequests","details":{"retryAfterSeconds":2}}"#;

        let error = ApiError::answered(&answer(429, body));

        assert_eq!((error.message.as_str(), error.status, error.retry_after_ms), ("busy", 429, Some(2000)));
    }

    /// A tree of this answer would be deeper than serde_json allows.
    #[test]
    fn a_status_is_read_whatever_else_the_answer_has() {
        let deep = "[".repeat(200) + &"]".repeat(200);
        let body = format!(
            r#"{{"message":"\u0062usy","other":{deep},"details":{{"causes":{deep},"retryAfterSeconds":2}},"reason":7}}"#
        );
        let busy = ApiAnswer { status: 429, retry_after: None, body: body.into() };

        let error = ApiError::answered(&busy);

        assert_eq!((error.message.as_str(), error.retry_after_ms), ("busy", Some(2000)));
        for body in [r#"{"message":7,"details":null}"#, r#"{"details":{"retryAfterSeconds":"2"}}"#] {
            let error = ApiError::answered(&answer(500, body));
            assert_eq!(error.message, format!("the server answered 500 {body}"));
            assert_eq!(error.retry_after_ms, None);
        }
    }

    /// `too-large` promises that a write was made.
    #[test]
    fn a_refusal_that_is_too_long_has_the_code_of_its_status() {
        for (status, expected) in [
            (200, "too-large"),
            (201, "too-large"),
            (404, "not-found"),
            (409, "conflict"),
            (422, "invalid"),
            (503, "unavailable"),
        ] {
            let error = ApiError::from(ApiFailure::TooLarge { status, limit: 10 });

            assert_eq!((word(error.code), error.status), (expected, u32::from(status)));
        }
    }

    #[test]
    fn an_answer_that_is_not_a_status_is_shown_in_part() {
        let error = ApiError::answered(&answer(502, "<html>bad gateway"));
        assert_eq!(error.message, "the server answered 502 <html>bad gateway");
        assert_eq!(ApiError::answered(&answer(500, "")).message, "the server answered 500");
    }
}
