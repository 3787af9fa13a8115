//! PATCH: changes an object; the `Content-Type` selects the kind of patch.

use axum::response::Response;
use serde_json::Value;

use super::{apply, request::ApiRequest};
use crate::{
    negotiate,
    patch::{self, JsonPatch, PatchError},
    rest,
    status::{ApiError, ApiResult},
};

const JSON_PATCH: &str = "application/json-patch+json";
const MERGE_PATCH: &str = "application/merge-patch+json";
const STRATEGIC_PATCH: &str = "application/strategic-merge-patch+json";

/// A parsed patch.
enum Patch {
    Json(JsonPatch),
    Merge(Value),
    Strategic(Value),
}

pub(super) fn patch(request: &ApiRequest, name: &str) -> ApiResult<Response> {
    if request.media_type() == apply::MEDIA_TYPE {
        return apply::apply(request, name);
    }
    let view = negotiate::view(&request.headers)?;
    let patch = Patch::read(request)?;
    let (key, options) = (request.key(name), request.write_options(request.part())?);
    let patched = rest::update(&request.api, &request.resource, &key, &options, |current| {
        request.object(patch.apply(&current.clone().into_value())?)
    })?;
    Ok(request.answer(view, &patched))
}

// === impl Patch ===

impl Patch {
    fn read(request: &ApiRequest) -> ApiResult<Self> {
        match request.media_type().as_str() {
            JSON_PATCH => JsonPatch::parse(request.json()?).map(Self::Json).map_err(|error| refuse(&error)),
            MERGE_PATCH => request.fields().map(Self::Merge),
            // kube-apiserver refuses strategic patches of custom resources too: they have no merge keys.
            STRATEGIC_PATCH if !request.resource.custom => request.fields().map(Self::Strategic),
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
