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
    let request = |source| DiscoveryError::Request { gvr: gvr.clone(), source };
    let root = gvr.api_root();
    let answer = match transport.get(&root).await {
        Ok(answer) => answer,
        Err(error) if error.class() == ErrorClass::NotFound => return Err(unknown_api(transport, gvr).await),
        Err(error) => return Err(request(error)),
    };
    let list: ApiResourceList = parse(transport, &root, &answer).map_err(request)?;
    let Some(found) = list.resources.iter().find(|resource| resource.name == gvr.resource) else {
        return Err(DiscoveryError::UnknownResource {
            api_version: gvr.api_version(),
            resource: gvr.resource.clone(),
            hint: hint(near_resources(&gvr.resource, &list.resources)),
        });
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

/// The error about a group and version for which the server answered 404. Suggests another version.
///
/// The 404 counts only if the server lists its API groups, or answers 403 to the request for this list. A proxy that has lost its API
/// server may answer 404 to every request. If such an answer counted, the informer would delete all objects of the resource.
async fn unknown_api(transport: &Transport, gvr: &Gvr) -> DiscoveryError {
    let api_version = gvr.api_version();
    let groups = match api_groups(transport).await {
        Ok(groups) => groups,
        // This is an API server, and this identity may not read the list.
        Err(error) if error.class() == ErrorClass::Forbidden => Value::Null,
        Err(source) => return DiscoveryError::Request { gvr: gvr.clone(), source },
    };
    let elements = |of: &Value, key: &str| of.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let versions = elements(&groups, "groups").into_iter().flat_map(|group| elements(&group, "versions"));
    let versions = versions.filter_map(|version| Some(version.get("groupVersion")?.as_str()?.to_owned()));
    let versions: Vec<String> = versions.chain(["v1".to_owned()]).collect();
    let near = near(&api_version, versions.iter().map(|version| (version.as_str(), version.as_str())));
    DiscoveryError::UnknownApi { server: transport.server.to_string(), api_version, hint: hint(near) }
}

/// The API groups that the server serves. An answer of another form, or 404, is an error, because an API server always has this list.
async fn api_groups(transport: &Transport) -> Result<Value, RequestError> {
    const PATH: &str = "/apis";
    let no_list = || {
        let problem = Problem::Unexpected("no list of its API groups: is it an API server?".to_owned());
        transport.error(&format!("GET {PATH}"), problem)
    };
    let answer = match transport.get(PATH).await {
        Err(error) if error.class() == ErrorClass::NotFound => return Err(no_list()),
        answer => answer?,
    };
    let groups: Value = parse(transport, PATH, &answer)?;
    if groups.get("groups").is_some() { Ok(groups) } else { Err(no_list()) }
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

    /// Returns true if the server answered that it does not serve the resource. A CRD may add it later.
    pub(crate) fn is_unserved(&self) -> bool {
        matches!(self, Self::UnknownApi { .. } | Self::UnknownResource { .. })
    }

    /// Returns true if the objects of a resource that was watched by namespace cannot exist any more: the server does not serve the
    /// resource, or a cluster-scoped resource has taken its name.
    pub(crate) fn is_gone(&self) -> bool {
        self.is_unserved() || matches!(self, Self::ClusterScoped(_))
    }

    /// The pause that the server asked for.
    pub(crate) fn retry_after(&self) -> Option<std::time::Duration> {
        match self {
            Self::Request { source, .. } => source.retry_after(),
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
