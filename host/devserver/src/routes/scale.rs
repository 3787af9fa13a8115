//! The `scale` subresource: reads and sets the replicas of any resource that has them.

use axum::response::Response;
use http::Method;
use serde_json::{Value, json};

use super::{
    patch::{JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH},
    request::ApiRequest,
};
use crate::{
    answer,
    object::{Object, set},
    patch::{self, JsonPatch},
    registry::Scale,
    status::{ApiError, ApiResult, Cause},
};

pub(super) fn serve(request: &ApiRequest, method: &Method, scale: &Scale) -> ApiResult<Response> {
    request.view()?;
    let resource = &request.resource;
    let stored = request.stored()?;
    if *method == Method::GET {
        return Ok(answer(&stored.decode(resource), scale));
    }
    if *method != Method::PUT && *method != Method::PATCH {
        return Err(ApiError::method_not_allowed());
    }
    let updated = request.update(|current| {
        let wanted =
            if *method == Method::PUT { request.document()? } else { patched(request, of(current, scale))? };
        scaled(request, current, scale, &wanted)
    })?;
    Ok(answer(&updated.decode(resource), scale))
}

fn answer(object: &Object, scale: &Scale) -> Response {
    answer::json(of(object, scale).to_string())
}

/// The `Scale` document of an object.
fn of(object: &Object, scale: &Scale) -> Value {
    let replicas = |path: &[String]| object.at(path).cloned().filter(Value::is_i64).or(Some(0.into()));
    let selector = match &scale.selector {
        Some(path) => object.at(path).and_then(Value::as_str).map(str::to_owned),
        None => object.at(&["spec", "selector"]).map(selector_text),
    };
    let mut metadata = json!({});
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = object.metadata.get(field) {
            set(&mut metadata, field, value.clone());
        }
    }
    let mut status = json!({"replicas": replicas(&scale.status_replicas)});
    if let Some(selector) = selector {
        set(&mut status, "selector", selector);
    }
    json!({
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": metadata,
        "spec": {"replicas": replicas(&scale.spec_replicas)},
        "status": status,
    })
}

/// A label selector object as text; only `matchLabels` is written, not `matchExpressions`.
fn selector_text(selector: &Value) -> String {
    let labels = selector.get("matchLabels").unwrap_or(selector).as_object();
    let terms =
        labels.into_iter().flatten().filter_map(|(key, value)| Some(format!("{key}={}", value.as_str()?)));
    terms.collect::<Vec<_>>().join(",")
}

fn patched(request: &ApiRequest, mut current: Value) -> ApiResult<Value> {
    let document = request.json()?;
    match request.media_type().as_str() {
        JSON_PATCH => JsonPatch::parse(document)
            .and_then(|patch| patch.apply(&current))
            .map_err(|error| ApiError::bad_request(error.to_string())),
        MERGE_PATCH | STRATEGIC_PATCH => {
            patch::merge(&mut current, &document);
            Ok(current)
        }
        _ => Err(ApiError::unsupported_media_type(&[JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH])),
    }
}

/// A copy of the object with the replicas of the `Scale` in `wanted`.
fn scaled(request: &ApiRequest, current: &Object, scale: &Scale, wanted: &Value) -> ApiResult<Object> {
    let version = wanted.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default();
    if !version.is_empty() && version != current.resource_version() {
        return Err(ApiError::stale(&request.resource, current.name()));
    }
    let replicas = wanted.pointer("/spec/replicas").cloned().unwrap_or(Value::from(0));
    if !replicas.as_i64().is_some_and(|count| (0..=i64::from(i32::MAX)).contains(&count)) {
        let cause = Cause::invalid("spec.replicas", replicas, "must be a whole number of at least 0");
        return Err(ApiError::invalid("autoscaling", "Scale", current.name(), &[cause]));
    }
    let mut object = current.clone();
    object.set_at(&scale.spec_replicas, replicas);
    Ok(object)
}
