//! DELETE: deletes one object, or every object that matches the selectors.

use axum::response::Response;
use serde_json::{Value, json as value};

use super::request::ApiRequest;
use crate::{
    answer,
    encode::{self, ListMeta},
    negotiate,
    object::set,
    rest::{self, DeleteOptions, Deleted},
    status::{ApiError, ApiResult},
};

pub(super) fn delete(request: &ApiRequest, name: &str) -> ApiResult<Response> {
    let view = negotiate::view(&request.headers)?;
    let resource = &request.resource;
    let options = options(request)?;
    let key = request.key(name);
    let body = match rest::delete(&request.api, resource, &key, &options)? {
        Deleted { gone: false, object } => encode::object(resource, view, &object),
        Deleted { gone: true, object } => {
            let mut details = value!({"name": name, "kind": resource.plural, "uid": object.uid});
            if !resource.group.is_empty() {
                set(&mut details, "group", resource.group.as_str());
            }
            let status = value!({
                "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details,
            });
            status.to_string().into()
        }
    };
    Ok(answer::json(body))
}

/// Answers with a list of the deleted objects in their last states.
pub(super) fn delete_collection(request: &ApiRequest) -> ApiResult<Response> {
    let view = negotiate::view(&request.headers)?;
    let resource = &request.resource;
    let options = options(request)?;
    let filter = request.query.filter(resource, request.namespace.as_deref())?;
    let collection = request.collection();
    let snapshot = collection.snapshot(request.namespace.as_deref());
    let mut deleted = Vec::new();
    for object in snapshot.objects.iter().filter(|object| filter.matches(object)) {
        match rest::delete(&request.api, resource, &object.key, &options) {
            Ok(Deleted { object, .. }) => deleted.push(object),
            // Another request deleted the object first.
            Err(error) if error.code() == http::StatusCode::NOT_FOUND => {}
            Err(error) => return Err(error),
        }
    }
    let meta = ListMeta { rv: request.api.storage.revision().current(), ..ListMeta::default() };
    Ok(answer::json(encode::list(resource, view, &meta, deleted.iter().map(|object| &**object))))
}

/// The options of a deletion: from the body, and from the query for what the body leaves out.
fn options(request: &ApiRequest) -> ApiResult<DeleteOptions> {
    let document = match request.body.is_empty() {
        true => Value::Null,
        false => request.document()?,
    };
    if !matches!(document, Value::Null | Value::Object(_)) {
        return Err(ApiError::bad_request("the body of a deletion must be DeleteOptions"));
    }
    let text = |pointer: &str| document.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let policy =
        text("/propagationPolicy").or_else(|| request.query.get("propagationPolicy").map(str::to_owned));
    let orphan = document.get("orphanDependents").and_then(Value::as_bool);
    let dry_run = document.get("dryRun").and_then(Value::as_array).is_some_and(|runs| !runs.is_empty());
    Ok(DeleteOptions {
        propagation: rest::Propagation::parse(policy.as_deref(), orphan)?,
        uid: text("/preconditions/uid"),
        resource_version: text("/preconditions/resourceVersion"),
        dry_run: dry_run || request.query.dry_run()?,
    })
}
