//! Request bodies: read up to a limit and parsed by their `Content-Type`.

use axum::body::Body;
use bytes::Bytes;
use http::header;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde_json::Value;

use super::request::ApiRequest;
use crate::{
    object::{Object, text_of},
    protobuf,
    registry::Resource,
    schema,
    status::{ApiError, ApiResult, Cause},
};

/// The largest body in bytes, as in kube-apiserver.
const LIMIT: usize = 3 * 1024 * 1024;

/// Reads the whole body.
///
/// # Errors
/// 413 if it is larger than 3 MiB, 400 if the client breaks off.
pub(super) async fn read(body: Body) -> ApiResult<Bytes> {
    match Limited::new(body, LIMIT).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(ApiError::body_too_large(LIMIT)),
        Err(error) => Err(ApiError::bad_request(format!("the body could not be read: {error}"))),
    }
}

/// Adds the kind and the version if they are missing or empty, as kube-apiserver does for built-in resources. An object of a custom resource has
/// to name both.
fn add_kind(resource: &Resource, document: &mut Value) {
    let Some(fields) = document.as_object_mut().filter(|_| !resource.custom) else { return };
    for (field, value) in [("apiVersion", resource.api_version()), ("kind", resource.kind.clone())] {
        if fields.get(field).is_none_or(|found| found == "") {
            fields.insert(field.to_owned(), Value::String(value));
        }
    }
}

/// Checks that the document is an object of this kind and version.
fn check_kind(resource: &Resource, document: &Value) -> ApiResult<()> {
    let (kind, api_version) = (&resource.kind, resource.api_version());
    if !document.is_object() {
        return Err(ApiError::bad_request(format!(
            "{kind} in version {api_version:?} cannot be handled: not a JSON object"
        )));
    }
    let (found_version, found) = (text_of(document, "apiVersion"), text_of(document, "kind"));
    if found == kind && found_version == api_version {
        return Ok(());
    }
    Err(ApiError::bad_request(format!(
        "the object provided is unrecognized (must be of type {kind}): the body has apiVersion {found_version:?} \
         and kind {found:?}, want {api_version:?} and {kind:?}"
    )))
}

// === impl ApiRequest ===

impl ApiRequest {
    /// The media type of the body in lower case, without parameters; empty if there is no `Content-Type`.
    pub(super) fn media_type(&self) -> String {
        let value = self.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        value.unwrap_or_default().split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
    }

    /// The document in the body, which is JSON or protobuf.
    ///
    /// # Errors
    /// 415 for another media type, 400 if the body is not valid.
    pub(super) fn document(&self) -> ApiResult<Value> {
        match self.media_type().as_str() {
            "" | "application/json" | "*/*" => self.json(),
            protobuf::MEDIA_TYPE => {
                protobuf::decode(&self.body).map_err(|error| ApiError::bad_request(error.to_string()))
            }
            _ => Err(ApiError::unsupported_media_type(&["application/json", protobuf::MEDIA_TYPE])),
        }
    }

    /// The body parsed as JSON whatever its media type, or a 400.
    pub(super) fn json(&self) -> ApiResult<Value> {
        let problem = |error| ApiError::bad_request(format!("the body is not valid JSON: {error}"));
        serde_json::from_slice(&self.body).map_err(problem)
    }

    /// The body parsed as a JSON object, or a 400.
    pub(super) fn fields(&self) -> ApiResult<Value> {
        match self.json()? {
            document @ Value::Object(_) => Ok(document),
            _ => Err(ApiError::bad_request("the body must be a JSON object")),
        }
    }

    /// The body as an object of the requested resource, whose kind and version it may leave out.
    ///
    /// # Errors
    /// As for [`document`](Self::document) and [`object`](Self::object).
    pub(super) fn sent_object(&self) -> ApiResult<Object> {
        let mut document = self.document()?;
        add_kind(&self.resource, &mut document);
        self.object(document)
    }

    /// The document as an object of the requested resource. Fields that the kind does not have are removed;
    /// `fieldValidation` decides whether they are also refused or reported as warnings.
    ///
    /// # Errors
    /// 400 if the document is not an object of this kind and version, or if a field has the wrong type.
    pub(super) fn object(&self, mut document: Value) -> ApiResult<Object> {
        let validation = self.query.get("fieldValidation").unwrap_or("Warn");
        if !matches!(validation, "Strict" | "Warn" | "Ignore") {
            let allowed = ["Ignore", "Strict", "Warn"];
            let cause = Cause::not_supported("fieldValidation", validation, &allowed);
            return Err(ApiError::invalid("meta.k8s.io", "Options", "", &[cause]));
        }
        let resource = &self.resource;
        check_kind(resource, &document)?;
        let (kind, version) = (&resource.kind, &resource.version);
        let refuse = |problem: String| {
            ApiError::bad_request(format!(
                "{kind} in version {version:?} cannot be handled as a {kind}: {problem}"
            ))
        };
        let unknown = schema::conform(&resource.api_version(), kind, &mut document)
            .map_err(|misfit| refuse(misfit.to_string()))?;
        if validation == "Strict" && !unknown.is_empty() {
            let unknown: Vec<String> = unknown.iter().map(|path| format!("unknown field {path:?}")).collect();
            return Err(refuse(format!("strict decoding error: {}", unknown.join(", "))));
        }
        if validation == "Warn" {
            self.warn(unknown);
        }
        Object::from_value(document).ok_or_else(|| ApiError::bad_request("metadata must be a JSON object"))
    }

    fn warn(&self, unknown: Vec<String>) {
        let mut warnings = self.warnings.lock();
        for path in unknown {
            let warning = format!("unknown field \\\"{path}\\\"");
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
    }
}
