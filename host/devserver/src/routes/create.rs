//! POST: creates an object.

use axum::response::Response;

use super::request::ApiRequest;
use crate::{negotiate, rest, status::ApiResult};

pub(super) fn create(request: &ApiRequest) -> ApiResult<Response> {
    let view = negotiate::view(&request.headers)?;
    let mut object = request.object(request.document()?)?;
    // The server tracks field owners itself and ignores what a client claims about them.
    object.metadata.remove("managedFields");
    let dry_run = request.query.dry_run()?;
    let created = rest::create(&request.api, &request.resource, request.namespace(), object, dry_run)?;
    Ok(request.answer_created(view, &created))
}
