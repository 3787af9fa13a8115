//! The path of a request, split into its parts.

use percent_encoding::percent_decode_str;

/// The parts of a path that names a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) namespace: Option<String>,
    pub(crate) plural: String,
    pub(crate) name: Option<String>,
    pub(crate) subresource: Option<String>,
}

/// The percent-decoded segments of a path. Returns `None` if a segment is empty, is not UTF-8 or has an invalid
/// escape.
pub(crate) fn segments(path: &str) -> Option<Vec<String>> {
    let path = path.strip_prefix('/').unwrap_or(path);
    let path = path.strip_suffix('/').unwrap_or(path);
    path.split('/').map(decode).collect()
}

// === impl Target ===

impl Target {
    /// Reads `/api/v1/...` and `/apis/{group}/{version}/...`. Returns `None` for any other path.
    pub(crate) fn parse(segments: &[&str]) -> Option<Self> {
        let (group, version, rest) = match segments {
            ["api", version, rest @ ..] => ("", *version, rest),
            ["apis", group, version, rest @ ..] => (*group, *version, rest),
            _ => return None,
        };
        let (namespace, rest) = match rest {
            // `namespaces/{name}/status` is the subresource of a namespace.
            ["namespaces", _, "status" | "finalize"] => (None, rest),
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (Some(*namespace), rest),
            _ => (None, rest),
        };
        let (plural, name, subresource) = match rest {
            [plural] => (*plural, None, None),
            [plural, name] => (*plural, Some(*name), None),
            [plural, name, subresource] => (*plural, Some(*name), Some(*subresource)),
            _ => return None,
        };
        Some(Self {
            group: group.to_owned(),
            version: version.to_owned(),
            namespace: namespace.map(str::to_owned),
            plural: plural.to_owned(),
            name: name.map(str::to_owned),
            subresource: subresource.map(str::to_owned),
        })
    }
}

fn decode(segment: &str) -> Option<String> {
    let text = percent_decode_str(segment).decode_utf8().ok()?;
    // No name contains `%`, so a `%` in the result comes from an invalid escape.
    (!text.is_empty() && !text.contains('%')).then(|| text.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    type Parts = (String, Option<String>, Option<String>, Option<String>);

    fn parse(path: &str) -> Option<Parts> {
        let segments = segments(path)?;
        let target = Target::parse(&segments.iter().map(String::as_str).collect::<Vec<_>>())?;
        let group = format!("{}/{}/{}", target.group, target.version, target.plural);
        Some((group, target.namespace, target.name, target.subresource))
    }

    #[test]
    fn every_form_of_path_is_parsed() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(parse("/api/v1/pods"), Some(("/v1/pods".into(), None, None, None)));
        assert_eq!(
            parse("/api/v1/namespaces/a/pods/b/status"),
            Some(("/v1/pods".into(), some("a"), some("b"), some("status")))
        );
        assert_eq!(parse("/api/v1/namespaces/a"), Some(("/v1/namespaces".into(), None, some("a"), None)));
        assert_eq!(
            parse("/api/v1/namespaces/a/status"),
            Some(("/v1/namespaces".into(), None, some("a"), some("status")))
        );
        assert_eq!(
            parse("/apis/apps/v1/namespaces/a/deployments"),
            Some(("apps/v1/deployments".into(), some("a"), None, None))
        );
        let path = "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode";
        assert_eq!(parse(path).unwrap().2, some("system:node"));
    }

    #[test]
    fn invalid_paths_are_refused() {
        for path in
            ["/", "/api", "/apis/apps", "/api/v1//pods", "/api/v1/pods/%zz", "/api/v1/pods/a/b/c/d", "/x"]
        {
            assert_eq!(parse(path), None, "{path}");
        }
    }
}
