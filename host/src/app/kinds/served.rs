//! The kinds that discovery lists and that can be watched, each once.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use informer_types::Gvr;
use kube::core::discovery::v2::{APIGroupDiscovery, APIGroupDiscoveryList};

/// The `freshness` of an API whose own server did not answer.
const STALE: &str = "Stale";

/// The verbs that an informer needs.
const NEEDED: [&str; 2] = ["list", "watch"];

/// Resources whose objects the API server serves in a second group too, with the group of the first (D-22).
const AT_HOME: [(&str, &str, &str); 8] = [
    ("events", "events.k8s.io", ""),
    ("ingresses", "extensions", "networking.k8s.io"),
    ("networkpolicies", "extensions", "networking.k8s.io"),
    ("deployments", "extensions", "apps"),
    ("daemonsets", "extensions", "apps"),
    ("replicasets", "extensions", "apps"),
    ("podsecuritypolicies", "extensions", "policy"),
    ("replicationcontrollers", "extensions", ""),
];

/// The kinds that an API server serves and that can be watched.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::app) struct Served {
    /// Sorted by group and resource.
    kinds: Vec<Kind>,
    /// Each group and version whose server does not answer.
    failing: BTreeSet<String>,
}

/// One kind of objects.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Kind {
    /// All its names, the one that the API server prefers first. Never empty.
    pub(super) names: Vec<Gvr>,
    /// True if its objects have a namespace.
    pub(super) namespaced: bool,
}

/// Why the kinds are not known.
#[derive(Debug, thiserror::Error)]
pub(in crate::app) enum DiscoveryError {
    /// The API server refused a request, or cannot be reached.
    #[error("the API server does not answer discovery")]
    Request(#[from] kube::Error),
    /// It answers in the form of old versions.
    #[error("the API server has no aggregated discovery, which Kubernetes serves since version 1.26")]
    Unaggregated,
    /// It does not answer in time.
    #[error("the API server does not answer discovery within {0:?}")]
    Silent(Duration),
}

/// Requests the kinds from an API server.
///
/// # Errors
/// [`DiscoveryError`]
pub(in crate::app) async fn discover(client: &kube::Client) -> Result<Served, DiscoveryError> {
    let core = client.list_core_api_versions_aggregated();
    let (core, groups) = futures::future::try_join(core, client.list_api_groups_aggregated()).await?;
    // Every API server serves the core group; the old form has no items.
    if core.items.is_empty() {
        return Err(DiscoveryError::Unaggregated);
    }
    Ok(Served::of([core, groups]))
}

// === impl Served ===

impl Served {
    fn of(lists: [APIGroupDiscoveryList; 2]) -> Self {
        let (mut kinds, mut failing) = (BTreeMap::<(String, String), Kind>::new(), BTreeSet::new());
        for group in lists.into_iter().flat_map(|list| list.items) {
            let (served, stale) = of_group(group);
            failing.extend(stale);
            for (gvr, namespaced) in served {
                let kind = kinds.entry((home(&gvr).to_owned(), gvr.resource.clone())).or_default();
                kind.namespaced = namespaced;
                kind.names.push(gvr);
            }
        }
        for ((home, _), kind) in &mut kinds {
            // Within a group the preferred version stays first.
            kind.names.sort_by_key(|name| name.group != *home);
        }
        Self { kinds: kinds.into_values().collect(), failing }
    }

    pub(super) fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    /// Each group and version whose server does not answer.
    pub(super) fn failing(&self) -> &BTreeSet<String> {
        &self.failing
    }

    /// Returns these kinds and the earlier kinds that may still be served: those of an API that does not answer now, and those
    /// that an informer still follows. One of several API servers may lag behind the others, so one answer ends no watch.
    pub(super) fn after(mut self, before: &Self, is_followed: impl Fn(&Gvr) -> bool) -> Self {
        for kind in &before.kinds {
            let Some(name) = kind.names.first() else { continue };
            if self.kinds.iter().any(|one| one.names.contains(name)) {
                continue;
            }
            let fails = self.failing.contains(&name.api_version());
            match self.kinds.iter_mut().find(|one| one.is(name)) {
                // The earlier version stays, because the other one would be a new subscription.
                Some(other) if fails => other.clone_from(kind),
                Some(_) => {}
                None if fails || is_followed(name) => self.kinds.push(kind.clone()),
                None => {}
            }
        }
        let place =
            |kind: &Kind| kind.names.first().map(|name| (home(name).to_owned(), name.resource.clone()));
        self.kinds.sort_by_key(place);
        self
    }
}

// === impl Kind ===

impl Kind {
    /// Returns true if this is a name of the kind, in any version.
    fn is(&self, gvr: &Gvr) -> bool {
        self.names.iter().any(|name| name.covers(gvr))
    }
}

/// The resources of a group that can be watched, the preferred version of each first, and the versions that do not answer.
fn of_group(group: APIGroupDiscovery) -> (Vec<(Gvr, bool)>, Vec<String>) {
    let name = group.metadata.and_then(|metadata| metadata.name).unwrap_or_default();
    let (mut served, mut failing) = (Vec::new(), Vec::new());
    for version in group.versions {
        let Some(number) = version.version else { continue };
        if version.freshness.as_deref() == Some(STALE) {
            failing.push(Gvr::new(&*name, &*number, "").api_version());
        }
        for resource in version.resources {
            let can = |verb: &&str| resource.verbs.iter().any(|allowed| allowed == verb);
            let gvr = Gvr::new(&*name, &*number, resource.resource.unwrap_or_default());
            // An invalid name would become part of a path.
            if NEEDED.iter().all(can) && gvr.to_string().parse::<Gvr>().is_ok_and(|read| read == gvr) {
                served.push((gvr, resource.scope.as_deref() == Some("Namespaced")));
            }
        }
    }
    (served, failing)
}

/// The group in which the objects of this resource are watched.
fn home(gvr: &Gvr) -> &str {
    let other = AT_HOME.iter().find(|(resource, group, _)| gvr.resource == *resource && gvr.group == *group);
    other.map_or(&gvr.group, |(.., home)| home)
}

#[cfg(test)]
pub(super) mod tests;
