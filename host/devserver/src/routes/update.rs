//! PUT: replaces an object or its status; `finalize` of a namespace.

use axum::response::Response;
use serde_json::Value;

use super::request::ApiRequest;
use crate::{
    negotiate,
    object::Object,
    rest::{self, Part},
    status::{ApiError, ApiResult},
};

pub(super) fn update(request: &ApiRequest, name: &str) -> ApiResult<Response> {
    let object = read(request, name)?;
    write(request, name, request.part(), |_| object.clone())
}

/// `PUT /api/v1/namespaces/{name}/finalize` sets `spec.finalizers` and no other field.
pub(super) fn finalize(request: &ApiRequest, name: &str) -> ApiResult<Response> {
    let object = read(request, name)?;
    let finalizers = object.at(&["spec", "finalizers"]).cloned().unwrap_or_else(|| Value::Array(Vec::new()));
    write(request, name, Part::Main, |current| {
        let mut changed = current.clone();
        changed.set_at(&["spec", "finalizers"], finalizers.clone());
        changed
    })
}

/// The object in the body.
///
/// # Errors
/// 400 if it is not an object of this resource or has another name than the path.
fn read(request: &ApiRequest, name: &str) -> ApiResult<Object> {
    let object = request.object(request.document()?)?;
    match object.name() {
        found if found == name => Ok(object),
        "" => Err(ApiError::bad_request("name must be provided")),
        found => Err(ApiError::bad_request(format!(
            "the name of the object ({found}) does not match the name on the URL ({name})"
        ))),
    }
}

fn write(
    request: &ApiRequest,
    name: &str,
    part: Part,
    change: impl Fn(&Object) -> Object,
) -> ApiResult<Response> {
    let view = negotiate::view(&request.headers)?;
    let (key, options) = (request.key(name), request.write_options(part)?);
    let updated =
        rest::update(&request.api, &request.resource, &key, &options, |current| Ok(change(current)))?;
    Ok(request.answer(view, &updated))
}
