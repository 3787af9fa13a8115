//! A page of a live list.

use http::Method;
use serde_json::Value;

use super::target::{Draft, Target};
use crate::bindings::informer::plugin::client::{ApiCode, ApiError, ListOptions, ObjectPage};

/// As client-go's pager.
const PAGE: u32 = 500;

pub(super) fn request(target: &Target, options: &ListOptions) -> Draft {
    let limit = if options.limit == 0 { PAGE } else { options.limit };
    let mut draft = target.request(Method::GET).query("limit", limit.to_string());
    if !options.labels.is_empty() {
        draft = draft.query("labelSelector", options.labels.as_str());
    }
    if !options.fields.is_empty() {
        draft = draft.query("fieldSelector", options.fields.as_str());
    }
    match &options.token {
        Some(token) => draft.query("continue", token.as_str()),
        None => draft,
    }
}

/// The server leaves `apiVersion` and `kind` out of the items of a list of built-in types; here each object says
/// what it is.
pub(super) fn page(answer: &[u8]) -> Result<ObjectPage, ApiError> {
    let broken =
        |why: String| ApiError::host(ApiCode::Unavailable, format!("the server's list is none: {why}"));
    let mut list: Value = serde_json::from_slice(answer).map_err(|error| broken(error.to_string()))?;
    let text = |pointer: &str| list.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let next = Some(text("/metadata/continue")).filter(|token| !token.is_empty());
    let (resource_version, api_version) = (text("/metadata/resourceVersion"), text("/apiVersion"));
    let kind = text("/kind").trim_end_matches("List").to_owned();
    let Some(Value::Array(items)) = list.get_mut("items").map(Value::take) else {
        return Err(broken("it has no items".to_owned()));
    };
    let items = items.into_iter().map(|mut item| {
        if let Some(fields) = item.as_object_mut() {
            fields.entry("apiVersion").or_insert_with(|| api_version.as_str().into());
            fields.entry("kind").or_insert_with(|| kind.as_str().into());
        }
        item.to_string()
    });
    Ok(ObjectPage { items: items.collect(), next, resource_version })
}
