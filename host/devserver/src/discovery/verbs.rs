//! The parts of a discovery entry that both forms of discovery share: verbs, subresources, short names and categories.

use serde_json::{Value, json};

use crate::{object::set, registry::Resource};

/// The verbs of the resource itself.
pub(super) fn of(resource: &Resource) -> &'static [&'static str] {
    if resource.is_review {
        return &["create"];
    }
    &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
}

/// A subresource in discovery documents.
pub(super) struct Subresource {
    pub(super) name: &'static str,
    /// Group, version and kind of its objects, if they differ from those of the resource.
    pub(super) response_kind: Option<(&'static str, &'static str, &'static str)>,
    pub(super) verbs: &'static [&'static str],
}

/// The subresources, sorted by name.
pub(super) fn subresources(resource: &Resource) -> Vec<Subresource> {
    let changes: &[&str] = &["get", "patch", "update"];
    let mut all = Vec::new();
    if resource.is("", "namespaces") {
        all.push(Subresource { name: "finalize", response_kind: None, verbs: &["update"] });
    }
    if resource.scale.is_some() {
        let response_kind = Some(("autoscaling", "v1", "Scale"));
        all.push(Subresource { name: "scale", response_kind, verbs: changes });
    }
    if resource.status {
        all.push(Subresource { name: "status", response_kind: None, verbs: changes });
    }
    all
}

/// Adds the short names and the categories of a resource to its entry, if there are any.
pub(super) fn add_aliases(entry: &mut Value, resource: &Resource) {
    for (field, list) in [("shortNames", &resource.short_names), ("categories", &resource.categories)] {
        if !list.is_empty() {
            set(entry, field, json!(list));
        }
    }
}
