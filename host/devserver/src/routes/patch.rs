//! PATCH: by content type.

use axum::response::Response;
use serde_json::Value;

use super::{ApiRequest, apply, body, json};
use crate::{
    encode, negotiate,
    patch::{self, JsonPatch, PatchError},
    rest::{self, WriteOptions},
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
    if body::media_type(&request.headers) == apply::MEDIA_TYPE {
        return apply::apply(request, name);
    }
    let view = negotiate::view(&request.headers)?;
    let resource = &request.resource;
    let patch = Patch::read(request)?;
    let key = ObjectKey::new(request.namespace(), name);
    let dry_run = request.query.dry_run()?;
    let options = WriteOptions { part: request.part(), dry_run, manager: Some(request.manager()) };
    let patched = rest::update(&request.api, resource, &key, &options, |current| {
        request.object(patch.apply(&current.clone().into_value())?)
    })?;
    Ok(json(encode::object(resource, view, &patched)))
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
            _ if request.resource.custom => {
                Err(ApiError::unsupported_media_type(&[JSON_PATCH, MERGE_PATCH, apply::MEDIA_TYPE]))
            }
            _ => Err(ApiError::unsupported_media_type(&[
                JSON_PATCH,
                MERGE_PATCH,
                STRATEGIC_PATCH,
                apply::MEDIA_TYPE,
            ])),
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
