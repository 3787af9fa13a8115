//! Names of resources, as people write them: `apps/v1/deployments`, and for built-in resources also the names that kubectl accepts.

use std::sync::LazyLock;

use informer_devserver::{ResourceNames, built_in_names};
use informer_types::{Gvr, InvalidGvr};

use crate::config::problem::Fault;

/// The word for the core group in documents of Kubernetes.
const CORE: &str = "core";

/// Group, version and name of the resources of Kubernetes 1.36 that the built-in API server does not serve although it has their group,
/// without those that no client can watch.
const OTHERS: [(&str, &str, &str); 8] = [
    ("", "v1", "podtemplates"),
    ("networking.k8s.io", "v1", "ipaddresses"),
    ("networking.k8s.io", "v1", "servicecidrs"),
    ("storage.k8s.io", "v1", "csidrivers"),
    ("storage.k8s.io", "v1", "csinodes"),
    ("storage.k8s.io", "v1", "csistoragecapacities"),
    ("storage.k8s.io", "v1", "volumeattachments"),
    ("storage.k8s.io", "v1", "volumeattributesclasses"),
];

static KNOWN: LazyLock<Vec<ResourceNames>> = LazyLock::new(built_in_names);

/// Reads the name of a resource. A built-in resource may have the name that kubectl knows: `deploy`, `Deployment`,
/// `apps/deployments`, `apps/v1/deployment`, `core/v1/configmaps`. A pattern is read too.
pub(in crate::config) fn resource(text: &str) -> Result<Gvr, Fault> {
    if let Some(pattern) = Gvr::pattern(text) {
        return pattern.map_err(|error| Fault::of(&error));
    }
    let found: Vec<&ResourceNames> = KNOWN.iter().filter(|names| is_named(names, text)).collect();
    match found.as_slice() {
        [] => text.parse().map_err(|error: InvalidGvr| Fault::of(&error)),
        [names] => Ok(full(names)),
        several => {
            let several: Vec<String> = several.iter().map(|names| format!("`{}`", full(names))).collect();
            Err(Fault::new(
                format!("`{text}` names several resources"),
                format!("write {}", several.join(" or ")),
            ))
        }
    }
}

/// The resources of Kubernetes in the groups and versions of the built-in API server.
pub(in crate::config) fn built_in() -> impl Iterator<Item = Gvr> {
    let others = OTHERS.iter().map(|(group, version, resource)| Gvr::new(*group, *version, *resource));
    KNOWN.iter().map(full).chain(others)
}

/// Returns true if kubectl reads `text` as a name of this resource: its plural, singular or kind, or a short name of a built-in
/// resource, alone, with its group, or with group and version. `deployments.apps` and `deployments.v1.apps` are such names too.
pub(crate) fn names_resource(text: &str, gvr: &Gvr) -> bool {
    let text = text.to_ascii_lowercase();
    let (text, has_group) = match text.split_once('.') {
        Some((name, rest)) if !text.contains('/') => {
            (name, rest == gvr.group || rest == format!("{}.{}", gvr.version, gvr.group))
        }
        _ => (text.as_str(), true),
    };
    let name = text.rsplit('/').next().unwrap_or(text);
    let known = KNOWN.iter().find(|known| known.group == gvr.group && known.plural == gvr.resource);
    let (kind, short) = match known {
        Some(known) => (known.kind.clone(), known.short.clone()),
        None if is_plural(&gvr.resource, name) => (name.to_owned(), Vec::new()),
        None => (String::new(), Vec::new()),
    };
    let Gvr { group, version, resource } = gvr.clone();
    let names = ResourceNames { group, version, plural: resource, kind, short };
    has_group && !name.is_empty() && is_named(&names, text)
}

/// Returns true if `plural` is a regular plural of `kind`, which is in lower case. Only the API server has the kind of a resource
/// that is not built-in.
fn is_plural(plural: &str, kind: &str) -> bool {
    let is_made_of = |stem: &str, ending: &str| plural.strip_prefix(stem) == Some(ending);
    is_made_of(kind, "s")
        || is_made_of(kind, "es")
        || kind.strip_suffix('y').is_some_and(|stem| is_made_of(stem, "ies"))
}

fn full(names: &ResourceNames) -> Gvr {
    Gvr::new(&*names.group, &*names.version, &*names.plural)
}

fn is_named(names: &ResourceNames, text: &str) -> bool {
    let parts: Vec<&str> = text.split('/').collect();
    let of_group = |group: &str| group == names.group || group == CORE && names.group.is_empty();
    let (of_this, name) = match *parts.as_slice() {
        [name] => (true, name),
        [first, name] => (of_group(first) || names.group.is_empty() && first == names.version, name),
        [group, version, name] => (of_group(group) && version == names.version, name),
        _ => return false,
    };
    let is_kind = name.eq_ignore_ascii_case(&names.kind);
    of_this && (is_kind || name == names.plural || names.short.iter().any(|short| short == name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_built_in_resource_is_found_by_the_names_that_kubectl_accepts() {
        for (text, full) in [
            ("apps/v1/deployments", "apps/v1/deployments"),
            ("apps/v1/deployment", "apps/v1/deployments"),
            ("apps/v1/Deployment", "apps/v1/deployments"),
            ("apps/deployments", "apps/v1/deployments"),
            ("deployments", "apps/v1/deployments"),
            ("Deployment", "apps/v1/deployments"),
            ("deploy", "apps/v1/deployments"),
            ("core/v1/configmaps", "v1/configmaps"),
            ("core/cm", "v1/configmaps"),
            ("v1/ConfigMap", "v1/configmaps"),
            ("cm", "v1/configmaps"),
            ("v1/events", "v1/events"),
            ("networkpolicy", "networking.k8s.io/v1/networkpolicies"),
        ] {
            assert_eq!(resource(text).unwrap().to_string(), full, "{text}");
        }
    }

    #[test]
    fn another_resource_has_its_full_name() {
        for text in ["example.com/v1/widgets", "apps/v1beta1/deployments", "example.com/v1/deployment"] {
            assert_eq!(resource(text).unwrap().to_string(), text);
        }
        for text in ["widgets", "example.com/v1/Widget", "v1/a/b/c", "", "deploy/v1"] {
            assert!(resource(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_name_of_several_resources_is_refused_with_their_full_names() {
        let fault = resource("ev").unwrap_err();

        let expected =
            Fault::new("`ev` names several resources", "write `v1/events` or `events.k8s.io/v1/events`");
        assert_eq!(fault, expected);
    }
}
