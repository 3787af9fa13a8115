//! GET of one object.

use axum::response::Response;

use super::{ApiRequest, json};
use crate::{
    encode, negotiate,
    status::{ApiError, ApiResult},
    storage::ObjectKey,
};

pub(super) async fn get(request: &ApiRequest, name: &str) -> ApiResult<Response> {
    let view = negotiate::view(&request.headers)?;
    let resource = &request.resource;
    if let Some(rv) = request.query.number("resourceVersion")? {
        super::list::wait_for(&request.api, rv).await?;
    }
    let key = ObjectKey::new(request.namespace(), name);
    let object = request.api.collection(resource).get(&key);
    let object = object.ok_or_else(|| ApiError::not_found(resource.group_resource(), name))?;
    Ok(json(encode::object(resource, view, &object)))
}
