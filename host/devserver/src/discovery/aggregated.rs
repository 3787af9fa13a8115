//! Aggregated discovery: all groups and resources in one document (KEP-3352).

use axum::response::Response;
use http::{HeaderMap, HeaderValue};
use serde_json::{Value, json};

use super::verbs;
use crate::{
    answer, negotiate,
    object::set,
    registry::{Registry, Resource},
};

/// The versions of the document, newest first.
const VERSIONS: [&str; 2] = ["v2", "v2beta1"];

/// The newest version of the document that the client accepts. Returns `None` if it accepts none.
pub(super) fn accepted(headers: &HeaderMap) -> Option<&'static str> {
    let is_accepted = |version: &&str| {
        let parameters = [("g", "apidiscovery.k8s.io"), ("v", *version), ("as", "APIGroupDiscoveryList")];
        negotiate::accepts(headers, &parameters)
    };
    VERSIONS.into_iter().find(is_accepted)
}

/// Answers `/api` (if `core`) or `/apis`.
pub(super) fn serve(registry: &Registry, core: bool, version: &'static str) -> Response {
    let groups = registry.groups().into_iter().filter(|(name, _)| name.is_empty() == core);
    let items: Vec<Value> = groups.map(|(name, versions)| group(registry, &name, &versions)).collect();
    let document = json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": format!("apidiscovery.k8s.io/{version}"),
        "metadata": {},
        "items": items,
    });
    let media_type = match version {
        "v2" => "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
        _ => "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
    };
    answer::with_media_type(document.to_string(), HeaderValue::from_static(media_type))
}

fn group(registry: &Registry, name: &str, versions: &[String]) -> Value {
    let versions: Vec<Value> = versions
        .iter()
        .map(|version| {
            let resources = registry.in_group_version(name, version);
            let resources: Vec<Value> = resources.iter().map(|resource| entry(resource)).collect();
            json!({"version": version, "freshness": "Current", "resources": resources})
        })
        .collect();
    let metadata = if name.is_empty() { json!({}) } else { json!({"name": name}) };
    json!({"metadata": metadata, "versions": versions})
}

fn entry(resource: &Resource) -> Value {
    let kind =
        |group: &str, version: &str, kind: &str| json!({"group": group, "version": version, "kind": kind});
    let own = kind(&resource.group, &resource.version, &resource.kind);
    let subresources: Vec<Value> = verbs::subresources(resource)
        .into_iter()
        .map(|sub| {
            let response_kind =
                sub.response_kind.map_or(own.clone(), |(group, version, name)| kind(group, version, name));
            json!({"subresource": sub.name, "responseKind": response_kind, "verbs": sub.verbs})
        })
        .collect();
    let mut entry = json!({
        "resource": resource.plural,
        "responseKind": own,
        "scope": if resource.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": resource.singular,
        "verbs": verbs::of(resource),
    });
    verbs::add_aliases(&mut entry, resource);
    if !subresources.is_empty() {
        set(&mut entry, "subresources", subresources);
    }
    entry
}
