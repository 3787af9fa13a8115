//! HTTP responses: every answer of the server is made here.

use axum::{body::Body, response::Response};
use http::{HeaderValue, StatusCode, header};

/// A JSON answer with status 200. The body may be a stream.
pub(crate) fn json(body: impl Into<Body>) -> Response {
    with_media_type(body, HeaderValue::from_static("application/json"))
}

/// A JSON answer with another status than 200.
pub(crate) fn json_with_status(status: StatusCode, body: impl Into<Body>) -> Response {
    let mut response = json(body);
    *response.status_mut() = status;
    response
}

/// An answer with status 200 and this `Content-Type`.
pub(crate) fn with_media_type(body: impl Into<Body>, media_type: HeaderValue) -> Response {
    let mut response = Response::new(body.into());
    response.headers_mut().insert(header::CONTENT_TYPE, media_type);
    response
}
