//! PUT: of an object, of its status, and `finalize` of a namespace.

use axum::response::Response;
use serde_json::Value;

use super::{ApiRequest, body, json};
use crate::{
    encode, negotiate,
    object::Object,
    rest::{self, Part, WriteOptions},
    status::{ApiError, ApiResult},
    storage::ObjectKey,
};

pub(super) fn update(request: &ApiRequest, name: &str) -> ApiResult<Response> {
    let view = negotiate::view(&request.headers)?;
    let resource = &request.resource;
    let object = request.object(body::document(&request.headers, &request.body)?)?;
    check_name(&object, name)?;
    let key = ObjectKey::new(request.namespace(), name);
    let dry_run = request.query.dry_run()?;
    let options = WriteOptions { part: request.part(), dry_run, manager: Some(request.manager()) };
    let updated = rest::update(&request.api, resource, &key, &options, |_| Ok(object.clone()))?;
    Ok(json(encode::object(resource, view, &updated)))
}

/// `PUT /api/v1/namespaces/{name}/finalize` sets `spec.finalizers`, and nothing else.
pub(super) fn finalize(request: &ApiRequest, name: &str) -> ApiResult<Response> {
    let resource = &request.resource;
    let object = request.object(body::document(&request.headers, &request.body)?)?;
    check_name(&object, name)?;
    let finalizers = object.at(&["spec", "finalizers"]).cloned().unwrap_or_else(|| Value::Array(Vec::new()));
    let key = ObjectKey::new("", name);
    let dry_run = request.query.dry_run()?;
    let options = WriteOptions { part: Part::Main, dry_run, manager: Some(request.manager()) };
    let updated = rest::update(&request.api, resource, &key, &options, |current| {
        let mut changed = current.clone();
        changed.set_at(&["spec", "finalizers"], finalizers.clone());
        Ok(changed)
    })?;
    Ok(json(encode::object(resource, negotiate::view(&request.headers)?, &updated)))
}

fn check_name(object: &Object, name: &str) -> ApiResult<()> {
    match object.name() {
        found if found == name => Ok(()),
        "" => Err(ApiError::bad_request("name must be provided")),
        found => Err(ApiError::bad_request(format!(
            "the name of the object ({found}) does not match the name on the URL ({name})"
        ))),
    }
}
