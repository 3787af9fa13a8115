//! The body of a request: read within a limit, and only as what it claims to be.

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderMap, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde_json::Value;

use super::ApiRequest;
use crate::{
    object::Object,
    protobuf,
    registry::Resource,
    schema::{self, Misfit},
    status::{ApiError, ApiResult, Cause},
};

/// The largest body, as kube-apiserver's.
const LIMIT: usize = 3 * 1024 * 1024;

/// # Errors
/// 413 beyond 3 MiB; 400 when the client breaks off.
pub(super) async fn read(body: Body) -> ApiResult<Bytes> {
    match Limited::new(body, LIMIT).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(ApiError::body_too_large(LIMIT)),
        Err(error) => Err(ApiError::bad_request(format!("the body could not be read: {error}"))),
    }
}

/// The media type of the body, in lower case and without parameters; empty when it is not said.
pub(super) fn media_type(headers: &HeaderMap) -> String {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// The document in the body, sent as JSON or protobuf.
///
/// # Errors
/// 415 when it claims to be something else, 400 when it is not what it claims.
pub(super) fn document(headers: &HeaderMap, body: &Bytes) -> ApiResult<Value> {
    match media_type(headers).as_str() {
        "" | "application/json" | "*/*" => parse(body),
        protobuf::MEDIA_TYPE => {
            protobuf::decode(body).map_err(|error| ApiError::bad_request(error.to_string()))
        }
        _ => Err(ApiError::unsupported_media_type(&["application/json", protobuf::MEDIA_TYPE])),
    }
}

pub(super) fn parse(body: &Bytes) -> ApiResult<Value> {
    let problem = |error| ApiError::bad_request(format!("the body is no valid JSON: {error}"));
    serde_json::from_slice(body).map_err(problem)
}

/// The body as a JSON object.
///
/// # Errors
/// 400 when it is anything else.
pub(super) fn fields(body: &Bytes) -> ApiResult<Value> {
    match parse(body)? {
        document @ Value::Object(_) => Ok(document),
        _ => Err(ApiError::bad_request("the body must be a JSON object")),
    }
}

/// An object of this resource, its fields not looked at.
///
/// # Errors
/// 400 when the document is not an object of this kind and version.
fn untyped(resource: &Resource, document: Value) -> ApiResult<Object> {
    let kind = &resource.kind;
    let api_version = resource.api_version();
    let object = Object::from_value(document);
    let object = object.ok_or_else(|| {
        ApiError::bad_request(format!("{kind} in version {api_version:?} cannot be handled: no JSON object"))
    })?;
    if object.kind() != kind || object.api_version() != api_version {
        let (found_version, found) = (object.api_version(), object.kind());
        return Err(ApiError::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): it says apiVersion {found_version:?} \
             and kind {found:?}, want {api_version:?} and {kind:?}"
        )));
    }
    Ok(object)
}

// === impl ApiRequest ===

impl ApiRequest {
    /// An object of the request's resource. Fields that its kind does not have are dropped, and
    /// refused or reported as `fieldValidation` asks.
    ///
    /// # Errors
    /// 400 when the document is not an object of this kind and version, or its fields are not of
    /// their types.
    pub(super) fn object(&self, mut document: Value) -> ApiResult<Object> {
        let strict = match self.query.get("fieldValidation") {
            Some("Strict") => true,
            None | Some("Warn" | "Ignore") => false,
            Some(other) => {
                let cause =
                    Cause::not_supported("fieldValidation", &other.into(), &["Ignore", "Strict", "Warn"]);
                return Err(ApiError::invalid("meta.k8s.io", "Options", "", &[cause]));
            }
        };
        let resource = &self.resource;
        // The type is checked first: fields are those of a kind.
        untyped(resource, document.clone())?;
        let misfit = schema::conform(&resource.api_version(), &resource.kind, &mut document);
        let kind = &resource.kind;
        let refuse = |problem: &str| {
            let version = &resource.version;
            ApiError::bad_request(format!(
                "{kind} in version {version:?} cannot be handled as a {kind}: {problem}"
            ))
        };
        match misfit {
            Ok(unknown) if strict && !unknown.is_empty() => {
                let unknown: Vec<String> =
                    unknown.iter().map(|path| format!("unknown field {path:?}")).collect();
                return Err(refuse(&format!("strict decoding error: {}", unknown.join(", "))));
            }
            Ok(unknown) if self.query.get("fieldValidation") != Some("Ignore") => self.warn(unknown),
            Ok(_) => {}
            Err(Misfit { path, expected, found }) => {
                return Err(refuse(&format!(
                    "json: cannot unmarshal {found} into field {path} of type {expected}"
                )));
            }
        }
        untyped(resource, document)
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
