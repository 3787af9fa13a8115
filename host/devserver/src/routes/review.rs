//! "Who am I?" and "May I?": here everybody is the developer, who may do everything.

use axum::response::Response;
use http::StatusCode;
use serde_json::json as value;

use super::{ApiRequest, body, json};
use crate::status::ApiResult;

pub(super) fn answer(request: &ApiRequest) -> ApiResult<Response> {
    let document = body::document(&request.headers, &request.body)?;
    let mut review = request.object(document)?;
    let status = match request.resource.plural.as_str() {
        "selfsubjectreviews" => {
            value!({"userInfo": {"username": "developer", "groups": ["system:masters", "system:authenticated"]}})
        }
        _ => value!({"allowed": true, "reason": "the development server has no authorization"}),
    };
    review.fields.insert("status".into(), status);
    let mut response = json(review.into_value().to_string().into());
    *response.status_mut() = StatusCode::CREATED;
    Ok(response)
}
