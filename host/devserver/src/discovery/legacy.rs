//! Unaggregated discovery: `/api`, `/apis`, and a document for each group and group version.

use std::sync::Arc;

use http::Uri;
use serde_json::{Value, json};

use super::verbs;
use crate::{
    object::set,
    registry::{Registry, Resource},
};

/// The document at `/api`.
pub(super) fn core_versions(uri: &Uri) -> Value {
    let address = uri.authority().map(ToString::to_string).unwrap_or_default();
    json!({
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
    })
}

/// The document at `/apis`.
pub(super) fn groups(registry: &Registry) -> Value {
    let groups: Vec<Value> = registry
        .groups()
        .into_iter()
        .filter(|(name, _)| !name.is_empty())
        .map(|(name, versions)| group_entry(&name, &versions))
        .collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// The document at `/apis/{group}`. Returns `None` if the group is not served.
pub(super) fn group(registry: &Registry, group: &str) -> Option<Value> {
    let (name, versions) =
        registry.groups().into_iter().find(|(name, _)| name == group && !name.is_empty())?;
    let mut entry = group_entry(&name, &versions);
    set(&mut entry, "kind", "APIGroup");
    set(&mut entry, "apiVersion", "v1");
    Some(entry)
}

/// The document at `/api/v1` or `/apis/{group}/{version}`. Returns `None` if the version is not served.
pub(super) fn resources(registry: &Registry, group: &str, version: &str) -> Option<Value> {
    let resources = registry.in_group_version(group, version);
    let group_version = resources.first()?.api_version();
    let entries: Vec<Value> = resources.iter().flat_map(resource_entries).collect();
    Some(json!({
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": group_version,
        "resources": entries,
    }))
}

fn group_entry(name: &str, versions: &[String]) -> Value {
    let versions: Vec<Value> = versions
        .iter()
        .map(|version| json!({"groupVersion": format!("{name}/{version}"), "version": version}))
        .collect();
    json!({"name": name, "preferredVersion": versions.first(), "versions": versions})
}

fn resource_entries(resource: &Arc<Resource>) -> Vec<Value> {
    let mut entry = json!({
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": verbs::of(resource),
    });
    verbs::add_aliases(&mut entry, resource);
    let mut entries = vec![entry];
    for sub in verbs::subresources(resource) {
        let mut entry = json!({
            "name": format!("{}/{}", resource.plural, sub.name),
            "singularName": "",
            "namespaced": resource.namespaced,
            "kind": sub.response_kind.map_or(resource.kind.as_str(), |(_, _, kind)| kind),
            "verbs": sub.verbs,
        });
        if let Some((group, version, _)) = sub.response_kind {
            set(&mut entry, "group", group);
            set(&mut entry, "version", version);
        }
        entries.push(entry);
    }
    entries
}
