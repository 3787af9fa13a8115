//! GET: reads one object.

use axum::response::Response;

use super::{list, request::ApiRequest};
use crate::{negotiate, status::ApiResult};

pub(super) async fn get(request: &ApiRequest, name: &str) -> ApiResult<Response> {
    let view = negotiate::view(&request.headers)?;
    if let Some(rv) = request.query.number("resourceVersion")? {
        list::wait_for(&request.api, rv).await?;
    }
    Ok(request.answer(view, &*request.stored(name)?))
}
