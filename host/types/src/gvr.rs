//! Group, version and resource: the name of a collection, and of the informer that serves it.

use std::{fmt, str::FromStr, sync::Arc};

use serde::{Deserialize, Serialize};

/// The remedy if a text is not the name of a resource.
const NAME: &str = "write group/version/resource (`apps/v1/deployments`), or version/resource for the core group (`v1/pods`)";

/// The remedy if a text is not a pattern.
const PATTERN: &str = "write `*/*/*` for all resources, `apps/*/*` for those of a group, or `core/*/*` for those of the core group";

/// Stands for every group, or for every version and resource.
const ANY: &str = "*";

/// The core group in a pattern.
const CORE: &str = "core";

/// The name of one collection of the Kubernetes API, written `group/version/resource`, or `version/resource` for the
/// core group: `apps/v1/deployments`, `v1/pods`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Gvr {
    /// The API group; empty for the core group.
    pub group: String,
    /// The version, for example `v1`.
    pub version: String,
    /// The plural name in lower case, as in URLs.
    pub resource: String,
}

/// The text is not the name of a resource.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a resource: {problem}; {remedy}")]
pub struct InvalidGvr {
    text: String,
    problem: &'static str,
    pub(crate) remedy: &'static str,
}

/// The shared informer that a notification comes from. Cheap to clone. Two sources are equal if their resources are.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Source(Arc<Gvr>);

impl Gvr {
    /// Makes a name from its parts without checking them.
    pub fn new(group: impl Into<String>, version: impl Into<String>, resource: impl Into<String>) -> Self {
        Self { group: group.into(), version: version.into(), resource: resource.into() }
    }

    /// Reads a pattern: `*/*/*` for all resources, `apps/*/*` for a group, and `core/*/*` for the core group.
    /// Returns `None` for a text without `*`. A pattern names no collection, so [`FromStr`] does not read it.
    ///
    /// # Errors
    /// [`InvalidGvr`] for any other text with `*`.
    pub fn pattern(text: &str) -> Option<Result<Self, InvalidGvr>> {
        if !text.contains(ANY) {
            return None;
        }
        let invalid = |problem| InvalidGvr { text: text.to_owned(), problem, remedy: PATTERN };
        let parts: Vec<&str> = text.split('/').collect();
        let [group, ANY, ANY] = *parts.as_slice() else {
            return Some(Err(invalid("`*` must stand for both the version and the resource")));
        };
        let is_name =
            group.bytes().all(is_name_byte) && group.starts_with(|first: char| first.is_ascii_alphanumeric());
        if group != ANY && !is_name {
            return Some(Err(invalid("its first part is neither a group nor `*`")));
        }
        Some(Ok(Self::new(group, ANY, ANY)))
    }

    /// Returns true if it was read by [`pattern`](Self::pattern).
    pub fn is_pattern(&self) -> bool {
        self.version == ANY
    }

    /// Returns true for the pattern of all groups.
    pub fn is_of_all_groups(&self) -> bool {
        self.group == ANY
    }

    /// Returns true if this pattern stands for `other`, or for every resource that `other` stands for. Two names cover each other
    /// if they name the same resource, in any version.
    pub fn covers(&self, other: &Self) -> bool {
        let same = self.served_group() == other.served_group();
        match (self.is_pattern(), other.is_pattern()) {
            (true, _) => same || self.is_of_all_groups(),
            (false, true) => false,
            (false, false) => same && self.resource == other.resource,
        }
    }

    /// The group as the API server names it: that of `core/*/*` is empty.
    pub fn served_group(&self) -> &str {
        if self.is_pattern() && self.group == CORE { "" } else { &self.group }
    }

    /// Namespaces.
    pub fn namespaces() -> Self {
        Self::new("", "v1", "namespaces")
    }

    /// The value of `apiVersion` in objects of this resource.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// Returns true for Secrets, in any version.
    pub fn is_secrets(&self) -> bool {
        self.group.is_empty() && self.resource == "secrets"
    }

    /// Returns true for namespaces, in any version.
    pub fn is_namespaces(&self) -> bool {
        self.group.is_empty() && self.resource == "namespaces"
    }

    /// The path of the group and version on the server: `/apis/apps/v1`.
    pub fn api_root(&self) -> String {
        if self.group.is_empty() {
            format!("/api/{}", self.version)
        } else {
            format!("/apis/{}/{}", self.group, self.version)
        }
    }
}

// === impl Gvr ===

impl fmt::Display for Gvr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.group.is_empty() {
            write!(f, "{}/", self.group)?;
        }
        write!(f, "{}/{}", self.version, self.resource)
    }
}

impl FromStr for Gvr {
    type Err = InvalidGvr;

    fn from_str(text: &str) -> Result<Self, InvalidGvr> {
        let invalid = |problem| InvalidGvr { text: text.to_owned(), problem, remedy: NAME };
        let parts: Vec<&str> = text.splitn(4, '/').collect();
        let (group, version, resource) = match parts.as_slice() {
            [version, resource] => ("", *version, *resource),
            [group, version, resource] => (*group, *version, *resource),
            _ => return Err(invalid("it has neither two nor three parts")),
        };
        if parts.iter().any(|part| part.is_empty()) {
            return Err(invalid("a part is empty"));
        }
        if !parts.iter().all(|part| part.bytes().all(is_name_byte)) {
            return Err(invalid("only lower-case letters, digits, `-` and `.` are allowed"));
        }
        if !parts.iter().all(|part| part.starts_with(|first: char| first.is_ascii_alphanumeric())) {
            return Err(invalid("each part must start with a letter or a digit"));
        }
        // The API server reads `/api/v1/watch/secrets` as a watch of all Secrets.
        if matches!(resource, "watch" | "proxy") {
            return Err(invalid("`watch` and `proxy` are verbs of old paths"));
        }
        if !is_version(version) {
            return Err(invalid("the version must look like v1, v1beta1 or v2alpha3"));
        }
        Ok(Self::new(group, version, resource))
    }
}

impl TryFrom<String> for Gvr {
    type Error = InvalidGvr;

    fn try_from(text: String) -> Result<Self, InvalidGvr> {
        text.parse()
    }
}

impl From<Gvr> for String {
    fn from(gvr: Gvr) -> Self {
        gvr.to_string()
    }
}

// === impl Source ===

impl Source {
    /// The informer of this resource.
    pub fn new(gvr: Gvr) -> Self {
        Self(Arc::new(gvr))
    }

    /// The resource it serves.
    pub fn gvr(&self) -> &Gvr {
        &self.0
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'.'
}

/// Returns true for `v1`, `v1beta1` and the like.
pub(crate) fn is_version(text: &str) -> bool {
    text.strip_prefix('v').is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_is_read_and_written_in_the_same_form() {
        for text in ["apps/v1/deployments", "v1/pods", "argoproj.io/v1alpha1/applications"] {
            let gvr: Gvr = text.parse().unwrap();

            assert_eq!(gvr.to_string(), text);
        }
    }

    #[test]
    fn a_text_that_is_not_a_resource_is_refused_with_a_remedy() {
        for (text, problem) in [
            ("deployments", "neither two nor three parts"),
            ("apps/v1/deployments/x", "neither two nor three parts"),
            ("apps//deployments", "a part is empty"),
            ("apps/v1/Deployments", "only lower-case"),
            ("apps/deployments", "the version must look like"),
            ("v1/..", "must start with a letter or a digit"),
            ("../v1/pods", "must start with a letter or a digit"),
            ("v1/watch", "verbs of old paths"),
            ("apps/v1/proxy", "verbs of old paths"),
        ] {
            let error = text.parse::<Gvr>().unwrap_err().to_string();

            assert!(error.contains(problem) && error.contains("apps/v1/deployments"), "{error}");
        }
    }

    #[test]
    fn a_pattern_covers_the_resources_of_its_group() {
        let read = |text: &str| Gvr::pattern(text).unwrap_or_else(|| text.parse()).unwrap();
        for (pattern, covered, others) in [
            ("*/*/*", "v1/pods apps/v1/deployments core/*/* apps/*/* */*/*", ""),
            (
                "apps/*/*",
                "apps/v1/deployments apps/v1beta1/scales apps/*/*",
                "v1/pods batch/v1/jobs */*/* core/*/*",
            ),
            ("core/*/*", "v1/pods core/*/*", "apps/v1/deployments */*/*"),
            ("v1/pods", "v1/pods v2/pods", "v1/nodes apps/v1/pods core/*/* */*/*"),
        ] {
            let own = read(pattern);
            assert_eq!(own.to_string(), pattern);
            assert_eq!(own.is_pattern(), pattern.contains('*'));
            assert!(covered.split_whitespace().all(|other| own.covers(&read(other))), "{pattern}");
            assert!(!others.split_whitespace().any(|other| own.covers(&read(other))), "{pattern}");
        }
    }

    #[test]
    fn a_text_with_a_star_that_is_no_pattern_is_refused_with_a_remedy() {
        for text in
            ["*", "*/*", "apps/*", "apps/v1/*", "*/v1/*", "*/*/pods", "*/*/*/*", "/*/*", "Apps/*/*", "a*/*/*"]
        {
            let error = Gvr::pattern(text).unwrap().unwrap_err().to_string();

            assert!(error.ends_with(PATTERN), "{error}");
            assert!(text.parse::<Gvr>().is_err());
        }
        assert!("*/*/*".parse::<Gvr>().is_err() && "apps/*/*".parse::<Gvr>().is_err());
        assert_eq!(Gvr::pattern("apps/v1/deployments"), None);
    }

    #[test]
    fn the_core_group_lives_under_api_and_the_others_under_apis() {
        assert_eq!(Gvr::new("", "v1", "pods").api_root(), "/api/v1");
        assert_eq!(Gvr::new("apps", "v1", "deployments").api_root(), "/apis/apps/v1");
        assert_eq!(Gvr::new("apps", "v1", "deployments").api_version(), "apps/v1");
    }
}
