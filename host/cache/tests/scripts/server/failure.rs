//! The wire form of failures.

use crate::script::Failure;

// === impl Failure ===

impl Failure {
    pub(crate) fn code(self) -> u16 {
        match self {
            Self::Expired | Self::Gone => 410,
            Self::Throttled => 429,
            Self::Internal | Self::Bare => 500,
            Self::Unavailable => 503,
            Self::Timeout | Self::TooLarge => 504,
            Self::Unauthorized => 401,
            Self::Forbidden => 403,
            Self::NotFound => 404,
        }
    }

    fn reason(self) -> &'static str {
        match self {
            Self::Expired => "Expired",
            Self::Gone => "Gone",
            Self::Throttled => "TooManyRequests",
            Self::Internal | Self::Bare => "InternalError",
            Self::Unavailable => "ServiceUnavailable",
            Self::Timeout | Self::TooLarge => "Timeout",
            Self::Unauthorized => "Unauthorized",
            Self::Forbidden => "Forbidden",
            Self::NotFound => "NotFound",
        }
    }

    /// The `Status`, or the text sent instead.
    pub(crate) fn text(self) -> String {
        let details = match self {
            Self::Bare => return r#""the server is not well""#.to_owned(),
            Self::TooLarge => {
                r#","details":{"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}],"retryAfterSeconds":1}"#
            }
            Self::Throttled => r#","details":{"retryAfterSeconds":2}"#,
            _ => "",
        };
        let (code, reason) = (self.code(), self.reason());
        format!(
            r#"{{"kind":"Status","apiVersion":"v1","metadata":{{}},"status":"Failure","message":"scripted","reason":"{reason}","code":{code}{details}}}"#
        )
    }

    /// Returns true if a list at another version helps (R-7).
    pub(crate) fn is_about_the_version(self) -> bool {
        matches!(self, Self::Expired | Self::Gone | Self::TooLarge)
    }
}
