//! The resources that the server serves, in all groups and versions.
//!
//! Built-in resources are fixed ([`builtin`]). Custom resources are served as long as their CustomResourceDefinition
//! exists. Readers get snapshots, which later changes do not affect.

use std::{collections::BTreeMap, sync::Arc};

use parking_lot::RwLock;

mod builtin;
mod names;
pub(crate) mod resource;

pub use names::{ResourceNames, built_in_names};
pub(crate) use resource::{CollectionId, NameRule, PrinterColumn, Resource, Scale};

/// `(group, version, plural)`.
type Address = (String, String, String);

/// The resources that are served now.
#[derive(Debug)]
pub(crate) struct Registry {
    resources: RwLock<BTreeMap<Address, Arc<Resource>>>,
}

// === impl Registry ===

impl Registry {
    /// The built-in resources.
    pub(crate) fn builtin() -> Self {
        Self { resources: RwLock::new(addressed(builtin::resources()).collect()) }
    }

    pub(crate) fn get(&self, group: &str, version: &str, plural: &str) -> Option<Arc<Resource>> {
        let address = (group.to_owned(), version.to_owned(), plural.to_owned());
        self.resources.read().get(&address).cloned()
    }

    /// The resource of `kind` in an `apiVersion`.
    pub(crate) fn by_kind(&self, api_version: &str, kind: &str) -> Option<Arc<Resource>> {
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        let resources = self.resources.read();
        resources.values().find(|r| r.kind == kind && r.group == group && r.version == version).cloned()
    }

    /// A resource of this collection, in any version.
    pub(crate) fn by_id(&self, id: &CollectionId) -> Option<Arc<Resource>> {
        self.resources.read().values().find(|r| r.is(&id.group, &id.plural)).cloned()
    }

    /// The groups and their versions, the preferred version first. The name of the core group is empty.
    pub(crate) fn groups(&self) -> Vec<(String, Vec<String>)> {
        let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (group, version, _) in self.resources.read().keys() {
            let versions = groups.entry(group.clone()).or_default();
            if !versions.contains(version) {
                versions.push(version.clone());
            }
        }
        for versions in groups.values_mut() {
            versions.sort_by_key(|version| std::cmp::Reverse(priority(version)));
        }
        groups.into_iter().collect()
    }

    /// The resources of one group version, sorted by plural.
    pub(crate) fn in_group_version(&self, group: &str, version: &str) -> Vec<Arc<Resource>> {
        let resources = self.resources.read();
        resources.values().filter(|r| r.group == group && r.version == version).cloned().collect()
    }

    /// Every resource, sorted by group, version and plural.
    pub(crate) fn all(&self) -> Vec<Arc<Resource>> {
        self.resources.read().values().cloned().collect()
    }

    /// Replaces the custom resources of a collection by `served`.
    pub(crate) fn replace_custom(&self, id: &CollectionId, served: Vec<Resource>) {
        let mut resources = self.resources.write();
        resources.retain(|_, r| !(r.custom && r.is(&id.group, &id.plural)));
        resources.extend(addressed(served));
    }
}

fn addressed(resources: Vec<Resource>) -> impl Iterator<Item = (Address, Arc<Resource>)> {
    resources.into_iter().map(|resource| {
        let address = (resource.group.clone(), resource.version.clone(), resource.plural.clone());
        (address, Arc::new(resource))
    })
}

/// The priority of a version in discovery: `v2` before `v1` before `v1beta2` before `v1alpha1` before other names.
fn priority(version: &str) -> (u8, u64, u64) {
    let read = || {
        let rest = version.strip_prefix('v')?;
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (major, stage) = rest.split_at(digits);
        let major = major.parse().ok()?;
        if stage.is_empty() {
            return Some((3, major, 0));
        }
        let (rank, minor) = match (stage.strip_prefix("beta"), stage.strip_prefix("alpha")) {
            (Some(minor), _) => (2, minor),
            (_, Some(minor)) => (1, minor),
            _ => return None,
        };
        Some((rank, major, minor.parse().ok()?))
    };
    read().unwrap_or((0, 0, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_by_stability_then_age() {
        let mut versions = ["v1alpha1", "foo", "v1beta2", "v10", "v2", "v1beta1"];
        versions.sort_by_key(|version| std::cmp::Reverse(priority(version)));
        assert_eq!(versions, ["v10", "v2", "v1beta2", "v1beta1", "v1alpha1", "foo"]);
    }
}
