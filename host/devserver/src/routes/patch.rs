//! PATCH: changes an object; the `Content-Type` selects the kind of patch.

use axum::response::Response;
use http::StatusCode;
use serde_json::Value;

use super::request::ApiRequest;
use crate::{
    managed_fields::{self, Writer},
    object::Object,
    patch::{self, JsonPatch, PatchError},
    registry::Resource,
    status::{ApiError, ApiResult, Cause},
    write::Part,
};

pub(super) const JSON_PATCH: &str = "application/json-patch+json";
pub(super) const MERGE_PATCH: &str = "application/merge-patch+json";
pub(super) const STRATEGIC_PATCH: &str = "application/strategic-merge-patch+json";
/// Server-side apply.
const APPLY: &str = "application/apply-patch+yaml";

/// A parsed patch.
enum Patch {
    Json(JsonPatch),
    Merge(Value),
    Strategic(Value),
}

pub(super) fn patch(request: &ApiRequest) -> ApiResult<Response> {
    if request.media_type() == APPLY {
        return apply(request);
    }
    let view = request.view()?;
    let patch = Patch::read(request)?;
    let patched = request.update(|current| {
        let patched = request.object(patch.apply(current.clone().into_value())?)?;
        check_identity(request, current, patched)
    })?;
    Ok(request.answer(view, &patched))
}

/// Refuses a patch that makes another object of the present one. Only a PUT takes the UID as a precondition.
fn check_identity(request: &ApiRequest, current: &Object, patched: Object) -> ApiResult<Object> {
    let (found, name) = (patched.name(), request.name());
    if !found.is_empty() && found != name {
        return Err(ApiError::bad_request(format!(
            "the name of the object ({found}) does not match the name on the URL ({name})"
        )));
    }
    let uid = patched.uid();
    if !uid.is_empty() && uid != current.uid() {
        let cause = Cause::invalid("metadata.uid", uid, "field is immutable");
        let Resource { group, kind, .. } = &*request.resource;
        return Err(ApiError::invalid(group, kind, name, &[cause]));
    }
    Ok(patched)
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
                Err(ApiError::unsupported_media_type(&[JSON_PATCH, MERGE_PATCH, APPLY]))
            }
            _ => Err(ApiError::unsupported_media_type(&[JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY])),
        }
    }

    fn apply(&self, mut current: Value) -> ApiResult<Value> {
        match self {
            Self::Json(patch) => patch.apply(&current).map_err(|error| refuse(&error)),
            Self::Merge(document) => {
                patch::merge(&mut current, document);
                Ok(current)
            }
            Self::Strategic(document) => {
                patch::strategic_merge(&current, document).map_err(|error| refuse(&error))
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

/// Creates the object or applies the configuration to the existing one. The body must be JSON, which is also
/// valid YAML and what clients send; other YAML is refused.
fn apply(request: &ApiRequest) -> ApiResult<Response> {
    let view = request.view()?;
    let resource = &request.resource;
    let config = written_part(request, configuration(request)?);
    let manager = request.query.get("fieldManager").ok_or_else(|| {
        let cause = Cause::required("fieldManager", "is required for apply patch");
        ApiError::invalid("meta.k8s.io", "PatchOptions", "", &[cause])
    })?;
    let force = request.query.flag("force")? == Some(true);
    let writer = Writer {
        manager,
        api_version: &resource.api_version(),
        subresource: request.target.subresource.as_deref().unwrap_or_default(),
        layout: resource.layout(),
    };
    if request.collection().get(&request.key()).is_none() && request.part() != Part::Status {
        if !config.uid().is_empty() {
            let why = format!(
                "uid mismatch: the provided object specified uid {}, and no existing object was found",
                config.uid()
            );
            return Err(ApiError::conflict(resource, request.name(), &why));
        }
        match request.create(managed_fields::apply_new(&config, writer)) {
            // Another client created the object in the meantime, so apply to that object.
            Err(error) if error.code() == StatusCode::CONFLICT => {}
            created => return Ok(request.answer_created(view, &*created?)),
        }
    }
    let applied = request.update_as(None, |live| {
        let applied = managed_fields::apply(live, &config, writer, force);
        check_identity(request, live, applied.map_err(|conflicts| conflicts.to_error())?)
    })?;
    Ok(request.answer(view, &applied))
}

/// The configuration in the body of an apply.
fn configuration(request: &ApiRequest) -> ApiResult<Object> {
    let mut document = request.fields()?;
    drop_nulls(&mut document);
    let mut config = request.object(document)?;
    if config.metadata.contains_key("managedFields") {
        return Err(ApiError::bad_request("metadata.managedFields must be nil"));
    }
    let name = request.name();
    if config.name().is_empty() {
        config.metadata.insert("name".into(), name.into());
    } else if config.name() != name {
        let found = config.name();
        return Err(ApiError::bad_request(format!(
            "name in URL does not match name in PATCH body: {name}, {found}"
        )));
    }
    Ok(config)
}

/// The part of a configuration that the endpoint writes. The other fields stay as they are, so the manager must not own them, and they
/// must not conflict with another manager.
fn written_part(request: &ApiRequest, mut config: Object) -> Object {
    match request.part() {
        Part::Status => {
            let is_identity = |field: &str| matches!(field, "name" | "namespace" | "uid" | "resourceVersion");
            config.metadata.retain(|field, _| is_identity(field));
            config.fields.retain(|field, _| matches!(field.as_str(), "apiVersion" | "kind" | "status"));
        }
        Part::Main if request.resource.status => {
            config.fields.remove("status");
        }
        Part::Main | Part::Whole => {}
    }
    config
}

/// Removes fields that are `null`: a configuration does not mention them.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}
