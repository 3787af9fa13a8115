//! Failures that a client sees: `Status` documents with the words of kube-apiserver.

use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use serde_json::{Map, Value, json};

use crate::{answer, object::set};

pub(crate) mod cause;

pub(crate) use cause::Cause;

/// The result of a request handler.
pub(crate) type ApiResult<T> = Result<T, ApiError>;

/// A failed request. It becomes a `Status` document with the code as the HTTP status, or the object of an `ERROR`
/// event if it happens inside a watch.
#[derive(Debug, Clone)]
pub(crate) struct ApiError(Box<Failure>);

#[derive(Debug, Clone)]
struct Failure {
    code: StatusCode,
    reason: &'static str,
    message: String,
    details: Map<String, Value>,
    retry_after_seconds: Option<u32>,
    continue_token: Option<String>,
}

/// The resource that an error is about, displayed as `deployments.apps`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GroupResource<'a> {
    pub(crate) group: &'a str,
    pub(crate) plural: &'a str,
}

// === impl ApiError ===

impl ApiError {
    fn new(code: StatusCode, reason: &'static str, message: impl Into<String>) -> Self {
        Self(Box::new(Failure {
            code,
            reason,
            message: message.into(),
            details: Map::new(),
            retry_after_seconds: None,
            continue_token: None,
        }))
    }

    fn about(mut self, resource: GroupResource<'_>, name: &str) -> Self {
        let details = &mut self.0.details;
        if !name.is_empty() {
            details.insert("name".into(), name.into());
        }
        if !resource.group.is_empty() {
            details.insert("group".into(), resource.group.into());
        }
        details.insert("kind".into(), resource.plural.into());
        self
    }

    fn caused_by(mut self, causes: &[Cause]) -> Self {
        if !causes.is_empty() {
            self.0.details.insert("causes".into(), causes.iter().map(Cause::to_json).collect());
        }
        self
    }

    pub(crate) fn not_found(resource: GroupResource<'_>, name: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "NotFound", format!("{resource} \"{name}\" not found"))
            .about(resource, name)
    }

    /// The server has nothing at this path.
    pub(crate) fn unknown_path() -> Self {
        Self::new(StatusCode::NOT_FOUND, "NotFound", "the server could not find the requested resource")
    }

    pub(crate) fn already_exists(resource: GroupResource<'_>, name: &str) -> Self {
        Self::new(StatusCode::CONFLICT, "AlreadyExists", format!("{resource} \"{name}\" already exists"))
            .about(resource, name)
    }

    /// The write is based on an older state of the object.
    pub(crate) fn stale(resource: GroupResource<'_>, name: &str) -> Self {
        let why =
            "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(resource, name, why)
    }

    pub(crate) fn conflict(resource: GroupResource<'_>, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {resource} \"{name}\": {why}");
        Self::new(StatusCode::CONFLICT, "Conflict", message).about(resource, name)
    }

    /// A server-side apply would change fields of another manager.
    pub(crate) fn apply_conflict(message: String, causes: &[Cause]) -> Self {
        Self::new(StatusCode::CONFLICT, "Conflict", message).caused_by(causes)
    }

    /// The object breaks validation rules. `kind` is the kind, not the plural.
    pub(crate) fn invalid(group: &str, kind: &str, name: &str, causes: &[Cause]) -> Self {
        let qualified = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
        let problems: Vec<String> = causes.iter().map(Cause::to_string).collect();
        let problems = match problems.as_slice() {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let message = format!("{qualified} \"{name}\" is invalid: {problems}");
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message)
            .about(GroupResource { group, plural: kind }, name)
            .caused_by(causes)
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", message)
    }

    /// The request is well formed but cannot be applied to this object.
    pub(crate) fn unprocessable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message)
    }

    pub(crate) fn forbidden(resource: GroupResource<'_>, name: &str, why: &str, causes: &[Cause]) -> Self {
        let message = format!("{resource} \"{name}\" is forbidden: {why}");
        Self::new(StatusCode::FORBIDDEN, "Forbidden", message).about(resource, name).caused_by(causes)
    }

    /// The history no longer reaches back to the requested version.
    pub(crate) fn expired(message: impl Into<String>) -> Self {
        Self::new(StatusCode::GONE, "Expired", message)
    }

    /// The history no longer reaches back to the first page. `token` continues with the current objects.
    pub(crate) fn expired_page(token: String) -> Self {
        let mut error = Self::expired(
            "The provided continue parameter is too old to display a consistent list result. You can start a \
             new list without the continue parameter, or use the continue token in this response to retrieve \
             the remainder of the results. Continuing with the provided token results in an inconsistent \
             list - objects that were created, modified, or deleted between the time the first chunk was \
             returned and now may show up in the list.",
        );
        error.0.continue_token = Some(token);
        error
    }

    /// The client has seen a newer state than this server has.
    pub(crate) fn too_large_resource_version(requested: u64, current: u64) -> Self {
        let message = format!("Too large resource version: {requested}, current: {current}");
        let cause = Cause::new("ResourceVersionTooLarge", "", "Too large resource version");
        let mut error = Self::new(StatusCode::GATEWAY_TIMEOUT, "Timeout", message).caused_by(&[cause]);
        error.0.details.insert("retryAfterSeconds".into(), 1.into());
        error.0.retry_after_seconds = Some(1);
        error
    }

    pub(crate) fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message)
    }

    pub(crate) fn unsupported_media_type(accepted: &[&str]) -> Self {
        let accepted = accepted.join(", ");
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {accepted}"
        );
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", message)
    }

    pub(crate) fn not_acceptable(served: &[&str]) -> Self {
        let message = format!("only the following media types are accepted: {}", served.join(", "));
        Self::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message)
    }

    pub(crate) fn body_too_large(limit: usize) -> Self {
        let message = format!("Request entity too large: limit is {limit}");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", message)
    }

    /// A fault of this server, not of the request.
    pub(crate) fn internal(message: impl std::fmt::Display) -> Self {
        let message = format!("Internal error occurred: {message}");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", message)
    }

    /// The HTTP status, which is also the `code` of the document.
    pub(crate) fn code(&self) -> StatusCode {
        self.0.code
    }

    /// The `Status` document.
    pub(crate) fn to_json(&self) -> Value {
        let failure = &self.0;
        let mut metadata = Map::new();
        if let Some(token) = &failure.continue_token {
            metadata.insert("continue".into(), token.as_str().into());
        }
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": metadata,
            "status": "Failure",
            "message": failure.message,
            "reason": failure.reason,
            "code": failure.code.as_u16(),
        });
        if !failure.details.is_empty() {
            set(&mut status, "details", Value::Object(failure.details.clone()));
        }
        status
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = answer::json_with_status(self.code(), self.to_json().to_string());
        if let Some(seconds) = self.0.retry_after_seconds {
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        response
    }
}

impl std::fmt::Display for GroupResource<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.group {
            "" => f.write_str(self.plural),
            group => write!(f, "{}.{group}", self.plural),
        }
    }
}
