//! The resources whose objects have no namespace, as the API server reports.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use http::Request;
use informer_types::Gvr;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResourceList;
use tokio::time::{Instant, timeout};

use crate::config::Tenancy;

/// Time for one answer. A Plugin that wants a resource without namespaces receives nothing of it in any case; it only learns
/// later why.
const ANSWERED_WITHIN: Duration = Duration::from_secs(5);

/// Time between two questions about a resource that is not known.
const AGAIN: Duration = Duration::from_secs(60);

/// The scopes that are known.
pub(super) struct Scopes {
    client: kube::Client,
    is_cluster_scoped: BTreeMap<Gvr, bool>,
    looked: Option<Instant>,
}

// === impl Scopes ===

impl Scopes {
    pub(super) fn new(client: kube::Client) -> Self {
        Self { client, is_cluster_scoped: BTreeMap::new(), looked: None }
    }

    /// Returns the resources of `[tenancy]` that are known to be cluster-scoped, after a question about those that are not known.
    pub(super) async fn cluster_scoped(&mut self, tenancy: &Tenancy) -> Vec<Gvr> {
        let read = tenancy.read.iter().map(|(gvr, ..)| gvr);
        let wanted: BTreeSet<&Gvr> = read.chain(tenancy.write.iter().map(|line| &line.gvr)).collect();
        let unknown: BTreeSet<&Gvr> =
            wanted.iter().copied().filter(|gvr| !self.is_cluster_scoped.contains_key(gvr)).collect();
        let due = self.looked.is_none_or(|at| at.elapsed() >= AGAIN);
        if !unknown.is_empty() && due {
            self.looked = Some(Instant::now());
            let roots: BTreeSet<String> = unknown.iter().map(|gvr| gvr.api_root()).collect();
            for root in roots {
                let served = self.resources(&root).await;
                for gvr in unknown.iter().filter(|gvr| gvr.api_root() == root) {
                    if let Some(namespaced) = served.get(&gvr.resource) {
                        self.is_cluster_scoped.insert((*gvr).clone(), !namespaced);
                    }
                }
            }
        }
        wanted.into_iter().filter(|gvr| self.is_cluster_scoped.get(gvr) == Some(&true)).cloned().collect()
    }

    /// Forgets the scopes that may have changed: they are looked up again at once.
    pub(super) fn renew(&mut self) {
        self.looked = None;
    }

    /// The resources of a group and version, and whether each is namespaced. Empty if the server does not answer.
    async fn resources(&self, root: &str) -> BTreeMap<String, bool> {
        let Ok(request) = Request::get(root).body(Vec::new()) else { return BTreeMap::new() };
        let answered = timeout(ANSWERED_WITHIN, self.client.request::<APIResourceList>(request)).await;
        match answered {
            Ok(Ok(list)) => list.resources.into_iter().map(|one| (one.name, one.namespaced)).collect(),
            Ok(Err(error)) => {
                tracing::debug!(root, %error, "the scopes of its resources are not known yet");
                BTreeMap::new()
            }
            Err(_) => BTreeMap::new(),
        }
    }
}
