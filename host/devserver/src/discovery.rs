//! Discovery: the groups, versions and resources that the server has, and its own version.

use axum::response::Response;
use http::{HeaderMap, HeaderValue, Uri};
use serde_json::{Value, json};

use crate::{
    answer, negotiate,
    object::set,
    registry::{Registry, Resource},
    status::{ApiError, ApiResult},
};

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
        && let Some(version) = accepted_aggregate(headers)
    {
        return Some(Ok(aggregate(registry, path == ["api"], version)));
    }
    let document = match path {
        ["api"] => Some(core_versions(uri)),
        ["apis"] => Some(groups(registry)),
        ["apis", group] => single_group(registry, group),
        ["api", version] => resources(registry, "", version),
        ["apis", group, version] => resources(registry, group, version),
        _ => return None,
    };
    let answer = document.map(|document| answer::json(document.to_string()));
    Some(answer.ok_or_else(ApiError::unknown_path))
}

/// The newest version of the aggregated document (KEP-3352) that the client accepts.
fn accepted_aggregate(headers: &HeaderMap) -> Option<&'static str> {
    ["v2", "v2beta1"].into_iter().find(|version| {
        let parameters = [("g", "apidiscovery.k8s.io"), ("v", version), ("as", "APIGroupDiscoveryList")];
        negotiate::accepts(headers, &parameters)
    })
}

/// All groups and resources in one document, at `/api` (if `core`) or `/apis`.
fn aggregate(registry: &Registry, core: bool, version: &'static str) -> Response {
    let groups = registry.groups().into_iter().filter(|(name, _)| name.is_empty() == core);
    let items: Vec<Value> = groups
        .map(|(name, versions)| {
            let version = |version: &String| {
                let resources = registry.in_group_version(&name, version);
                let resources: Vec<Value> = resources.iter().map(|one| aggregate_entry(one)).collect();
                json!({"version": version, "freshness": "Current", "resources": resources})
            };
            let versions: Vec<Value> = versions.iter().map(version).collect();
            let metadata = if core { json!({}) } else { json!({"name": name}) };
            json!({"metadata": metadata, "versions": versions})
        })
        .collect();
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

fn aggregate_entry(resource: &Resource) -> Value {
    let own = json!({"group": resource.group, "version": resource.version, "kind": resource.kind});
    let subresource = |(name, verbs): (&str, &[&str])| {
        let scale = || json!({"group": "autoscaling", "version": "v1", "kind": "Scale"});
        let kind = if name == "scale" { scale() } else { own.clone() };
        json!({"subresource": name, "responseKind": kind, "verbs": verbs})
    };
    let subresources: Vec<Value> = subresources(resource).map(subresource).collect();
    let mut entry = json!({
        "resource": resource.plural,
        "responseKind": own,
        "scope": if resource.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": resource.singular,
    });
    add_verbs_and_aliases(&mut entry, resource);
    if !subresources.is_empty() {
        set(&mut entry, "subresources", subresources);
    }
    entry
}

/// The document at `/api`.
fn core_versions(uri: &Uri) -> Value {
    let address = uri.authority().map(ToString::to_string).unwrap_or_default();
    json!({
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
    })
}

/// The document at `/apis`.
fn groups(registry: &Registry) -> Value {
    let groups = registry.groups().into_iter().filter(|(name, _)| !name.is_empty());
    let groups: Vec<Value> = groups.map(|(name, versions)| group_entry(&name, &versions)).collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// The document at `/apis/{group}`. Returns `None` if the group is not served.
fn single_group(registry: &Registry, group: &str) -> Option<Value> {
    let (name, versions) =
        registry.groups().into_iter().find(|(name, _)| name == group && !name.is_empty())?;
    let mut entry = group_entry(&name, &versions);
    set(&mut entry, "kind", "APIGroup");
    set(&mut entry, "apiVersion", "v1");
    Some(entry)
}

fn group_entry(name: &str, versions: &[String]) -> Value {
    let version = |version: &String| json!({"groupVersion": format!("{name}/{version}"), "version": version});
    let versions: Vec<Value> = versions.iter().map(version).collect();
    json!({"name": name, "preferredVersion": versions.first(), "versions": versions})
}

/// The document at `/api/v1` or `/apis/{group}/{version}`. Returns `None` if the version is not served.
fn resources(registry: &Registry, group: &str, version: &str) -> Option<Value> {
    let resources = registry.in_group_version(group, version);
    let group_version = resources.first()?.api_version();
    let entries: Vec<Value> = resources.iter().flat_map(|resource| resource_entries(resource)).collect();
    Some(json!({
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": group_version,
        "resources": entries,
    }))
}

fn resource_entries(resource: &Resource) -> Vec<Value> {
    let entry = |name: &str, singular: &str| {
        let namespaced = resource.namespaced;
        json!({"name": name, "singularName": singular, "namespaced": namespaced, "kind": resource.kind})
    };
    let mut own = entry(&resource.plural, &resource.singular);
    add_verbs_and_aliases(&mut own, resource);
    let subresource = |(name, verbs): (&str, &[&str])| {
        let mut entry = entry(&format!("{}/{name}", resource.plural), "");
        set(&mut entry, "verbs", json!(verbs));
        if name == "scale" {
            set(&mut entry, "group", "autoscaling");
            set(&mut entry, "version", "v1");
            set(&mut entry, "kind", "Scale");
        }
        entry
    };
    std::iter::once(own).chain(subresources(resource).map(subresource)).collect()
}

/// The subresources and their verbs, sorted by name.
fn subresources(resource: &Resource) -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    const CHANGES: &[&str] = &["get", "patch", "update"];
    let all: [(bool, &str, &[&str]); 3] = [
        (resource.is("", "namespaces"), "finalize", &["update"]),
        (resource.scale.is_some(), "scale", CHANGES),
        (resource.status, "status", CHANGES),
    ];
    all.into_iter().filter(|(exists, ..)| *exists).map(|(_, name, verbs)| (name, verbs))
}

/// Adds what both forms of discovery show alike: the verbs, and the short names and categories if there are any.
fn add_verbs_and_aliases(entry: &mut Value, resource: &Resource) {
    entry["verbs"] = match resource.is_review {
        true => json!(["create"]),
        false => json!(["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]),
    };
    for (field, list) in [("shortNames", &resource.short_names), ("categories", &resource.categories)] {
        if !list.is_empty() {
            entry[field] = json!(list);
        }
    }
}
