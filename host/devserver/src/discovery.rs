//! Discovery: the groups, versions and resources that the server has, and its own version.

use axum::response::Response;
use http::{HeaderMap, Uri};
use serde_json::{Value, json};

use crate::{
    answer,
    registry::Registry,
    status::{ApiError, ApiResult},
};

mod aggregated;
mod legacy;
mod verbs;

/// The Kubernetes version whose behaviour the server follows: major.
const MAJOR: &str = "1";
/// The Kubernetes version whose behaviour the server follows: minor.
const MINOR: &str = "36";

/// The document at `/version`.
pub(crate) fn version() -> Value {
    json!({
        "major": MAJOR,
        "minor": MINOR,
        "gitVersion": format!("v{MAJOR}.{MINOR}.0+informer"),
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "not Go: embedded development server of informer",
        "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    })
}

/// The answer with the discovery document at a path. Returns `None` if the path is not a discovery path.
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
    let answer = document.map(|document| answer::json(document.to_string()));
    Some(answer.ok_or_else(ApiError::unknown_path))
}
