//! Failures that a client sees: `Status` documents with the words of kube-apiserver.

use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{answer, registry::Resource};

/// The result of a request handler.
pub(crate) type ApiResult<T> = Result<T, ApiError>;

/// A failed request. It becomes a `Status` document with the code as the HTTP status, or the object of an `ERROR`
/// event if it happens inside a watch.
#[derive(Debug, Clone)]
pub(crate) struct ApiError {
    code: StatusCode,
    document: Value,
}

/// An entry of `details.causes`: a field and what is wrong with it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Cause {
    reason: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    field: String,
    message: String,
}

// === impl ApiError ===

impl ApiError {
    fn new(code: StatusCode, reason: &'static str, message: impl Into<String>) -> Self {
        let document = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": message.into(),
            "reason": reason,
            "code": code.as_u16(),
        });
        Self { code, document }
    }

    /// Sets a field in the `metadata` or the `details`.
    fn with(mut self, place: &str, field: &str, value: impl Into<Value>) -> Self {
        let document = &mut self.document;
        let fields = &mut document[place];
        fields[field] = value.into();
        self
    }

    fn about(self, group: &str, kind: &str, name: &str) -> Self {
        let given = [("name", name), ("group", group), ("kind", kind)].into_iter();
        let given = given.filter(|(_, text)| !text.is_empty());
        given.fold(self, |error, (field, text)| error.with("details", field, text))
    }

    fn caused_by(self, causes: &[Cause]) -> Self {
        if causes.is_empty() { self } else { self.with("details", "causes", json!(causes)) }
    }

    /// A failure of one object. `text` follows its name in the message.
    fn of_object(
        (code, reason): (StatusCode, &'static str),
        resource: &Resource,
        name: &str,
        text: &str,
    ) -> Self {
        let message = format!("{} \"{name}\" {text}", resource.qualified());
        Self::new(code, reason, message).about(&resource.group, &resource.plural, name)
    }

    pub(crate) fn not_found(resource: &Resource, name: &str) -> Self {
        Self::of_object((StatusCode::NOT_FOUND, "NotFound"), resource, name, "not found")
    }

    /// The server has nothing at this path.
    pub(crate) fn unknown_path() -> Self {
        Self::new(StatusCode::NOT_FOUND, "NotFound", "the server could not find the requested resource")
    }

    pub(crate) fn already_exists(resource: &Resource, name: &str) -> Self {
        Self::of_object((StatusCode::CONFLICT, "AlreadyExists"), resource, name, "already exists")
    }

    /// The write is based on an older state of the object.
    pub(crate) fn stale(resource: &Resource, name: &str) -> Self {
        let why =
            "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(resource, name, why)
    }

    pub(crate) fn conflict(resource: &Resource, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {} \"{name}\": {why}", resource.qualified());
        Self::new(StatusCode::CONFLICT, "Conflict", message).about(&resource.group, &resource.plural, name)
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
            .about(group, kind, name)
            .caused_by(causes)
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", message)
    }

    /// The request is well formed but cannot be applied to this object.
    pub(crate) fn unprocessable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message)
    }

    pub(crate) fn forbidden(resource: &Resource, name: &str, why: &str, cause: Cause) -> Self {
        let text = format!("is forbidden: {why}");
        Self::of_object((StatusCode::FORBIDDEN, "Forbidden"), resource, name, &text).caused_by(&[cause])
    }

    /// The history no longer reaches back to the requested version.
    pub(crate) fn expired(message: impl Into<String>) -> Self {
        Self::new(StatusCode::GONE, "Expired", message)
    }

    /// The history no longer reaches back to the first page. `token` continues with the current objects.
    pub(crate) fn expired_page(token: String) -> Self {
        let error = Self::expired(
            "The provided continue parameter is too old to display a consistent list result. You can start a \
             new list without the continue parameter, or use the continue token in this response to retrieve \
             the remainder of the results. Continuing with the provided token results in an inconsistent \
             list - objects that were created, modified, or deleted between the time the first chunk was \
             returned and now may show up in the list.",
        );
        error.with("metadata", "continue", token)
    }

    /// The client has seen a newer state than this server has.
    pub(crate) fn too_large_resource_version(requested: u64, current: u64) -> Self {
        let message = format!("Too large resource version: {requested}, current: {current}");
        let cause = Cause::new("ResourceVersionTooLarge", "", "Too large resource version");
        let error = Self::new(StatusCode::GATEWAY_TIMEOUT, "Timeout", message).caused_by(&[cause]);
        error.with("details", "retryAfterSeconds", 1)
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

    /// The client accepts no format of the server.
    pub(crate) fn not_acceptable() -> Self {
        let message = "only the following media types are accepted: application/json";
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
        self.code
    }

    /// The `Status` document.
    pub(crate) fn document(&self) -> &Value {
        &self.document
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = answer::json_with_status(self.code, self.document.to_string());
        let seconds = self.document.pointer("/details/retryAfterSeconds").and_then(Value::as_u64);
        response.headers_mut().extend(seconds.map(|seconds| (header::RETRY_AFTER, seconds.into())));
        response
    }
}

// === impl Cause ===

impl Cause {
    pub(crate) fn new(reason: &'static str, field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { reason, field: field.into(), message: message.into() }
    }

    /// The value of a field breaks a rule.
    pub(crate) fn invalid(field: impl Into<String>, value: impl Serialize, why: &str) -> Self {
        let value = serde_json::to_value(value).unwrap_or_default();
        Self::new("FieldValueInvalid", field, format!("Invalid value: {value}: {why}"))
    }

    /// A required field is missing.
    pub(crate) fn required(field: impl Into<String>, why: &str) -> Self {
        let colon = if why.is_empty() { "" } else { ": " };
        Self::new("FieldValueRequired", field, format!("Required value{colon}{why}"))
    }

    /// The field, or a change of the field, is not allowed.
    pub(crate) fn forbidden(field: impl Into<String>, why: &str) -> Self {
        Self::new("FieldValueForbidden", field, format!("Forbidden: {why}"))
    }

    /// The value has more bytes than allowed.
    pub(crate) fn too_long(field: &str, limit: usize) -> Self {
        Self::new("FieldValueTooLong", field, format!("Too long: may not be more than {limit} bytes"))
    }

    /// The value is not one of the allowed values.
    pub(crate) fn not_supported(field: &str, value: &str, allowed: &[&str]) -> Self {
        let allowed: Vec<String> = allowed.iter().map(|v| format!("\"{v}\"")).collect();
        let (value, allowed) = (Value::from(value), allowed.join(", "));
        let message = format!("Unsupported value: {value}: supported values: {allowed}");
        Self::new("FieldValueNotSupported", field, message)
    }
}

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let colon = if self.field.is_empty() { "" } else { ": " };
        write!(f, "{}{colon}{}", self.field, self.message)
    }
}
