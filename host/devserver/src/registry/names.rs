//! The names of the built-in resources, so that a configuration may name a resource as kubectl does.

use super::builtin;

/// The names of a built-in resource, as `kubectl api-resources` shows them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceNames {
    /// Empty for the core group.
    pub group: String,
    /// The version that the server serves.
    pub version: String,
    /// The name in URLs.
    pub plural: String,
    /// The kind of its objects.
    pub kind: String,
    /// The names that kubectl accepts instead of the plural.
    pub short: Vec<String>,
}

/// The names of all built-in resources.
#[must_use]
pub fn built_in_names() -> Vec<ResourceNames> {
    let resources = builtin::resources().into_iter();
    let names = resources.map(|resource| ResourceNames {
        group: resource.group,
        version: resource.version,
        plural: resource.plural,
        kind: resource.kind,
        short: resource.short_names,
    });
    names.collect()
}
