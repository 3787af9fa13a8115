//! The resources whose objects have no namespace, as the API server reports.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use futures::future::join_all;
use http::Request;
use informer_types::Gvr;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResourceList;
use tokio::time::{Instant, timeout};

use crate::config::Tenancy;

/// Time for one answer. A Plugin that subscribes to a cluster-scoped resource receives nothing in any case; without the answer,
/// its status only shows the reason later.
const ANSWERED_WITHIN: Duration = Duration::from_secs(5);

/// Time between two lookups. A definition that is deleted and created again may have another scope.
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

    /// Returns the resources of `[tenancy]` that are known to be cluster-scoped, after a lookup if one is due.
    pub(super) async fn cluster_scoped(&mut self, tenancy: &Tenancy) -> Vec<Gvr> {
        let read = tenancy.read.iter().map(|(gvr, ..)| gvr);
        let wanted: BTreeSet<&Gvr> = read.chain(tenancy.write.iter().map(|line| &line.gvr)).collect();
        if self.looked.is_none_or(|at| at.elapsed() >= AGAIN) {
            self.looked = Some(Instant::now());
            let roots: BTreeSet<String> = wanted.iter().map(|gvr| gvr.api_root()).collect();
            // All requests are sent at once, so that several servers that do not answer take no longer than one.
            let lists = join_all(roots.iter().map(|root| self.resources(root))).await;
            for (root, served) in roots.iter().zip(lists) {
                for gvr in wanted.iter().filter(|gvr| gvr.api_root() == *root) {
                    // A resource that the server does not serve keeps the scope that it had.
                    if let Some(namespaced) = served.get(&gvr.resource) {
                        self.is_cluster_scoped.insert((*gvr).clone(), !namespaced);
                    }
                }
            }
        }
        wanted.into_iter().filter(|gvr| self.is_cluster_scoped.get(gvr) == Some(&true)).cloned().collect()
    }

    /// Makes the next lookup due at once.
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

#[cfg(test)]
mod tests {
    use std::{
        convert::Infallible,
        future::ready,
        sync::{
            Arc,
            atomic::{AtomicBool, Ordering},
        },
    };

    use http::Response;
    use kube::client::Body;
    use serde_json::json;
    use tokio::time::advance;

    use super::*;
    use crate::config::{Components, Environment, Place, parse};

    fn tenancy() -> Tenancy {
        let text = "[[watch]]\ngvr = \"acme.dev/v1/things\"\n[tenancy]\nnamespaces = [\"shop\"]\n\
                    read = [\"acme.dev/v1/things\"]\nregistries = [\"ghcr.io/acme/*\"]\n";
        let place = Place { file: "f".as_ref(), base: "/".as_ref(), environment: &Environment::default() };
        parse(text, &place, Components::Unseen).unwrap().tenancy.unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_definition_that_is_created_again_with_another_scope_is_noticed() {
        let namespaced = Arc::new(AtomicBool::new(true));
        let now = Arc::clone(&namespaced);
        let server = tower::service_fn(move |_: Request<Body>| {
            let thing = json!({
                "name": "things", "singularName": "thing", "kind": "Thing", "verbs": ["get"],
                "namespaced": now.load(Ordering::Relaxed),
            });
            let list = json!({
                "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "acme.dev/v1",
                "resources": [thing],
            });
            ready(Ok::<_, Infallible>(Response::new(Body::from(list.to_string().into_bytes()))))
        });
        let mut scopes = Scopes::new(kube::Client::new(server, "default"));
        let tenancy = tenancy();
        assert!(scopes.cluster_scoped(&tenancy).await.is_empty());

        namespaced.store(false, Ordering::Relaxed);
        assert!(scopes.cluster_scoped(&tenancy).await.is_empty(), "the next lookup is not due");
        advance(AGAIN).await;

        assert_eq!(scopes.cluster_scoped(&tenancy).await, ["acme.dev/v1/things".parse::<Gvr>().unwrap()]);
    }
}
