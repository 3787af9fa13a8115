//! A page of a live list.

use http::Method;
use serde_json::Value;

use super::{draft::Draft, target::Target};
use crate::bindings::informer::plugin::client::{ApiCode, ApiError, ListOptions, ObjectPage};

/// The default page size, the one of client-go's pager.
const PAGE: u32 = 500;

/// The longest selector or page token: a hundred times what people write and servers issue.
const TEXT_BYTES: usize = 16 << 10;

pub(super) fn request(target: &Target, options: &ListOptions) -> Result<Draft, ApiError> {
    let limit = if options.limit == 0 { PAGE } else { options.limit };
    let mut draft = target.request(Method::GET).query("limit", limit.to_string());
    for (what, key, text) in [
        ("label selector", "labelSelector", options.labels.as_str()),
        ("field selector", "fieldSelector", options.fields.as_str()),
        ("page token", "continue", options.token.as_deref().unwrap_or_default()),
    ] {
        if text.len() > TEXT_BYTES {
            let message = format!("a {what} has at most 16 KiB, and this one has {} bytes", text.len());
            return Err(ApiError::bad_argument(message));
        }
        if !text.is_empty() {
            draft = draft.query(key, text);
        }
    }
    Ok(draft)
}

/// Reads a page. The server leaves `apiVersion` and `kind` out of the items of built-in types; the page adds them to each.
pub(super) fn page(answer: &[u8]) -> Result<ObjectPage, ApiError> {
    let broken = |why: String| {
        ApiError::host(ApiCode::Unavailable, format!("the server's list cannot be read: {why}"))
    };
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
