//! Looks up a resource at the API server: its kind, and whether it is namespaced.

use serde::Deserialize;
use serde_json::Value;

use informer_types::{Gvr, excerpt, some_of};

use crate::{
    api_status::or_default,
    error::{Problem, RequestError},
    error_class::ErrorClass,
    transport::Transport,
};

/// The similarity (Jaro-Winkler) from which a name is suggested in place of another.
const ALIKE: f64 = 0.8;

/// The most bytes of a suggested name. The name of a resource has at most 63.
const SUGGESTED_BYTES: usize = 128;

/// The most bytes of a version. A version is a DNS label.
const VERSION_BYTES: usize = 63;

/// A resource as the server describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Resource {
    pub(crate) kind: String,
    pub(crate) namespaced: bool,
}

/// Why a resource cannot be watched. `hint` is a suggestion, or empty.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DiscoveryError {
    #[error("cannot look up {gvr}")]
    Request { gvr: Gvr, source: RequestError },
    /// The server does not serve the group and version.
    #[error("{server} has no API {api_version}{hint}")]
    UnknownApi { server: String, api_version: String, hint: String },
    /// The group and version have no such resource.
    #[error("{api_version} has no resource `{resource}`{hint}")]
    UnknownResource { api_version: String, resource: String, hint: String },
    /// The server serves the resource only in another version of its group. Every version has the same objects, so they exist.
    #[error("{gvr} is not served, but {other} is")]
    OtherVersion { gvr: Gvr, other: String },
    /// The server does not serve the resource, and does not show the other versions of the group to this identity. The objects may
    /// exist in another version.
    #[error("{0} is not served, and this identity may not look up whether another version of it is")]
    HiddenVersions(Gvr),
    /// The server does not serve the resource, and a lookup of the other versions of the group failed. The objects may exist in
    /// another version.
    #[error("{gvr} is not served, and a lookup of the other versions of its group fails")]
    UnansweredVersions { gvr: Gvr, source: RequestError },
    /// The resource exists, but it cannot be listed or watched.
    #[error("{gvr} cannot be watched: the server allows only {verbs} on it")]
    NotWatchable { gvr: Gvr, verbs: String },
    /// Namespaces are configured for a resource that is not namespaced.
    #[error("{0} is cluster-scoped: leave out `namespaces`")]
    ClusterScoped(Gvr),
}

/// The resources of a group and version. An API server always sends the field, so an answer without the field is from another
/// kind of server.
#[derive(Deserialize)]
struct ApiResourceList {
    #[serde(deserialize_with = "or_default")]
    resources: Vec<ApiResource>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ApiResource {
    name: String,
    #[serde(deserialize_with = "or_default")]
    singular_name: String,
    kind: String,
    namespaced: bool,
    #[serde(deserialize_with = "or_default")]
    verbs: Vec<String>,
    #[serde(deserialize_with = "or_default")]
    short_names: Vec<String>,
}

/// Looks up a resource. `namespaces` is true if it is to be watched by namespace.
///
/// # Errors
/// See [`DiscoveryError`]. Each of them may pass: a CRD may still be created.
pub(crate) async fn discover(
    transport: &Transport,
    gvr: &Gvr,
    namespaces: bool,
) -> Result<Resource, DiscoveryError> {
    let resources = match resources(transport, &gvr.api_root()).await {
        Ok(resources) => resources,
        Err(error) if error.class() == ErrorClass::NotFound => return Err(unknown_api(transport, gvr).await),
        Err(source) => return Err(DiscoveryError::Request { gvr: gvr.clone(), source }),
    };
    let Some(found) = resources.iter().find(|resource| resource.name == gvr.resource) else {
        return Err(unknown_resource(transport, gvr, &resources).await);
    };
    if !["list", "watch"].iter().all(|verb| found.verbs.iter().any(|allowed| allowed == verb)) {
        let verbs = some_of(&found.verbs).to_string();
        return Err(DiscoveryError::NotWatchable { gvr: gvr.clone(), verbs });
    }
    if namespaces && !found.namespaced {
        return Err(DiscoveryError::ClusterScoped(gvr.clone()));
    }
    Ok(Resource { kind: found.kind.clone(), namespaced: found.namespaced })
}

/// The resources of a group and version: `/apis/apps/v1`.
async fn resources(transport: &Transport, api_root: &str) -> Result<Vec<ApiResource>, RequestError> {
    let answer = transport.get(api_root).await?;
    let list: ApiResourceList = parse(transport, api_root, &answer)?;
    Ok(list.resources)
}

/// The error about a group and version for which the server answered 404. Suggests another version.
///
/// The 404 counts only if the server lists its API groups, or answers 403 to the request for this list. A proxy that has lost its API
/// server may answer 404 to every request. If such an answer counted, the informer would delete all objects of the resource.
async fn unknown_api(transport: &Transport, gvr: &Gvr) -> DiscoveryError {
    let versions = match api_versions(transport, gvr).await {
        Ok(versions) => versions,
        // A 403 comes from an API server, so the 404 for the group and version counts.
        Err(error) if error.class() == ErrorClass::Forbidden => return unread_versions(gvr, error),
        Err(source) => return DiscoveryError::Request { gvr: gvr.clone(), source },
    };
    if let Some(error) = other_version(transport, gvr, &versions).await {
        return error;
    }
    let api_version = gvr.api_version();
    let versions: Vec<String> = versions.into_iter().chain(["v1".to_owned()]).collect();
    let near = near(&api_version, versions.iter().map(|version| (version.as_str(), version.as_str())));
    DiscoveryError::UnknownApi { server: transport.server.to_string(), api_version, hint: hint(near) }
}

/// The error about a resource that its group and version do not have. Suggests another name.
async fn unknown_resource(transport: &Transport, gvr: &Gvr, resources: &[ApiResource]) -> DiscoveryError {
    // The core group has one version.
    if !gvr.group.is_empty() {
        let found = match api_versions(transport, gvr).await {
            Ok(versions) => other_version(transport, gvr, &versions).await,
            Err(error) => Some(unread_versions(gvr, error)),
        };
        if let Some(error) = found {
            return error;
        }
    }
    DiscoveryError::UnknownResource {
        api_version: gvr.api_version(),
        resource: gvr.resource.clone(),
        hint: hint(near_resources(&gvr.resource, resources)),
    }
}

/// Returns an error if another one of these versions has the resource, or may have it because the lookup of that version failed. A
/// CRD that stops serving one of its versions keeps its objects. Returns `None` if no other version has the resource.
async fn other_version(transport: &Transport, gvr: &Gvr, versions: &[String]) -> Option<DiscoveryError> {
    let mut unread = None;
    for other in other_versions(gvr, versions) {
        match resources(transport, &other.api_root()).await {
            Ok(resources) if resources.iter().any(|resource| resource.name == gvr.resource) => {
                return Some(DiscoveryError::OtherVersion { gvr: gvr.clone(), other: other.to_string() });
            }
            Ok(_) => {}
            Err(error) if error.class() == ErrorClass::NotFound => {}
            Err(error) => unread = unread.or(Some(error)),
        }
    }
    unread.map(|error| unread_versions(gvr, error))
}

/// The error for a resource that is not served. `error` is the failure of the lookup of its other versions.
fn unread_versions(gvr: &Gvr, error: RequestError) -> DiscoveryError {
    let gvr = gvr.clone();
    if error.class() == ErrorClass::Forbidden {
        DiscoveryError::HiddenVersions(gvr)
    } else {
        DiscoveryError::UnansweredVersions { gvr, source: error }
    }
}

/// The resource in the other versions of its group, in the order in which the server prefers the versions.
fn other_versions(gvr: &Gvr, versions: &[String]) -> Vec<Gvr> {
    // An invalid name would become part of a path.
    let names =
        versions.iter().filter_map(|version| format!("{version}/{}", gvr.resource).parse::<Gvr>().ok());
    let others = names.filter(|name| name.group == gvr.group && name.version != gvr.version);
    others.filter(|other| other.version.len() <= VERSION_BYTES).collect()
}

/// The groups and versions that the server serves, as `apps/v1`. If this identity may not read them, returns the versions of this
/// group.
async fn api_versions(transport: &Transport, gvr: &Gvr) -> Result<Vec<String>, RequestError> {
    match api_groups(transport).await {
        Ok(groups) => Ok(elements(&groups, "groups").iter().flat_map(versions_of).collect()),
        // This is an API server, and the core group has no list of versions.
        Err(error) if error.class() == ErrorClass::Forbidden && gvr.group.is_empty() => Ok(Vec::new()),
        Err(error) if error.class() == ErrorClass::Forbidden => {
            match document(transport, &format!("/apis/{}", gvr.group), "versions").await {
                Ok(group) => Ok(versions_of(&group)),
                Err(error) if error.class() == ErrorClass::NotFound => Ok(Vec::new()),
                Err(error) => Err(error),
            }
        }
        Err(error) => Err(error),
    }
}

/// The API groups that the server serves. An answer of another form, or 404, is an error, because an API server always has this list.
async fn api_groups(transport: &Transport) -> Result<Value, RequestError> {
    const PATH: &str = "/apis";
    match document(transport, PATH, "groups").await {
        Err(error) if error.class() == ErrorClass::NotFound => Err(no_list(transport, PATH)),
        found => found,
    }
}

/// A document that has this field.
async fn document(transport: &Transport, path: &str, field: &str) -> Result<Value, RequestError> {
    let answer = transport.get(path).await?;
    let document: Value = parse(transport, path, &answer)?;
    if document.get(field).is_some() { Ok(document) } else { Err(no_list(transport, path)) }
}

fn no_list(transport: &Transport, path: &str) -> RequestError {
    let problem = Problem::Unexpected("no list of its API groups: is it an API server?".to_owned());
    transport.error(&format!("GET {path}"), problem)
}

/// The versions of an API group with the name of the group: `apps/v1`.
fn versions_of(group: &Value) -> Vec<String> {
    let versions = elements(group, "versions").iter();
    versions.filter_map(|version| Some(version.get("groupVersion")?.as_str()?.to_owned())).collect()
}

fn elements<'a>(of: &'a Value, field: &str) -> &'a [Value] {
    of.get(field).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn near_resources(name: &str, resources: &[ApiResource]) -> Vec<String> {
    // Sub-resources (`deployments/scale`) cannot be watched.
    let watchable = resources.iter().filter(|resource| !resource.name.contains('/'));
    let names = watchable.flat_map(|resource| {
        let aliases = [&resource.name, &resource.singular_name].into_iter().chain(&resource.short_names);
        aliases.map(|alias| (alias.as_str(), resource.name.as_str()))
    });
    near(name, names)
}

/// At most three names whose alias is similar, the most similar first.
fn near<'a>(wanted: &str, candidates: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<String> {
    let mut scored: Vec<(f64, &str)> = candidates
        .map(|(alias, name)| (strsim::jaro_winkler(wanted, alias), name))
        .filter(|(score, _)| *score >= ALIKE)
        .collect();
    scored.sort_by(|left, right| right.0.total_cmp(&left.0));
    let mut names: Vec<String> = Vec::new();
    for (_, name) in scored {
        if !names.iter().any(|known| known == name) && names.len() < 3 {
            names.push(name.to_owned());
        }
    }
    names
}

fn hint(near: Vec<String>) -> String {
    let quoted: Vec<String> =
        near.into_iter().map(|name| format!("`{}`", excerpt(&name, SUGGESTED_BYTES))).collect();
    if quoted.is_empty() { String::new() } else { format!("; did you mean {}?", quoted.join(" or ")) }
}

fn parse<'a, T: Deserialize<'a>>(
    transport: &Transport,
    path: &str,
    answer: &'a [u8],
) -> Result<T, RequestError> {
    serde_json::from_slice(answer).map_err(|error| {
        let html = answer.trim_ascii_start().starts_with(b"<");
        let problem = if html {
            Problem::Html
        } else if error.is_data() {
            Problem::Unexpected(format!("JSON of another form: {error}"))
        } else {
            Problem::NotJson(error)
        };
        transport.error(&format!("GET {path}"), problem)
    })
}

// === impl DiscoveryError ===

impl DiscoveryError {
    pub(crate) fn class(&self) -> ErrorClass {
        match self {
            Self::Request { source, .. } => source.class(),
            _ => ErrorClass::UnknownResource,
        }
    }

    /// Returns true if the server answered that it does not serve the resource in this version. A CRD may add it later.
    pub(crate) fn is_unserved(&self) -> bool {
        matches!(
            self,
            Self::UnknownApi { .. }
                | Self::UnknownResource { .. }
                | Self::OtherVersion { .. }
                | Self::HiddenVersions(_)
                | Self::UnansweredVersions { .. }
        )
    }

    /// Returns true if the objects of a resource that was watched by namespace cannot exist any more: the server does not serve the
    /// resource in any version, or a cluster-scoped resource has taken its name.
    pub(crate) fn is_gone(&self) -> bool {
        matches!(self, Self::UnknownApi { .. } | Self::UnknownResource { .. } | Self::ClusterScoped(_))
    }

    /// The remedy. Returns `None` if it follows from the class.
    pub(crate) fn remedy(&self) -> Option<String> {
        match self {
            Self::OtherVersion { other, .. } => {
                Some(format!("change `gvr` of [[watch]], and `watch` of each subscription to it, to {other}"))
            }
            Self::HiddenVersions(_) => Some(
                "bind this identity to the ClusterRole system:discovery, install the CRD, or correct the gvr"
                    .to_owned(),
            ),
            Self::UnansweredVersions { .. } => {
                Some("check that the APIService of each version of the group is available".to_owned())
            }
            _ => None,
        }
    }

    /// The pause that the server asked for.
    pub(crate) fn retry_after(&self) -> Option<std::time::Duration> {
        match self {
            Self::Request { source, .. } | Self::UnansweredVersions { source, .. } => source.retry_after(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_singular_a_short_name_and_a_misspelling_suggest_the_resource() {
        let resources = [
            ApiResource {
                name: "deployments".to_owned(),
                singular_name: "deployment".to_owned(),
                short_names: vec!["deploy".to_owned()],
                ..ApiResource::default()
            },
            ApiResource { name: "deployments/scale".to_owned(), ..ApiResource::default() },
            ApiResource { name: "replicasets".to_owned(), ..ApiResource::default() },
        ];

        for wanted in ["deployment", "deploy", "deploymnets"] {
            assert_eq!(near_resources(wanted, &resources), ["deployments"], "{wanted}");
        }
        assert!(near_resources("secrets", &resources).is_empty());
    }
}
