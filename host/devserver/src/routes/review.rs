//! Self reviews ("who am I?", "may I?"): every client is the developer, who may do everything.

use axum::response::Response;
use http::StatusCode;
use serde_json::json as value;

use super::request::ApiRequest;
use crate::{answer, status::ApiResult};

pub(super) fn answer(request: &ApiRequest) -> ApiResult<Response> {
    let mut review = request.object(request.document()?)?;
    let status = match request.resource.plural.as_str() {
        "selfsubjectreviews" => {
            value!({"userInfo": {"username": "developer", "groups": ["system:masters", "system:authenticated"]}})
        }
        _ => value!({"allowed": true, "reason": "the development server has no authorization"}),
    };
    review.fields.insert("status".into(), status);
    Ok(answer::json_with_status(StatusCode::CREATED, review.into_value().to_string()))
}
