//! What can be done with a resource and its subresources.

use crate::registry::Resource;

/// What can be done with the resource itself.
pub(super) fn of(resource: &Resource) -> &'static [&'static str] {
    if resource.is_review {
        return &["create"];
    }
    &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
}

/// Something below a resource: its name, the kind it speaks, what it can do.
pub(super) struct Subresource {
    pub(super) name: &'static str,
    /// Group, version and kind, where they are not the resource's own.
    pub(super) speaks: Option<(&'static str, &'static str, &'static str)>,
    pub(super) verbs: &'static [&'static str],
}

/// The subresources, sorted by name.
pub(super) fn subresources(resource: &Resource) -> Vec<Subresource> {
    let changes: &[&str] = &["get", "patch", "update"];
    let mut all = Vec::new();
    if resource.is("", "namespaces") {
        all.push(Subresource { name: "finalize", speaks: None, verbs: &["update"] });
    }
    if resource.scale.is_some() {
        let speaks = Some(("autoscaling", "v1", "Scale"));
        all.push(Subresource { name: "scale", speaks, verbs: changes });
    }
    if resource.status {
        all.push(Subresource { name: "status", speaks: None, verbs: changes });
    }
    all
}
