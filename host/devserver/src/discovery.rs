//! What the server says about itself: groups, versions, resources, and its version.

use axum::response::Response;
use http::{HeaderMap, Uri};
use serde_json::{Value, json};

use crate::{
    registry::Registry,
    status::{ApiError, ApiResult},
};

mod aggregated;
mod legacy;
mod verbs;

/// The Kubernetes version whose behaviour the server follows.
const MAJOR: &str = "1";
const MINOR: &str = "36";

/// `/version`.
pub(crate) fn version() -> Value {
    json!({
        "major": MAJOR,
        "minor": MINOR,
        "gitVersion": format!("v{MAJOR}.{MINOR}.0+informer"),
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "none: this is the embedded development server of informer",
        "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    })
}

/// The discovery document at a path; `None` when the path is no discovery path.
pub(crate) fn serve(
    registry: &Registry,
    path: &[&str],
    headers: &HeaderMap,
    uri: &Uri,
) -> Option<ApiResult<Response>> {
    if let ["api"] | ["apis"] = path
        && let Some(version) = aggregated::accepted(headers)
    {
        return Some(Ok(aggregated::serve(registry, path == ["api"], version)));
    }
    let document = match path {
        ["api"] => Some(legacy::core_versions(uri)),
        ["apis"] => Some(legacy::groups(registry)),
        ["apis", group] => legacy::group(registry, group),
        ["api", version] => legacy::resources(registry, "", version),
        ["apis", group, version] => legacy::resources(registry, group, version),
        _ => return None,
    };
    let answer = document.map(|document| crate::routes::json(document.to_string().into()));
    Some(answer.ok_or_else(ApiError::unknown_path))
}
