//! Every version of every object, as a watch of the API server reports them.

use std::{collections::BTreeMap, pin::pin, sync::Arc};

use futures::StreamExt;
use kube::api::{DynamicObject, ListParams, WatchEvent, WatchParams};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::task::JoinSet;

use super::cluster::{Cluster, RESOURCES};

/// The watches, which no fault reaches.
pub(super) struct History {
    seen: Arc<Mutex<Seen>>,
    _watches: JoinSet<()>,
}

/// The versions of all objects so far.
#[derive(Clone, Default)]
pub(super) struct Seen(BTreeMap<Id, Vec<Version>>);

/// The plural of a resource, a namespace and a name.
type Id = (&'static str, String, String);

/// One version of an object.
#[derive(Clone)]
pub(super) struct Version {
    /// The resource version. All resources of the server count together.
    pub(super) at: u64,
    /// `None` means deleted.
    pub(super) object: Option<Value>,
}

// === impl History ===

impl History {
    /// Watches everything from now on.
    pub(super) async fn start(cluster: &Cluster) -> Self {
        let (seen, mut watches) = (Arc::new(Mutex::new(Seen::default())), JoinSet::new());
        for (plural, ..) in RESOURCES {
            let api = cluster.api(plural, "");
            let listed = api.list(&ListParams::default()).await.unwrap().metadata.resource_version.unwrap();
            let seen = Arc::clone(&seen);
            watches.spawn(async move {
                let mut events = pin!(api.watch(&WatchParams::default(), &listed).await.unwrap());
                while let Some(event) = events.next().await {
                    seen.lock().note(plural, event.unwrap());
                }
            });
        }
        Self { seen, _watches: watches }
    }

    pub(super) fn seen(&self) -> Seen {
        self.seen.lock().clone()
    }
}

// === impl Seen ===

impl Seen {
    fn note(&mut self, plural: &'static str, event: WatchEvent<DynamicObject>) {
        let (object, is_deleted) = match event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => (object, false),
            WatchEvent::Deleted(object) => (object, true),
            WatchEvent::Bookmark(_) => return,
            WatchEvent::Error(error) => panic!("the watch of the test failed: {error:?}"),
        };
        let meta = &object.metadata;
        let id = (plural, meta.namespace.clone().unwrap_or_default(), meta.name.clone().unwrap());
        let at = meta.resource_version.as_ref().unwrap().parse().unwrap();
        let object = (!is_deleted).then(|| serde_json::to_value(&object).unwrap());
        self.0.entry(id).or_default().push(Version { at, object });
    }

    /// The versions of one object, oldest first.
    pub(super) fn versions(&self, plural: &'static str, namespace: &str, name: &str) -> &[Version] {
        let id = (plural, namespace.to_owned(), name.to_owned());
        self.0.get(&id).map(Vec::as_slice).unwrap_or_default()
    }

    /// An object as it is now.
    pub(super) fn now(&self, plural: &'static str, namespace: &str, name: &str) -> Option<&Value> {
        self.versions(plural, namespace, name).last()?.object.as_ref()
    }

    /// All objects of a resource that exist now: the namespace, the name and the object.
    pub(super) fn all(&self, plural: &'static str) -> impl Iterator<Item = (&str, &str, &Value)> {
        self.0.iter().filter(move |(id, _)| id.0 == plural).filter_map(|((_, namespace, name), versions)| {
            Some((namespace.as_str(), name.as_str(), versions.last()?.object.as_ref()?))
        })
    }

    /// All versions of all objects of a resource.
    pub(super) fn ever(&self, plural: &'static str) -> impl Iterator<Item = &Version> {
        self.0.iter().filter(move |(id, _)| id.0 == plural).flat_map(|(_, versions)| versions)
    }
}
