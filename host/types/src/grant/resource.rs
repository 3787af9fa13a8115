//! A resource with an optional subresource: `apps/v1/deployments/scale`.

use super::Fault;
use crate::Gvr;

/// Subresources that are never granted: streams, tunnels and credentials.
const NEVER: [&str; 6] = ["exec", "attach", "portforward", "proxy", "log", "token"];

const REMEDY: &str = "write group/version/resource (`apps/v1/deployments`), or version/resource for the core group (`v1/pods`), and append a subresource if needed (`v1/pods/status`)";

/// Parses a resource and its subresource. `v1/pods/status` is the status of a pod, not a resource of the group `v1`,
/// because no group has such a name.
pub(super) fn parse(text: &str) -> Result<(Gvr, Option<String>), Fault> {
    let parts: Vec<&str> = text.split('/').collect();
    let subresource = match parts.as_slice() {
        [first, _, _] if is_version(first) => parts.last(),
        [_, _, _, last] => Some(last),
        _ => None,
    };
    let resource = subresource.map_or(text, |last| text.get(..text.len() - last.len() - 1).unwrap_or(text));
    let gvr: Gvr = resource
        .parse()
        .map_err(|_| Fault::new(format!("`{text}` is neither a resource nor a subresource"), REMEDY))?;
    match subresource {
        Some(name) if NEVER.contains(name) => {
            let remedy = "remove it: a plugin gets objects, and neither connections nor credentials";
            Err(Fault::new(format!("the subresource `{name}` is never granted"), remedy))
        }
        Some(name) if !is_subresource(name) => {
            let problem = format!("`{name}` is not a subresource");
            Err(Fault::new(problem, "write for example `status` or `scale`"))
        }
        Some(name) => Ok((gvr, Some((*name).to_owned()))),
        None => Ok((gvr, None)),
    }
}

/// Returns true for `v1`, `v1beta1` and the like.
fn is_version(text: &str) -> bool {
    text.strip_prefix('v').is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
}

/// Returns true if the text is a valid name of a subresource: lower-case letters.
#[must_use]
pub fn is_subresource(text: &str) -> bool {
    !text.is_empty() && text.len() <= 63 && text.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// The form in a grant.
pub(super) fn shown(gvr: &Gvr, subresource: Option<&str>) -> String {
    subresource.map_or_else(|| gvr.to_string(), |name| format!("{gvr}/{name}"))
}
