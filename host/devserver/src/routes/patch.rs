//! PATCH: by content type.

use axum::response::Response;
use serde_json::Value;

use super::{ApiRequest, body, json};
use crate::{
    encode, negotiate,
    object::Object,
    patch::{self, JsonPatch, PatchError},
    registry::Resource,
    rest::{self, Part},
    status::{ApiError, ApiResult},
    storage::ObjectKey,
};

const JSON_PATCH: &str = "application/json-patch+json";
const MERGE_PATCH: &str = "application/merge-patch+json";
const STRATEGIC_PATCH: &str = "application/strategic-merge-patch+json";

/// A patch that was read: how it changes an object.
enum Patch {
    Json(JsonPatch),
    Merge(Value),
    Strategic(Value),
}

pub(super) fn patch(request: &ApiRequest, name: &str) -> ApiResult<Response> {
    let view = negotiate::view(&request.headers)?;
    let resource = &request.resource;
    let patch = Patch::read(request)?;
    let part = if request.is_status() { Part::Status } else { Part::Main };
    let key = ObjectKey::new(request.namespace(), name);
    let dry_run = request.query.dry_run()?;
    let patched = rest::update(&request.api, resource, &key, part, dry_run, |current| {
        patched_object(resource, patch.apply(&current.clone().into_value())?)
    })?;
    Ok(json(encode::object(resource, view, &patched)))
}

/// What a patch may make of an object is again an object of the same kind.
pub(super) fn patched_object(resource: &Resource, document: Value) -> ApiResult<Object> {
    body::object(resource, document)
}

// === impl Patch ===

impl Patch {
    fn read(request: &ApiRequest) -> ApiResult<Self> {
        match body::media_type(&request.headers).as_str() {
            JSON_PATCH => {
                JsonPatch::parse(body::parse(&request.body)?).map(Self::Json).map_err(|error| refuse(&error))
            }
            MERGE_PATCH => body::fields(&request.body).map(Self::Merge),
            // Custom resources have no merge keys, so kube-apiserver takes none for them either.
            STRATEGIC_PATCH if !request.resource.custom => body::fields(&request.body).map(Self::Strategic),
            _ if request.resource.custom => Err(ApiError::unsupported_media_type(&[JSON_PATCH, MERGE_PATCH])),
            _ => Err(ApiError::unsupported_media_type(&[JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH])),
        }
    }

    fn apply(&self, current: &Value) -> ApiResult<Value> {
        match self {
            Self::Json(patch) => patch.apply(current).map_err(|error| refuse(&error)),
            Self::Merge(document) => {
                let mut patched = current.clone();
                patch::merge(&mut patched, document);
                Ok(patched)
            }
            Self::Strategic(document) => {
                patch::strategic_merge(current, document).map_err(|error| refuse(&error))
            }
        }
    }
}

fn refuse(error: &PatchError) -> ApiError {
    match error {
        PatchError::Malformed(_) => ApiError::bad_request(error.to_string()),
        PatchError::Unfit(_) => ApiError::unprocessable(error.to_string()),
    }
}
