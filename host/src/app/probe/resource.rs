//! The resource that a person names.

use std::collections::BTreeMap;

use informer_types::{Gvr, some_of};

use crate::config::{names_resource, nearest};

/// The resources that a person may name.
#[derive(Clone, Copy)]
pub(super) enum Scope {
    /// Watched resources.
    Watched,
    /// Watched resources, and those of dead letters, which the configuration may no longer watch.
    WatchedOrInLetters,
}

/// Returns the resource with this name, and its value. The name is the full one, or another one that kubectl accepts. If several
/// resources have the name, one of them must be in the scope and the others not.
///
/// # Errors
/// A sentence for the caller: no resource of the scope has the name, or several do.
pub(super) fn named<'a, T>(
    resources: &'a BTreeMap<Gvr, T>,
    name: &str,
    scope: Scope,
) -> Result<(&'a Gvr, &'a T), String> {
    if let Some(exact) = resources.iter().find(|(gvr, _)| gvr.to_string() == name) {
        return Ok(exact);
    }
    let named: Vec<(&Gvr, &T)> = resources.iter().filter(|(gvr, _)| names_resource(name, gvr)).collect();
    match named.as_slice() {
        [] => Err(unnamed(&resources.keys().collect::<Vec<_>>(), name, scope)),
        [found] => Ok(*found),
        several => {
            let several: Vec<String> = several.iter().map(|(gvr, _)| format!("`{gvr}`")).collect();
            let which = match scope {
                Scope::Watched => "watched resources",
                Scope::WatchedOrInLetters => "resources that are watched or have dead letters",
            };
            Err(format!("`{name}` names several {which}; write {}", several.join(" or ")))
        }
    }
}

fn unnamed(resources: &[&Gvr], name: &str, scope: Scope) -> String {
    let (missing, none, those) = match scope {
        Scope::Watched => ("is not watched for any plugin", "there are no watches", "watched are"),
        Scope::WatchedOrInLetters => (
            "is not watched for any plugin and has no dead letters",
            "there are no watches and no dead letters of objects",
            "watched or with dead letters are",
        ),
    };
    let full: Vec<String> = resources.iter().map(ToString::to_string).collect();
    let remedy = if full.is_empty() {
        none.to_owned()
    } else {
        let quoted: Vec<String> = full.iter().map(|gvr| format!("`{gvr}`")).collect();
        format!("{those} {}", some_of(&quoted))
    };
    let plurals = || resources.iter().map(|gvr| gvr.resource.as_str());
    let by_plural = || {
        let like = nearest(name, plurals())?;
        plurals().zip(&full).find_map(|(plural, gvr)| (plural == like).then_some(gvr.as_str()))
    };
    let like = nearest(name, full.iter().map(String::as_str)).or_else(by_plural).filter(|_| full.len() > 1);
    let question = like.map(|like| format!("; did you mean `{like}`?")).unwrap_or_default();
    format!("`{name}` {missing}; {remedy}{question}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resources(names: &[&str]) -> BTreeMap<Gvr, ()> {
        names.iter().map(|name| (name.parse().unwrap(), ())).collect()
    }

    #[test]
    fn a_watched_resource_is_found_by_the_names_that_kubectl_accepts() {
        let resources = resources(&[
            "v1/pods",
            "v1/configmaps",
            "v1/events",
            "apps/v1/deployments",
            "cert-manager.io/v1/certificates",
            "example.com/v1/network-policies",
            "example.com/v1/proxies",
            "gateway.networking.k8s.io/v1/gateways",
        ]);
        let full = |name: &str| named(&resources, name, Scope::Watched).map(|(gvr, ())| gvr.to_string());
        for (name, expected) in [
            ("v1/pods", "v1/pods"),
            ("po", "v1/pods"),
            ("pod", "v1/pods"),
            ("Pod", "v1/pods"),
            ("pods.v1.", "v1/pods"),
            ("core/v1/pods", "v1/pods"),
            ("cm", "v1/configmaps"),
            // The short name of `events.k8s.io/v1/events` too, which is not watched.
            ("ev", "v1/events"),
            ("deploy", "apps/v1/deployments"),
            ("deployments.apps", "apps/v1/deployments"),
            ("Deployment.v1.apps", "apps/v1/deployments"),
            ("apps/deployment", "apps/v1/deployments"),
            ("certificates", "cert-manager.io/v1/certificates"),
            ("Certificate", "cert-manager.io/v1/certificates"),
            ("certificate.cert-manager.io", "cert-manager.io/v1/certificates"),
            ("cert-manager.io/certificates", "cert-manager.io/v1/certificates"),
            ("proxy", "example.com/v1/proxies"),
            ("Gateway", "gateway.networking.k8s.io/v1/gateways"),
        ] {
            assert_eq!(full(name).as_deref(), Ok(expected), "{name}");
        }
        for name in ["", "v1/", "apps/", "pods.apps", "deployments.v2.apps", "nodes", "apps/pods", "a/b/c/d"]
        {
            assert!(full(name).is_err(), "{name}");
        }
    }

    #[test]
    fn a_resource_that_is_not_watched_is_reported_with_the_watches() {
        let refused =
            |names: &[&str], name: &str| named(&resources(names), name, Scope::Watched).unwrap_err();
        let two = ["v1/configmaps", "apps/v1/deployments"];

        assert_eq!(refused(&[], "po"), "`po` is not watched for any plugin; there are no watches");
        assert_eq!(
            refused(&two[..1], "po"),
            "`po` is not watched for any plugin; watched are `v1/configmaps`"
        );
        for name in ["deplyments", "apps/v1/deplyments"] {
            assert_eq!(
                refused(&two, name),
                format!(
                    "`{name}` is not watched for any plugin; watched are `v1/configmaps`, `apps/v1/deployments`; did you mean `apps/v1/deployments`?"
                )
            );
        }
        assert_eq!(
            refused(&["v1/events", "events.k8s.io/v1/events"], "ev"),
            "`ev` names several watched resources; write `v1/events` or `events.k8s.io/v1/events`"
        );
    }

    /// The list for dead letters has resources that are no longer watched.
    #[test]
    fn a_resource_without_a_watch_and_dead_letters_is_reported_with_those_that_have_them() {
        let refused = |names: &[&str], name: &str| {
            named(&resources(names), name, Scope::WatchedOrInLetters).unwrap_err()
        };

        assert_eq!(
            refused(&[], "po"),
            "`po` is not watched for any plugin and has no dead letters; there are no watches and no dead letters of objects"
        );
        assert_eq!(
            refused(&["v1/configmaps"], "po"),
            "`po` is not watched for any plugin and has no dead letters; watched or with dead letters are `v1/configmaps`"
        );
        assert_eq!(
            refused(&["v1/events", "events.k8s.io/v1/events"], "ev"),
            "`ev` names several resources that are watched or have dead letters; write `v1/events` or `events.k8s.io/v1/events`"
        );
    }
}
