//! POST.

use axum::response::Response;
use http::StatusCode;

use super::{ApiRequest, body, json};
use crate::{encode, negotiate, rest, status::ApiResult};

pub(super) fn create(request: &ApiRequest) -> ApiResult<Response> {
    let view = negotiate::view(&request.headers)?;
    let resource = &request.resource;
    let document = body::document(&request.headers, &request.body)?;
    let mut object = request.object(document)?;
    // Owners are what this server saw, not what a client says it saw.
    object.metadata.remove("managedFields");
    let dry_run = request.query.dry_run()?;
    let created = rest::create(&request.api, resource, request.namespace(), object, dry_run)?;
    let mut response = json(encode::object(resource, view, &created));
    *response.status_mut() = StatusCode::CREATED;
    Ok(response)
}
