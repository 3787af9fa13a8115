//! An answer with a complete body.

use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, StatusCode,
    header::{CONTENT_TYPE, RETRY_AFTER},
};

use crate::Status;

#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) code: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

// === impl Reply ===

impl Reply {
    pub(crate) fn ok(content_type: &'static str, body: impl Into<Bytes>) -> Self {
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(content_type))]);
        Self { code: StatusCode::OK, headers, body: body.into() }
    }

    pub(crate) fn json(body: impl Into<Bytes>) -> Self {
        Self::ok("application/json", body)
    }

    /// A refusal. A code that is not a valid HTTP status is sent as 500; the body still has the code.
    pub(crate) fn refusal(status: &Status) -> Self {
        let code = StatusCode::from_u16(status.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self { code, ..Self::json(status.to_json().to_string()) }
    }

    pub(crate) fn retry_after(mut self, seconds: u64) -> Self {
        self.headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        self
    }
}
