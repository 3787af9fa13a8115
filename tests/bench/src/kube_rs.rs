//! A peer: watcher and reflector of kube-rs with a handler in the same process.

use std::{fmt::Debug, hash::Hash};

use anyhow::{Context, Result};
use futures::StreamExt;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::DynamicObject,
    runtime::{
        WatchStreamExt,
        reflector::{Store, store::Writer},
        watcher::{self, Event, watcher},
    },
};
use serde::de::DeserializeOwned;
use tokio::task::JoinSet;

use crate::{
    collection::Kind,
    subject::{Counter, ManagedFields, Plan, Subject},
};

/// An object type that the peer caches.
pub trait Kept:
    Resource<DynamicType: Clone + Eq + Hash + Unpin + Send + Sync>
    + Clone
    + Debug
    + DeserializeOwned
    + Send
    + Sync
    + 'static
{
    /// The two fields that each handler reads. Returns `None` if one of them is missing.
    fn two_fields(&self, kind: Kind) -> Option<[&str; 2]>;
}

/// `watcher` and `reflector` over all objects as this type, combined as in their documentation.
pub struct KubeRs<K: Kept>
where
    K::DynamicType: Eq + Hash + Clone,
{
    resource: K::DynamicType,
    config: watcher::Config,
    kind: Kind,
    managed_fields: ManagedFields,
    store: Option<Store<K>>,
    /// The task that watches and handles. It ends when this is dropped.
    task: JoinSet<()>,
}

// === impl KubeRs ===

impl<K: Kept> KubeRs<K>
where
    K::DynamicType: Eq + Hash + Clone,
{
    /// The peer for this resource.
    pub fn new(plan: &Plan, resource: K::DynamicType) -> Self {
        Self {
            resource,
            config: watcher::Config::default().page_size(plan.page_size),
            kind: plan.kind,
            managed_fields: plan.managed_fields,
            store: None,
            task: JoinSet::new(),
        }
    }
}

impl<K: Kept> Subject for KubeRs<K>
where
    K::DynamicType: Eq + Hash + Clone,
{
    fn start(&mut self, client: &Client, counter: &Counter) -> Result<()> {
        let api: Api<K> = Api::all_with(client.clone(), &self.resource);
        let writer = Writer::new(self.resource.clone());
        self.store = Some(writer.as_reader());
        let drop_managed_fields = self.managed_fields == ManagedFields::Drop;
        let events = watcher(api, self.config.clone())
            .default_backoff()
            .modify(move |object| {
                if drop_managed_fields {
                    object.managed_fields_mut().clear();
                }
            })
            .reflect(writer);
        self.task.spawn(handle(events, self.kind, counter.clone()));
        Ok(())
    }

    async fn cached(&self) -> Result<()> {
        let store = self.store.as_ref().context("not started")?;
        store.wait_until_ready().await.context("the reflector ended")
    }

    fn objects(&self) -> usize {
        self.store.as_ref().map_or(0, Store::len)
    }
}

/// The native handler: reads two fields of each object and counts it.
async fn handle<K: Kept>(
    events: impl futures::Stream<Item = Result<Event<K>, watcher::Error>>,
    kind: Kind,
    counter: Counter,
) {
    let mut events = std::pin::pin!(events);
    while let Some(event) = events.next().await {
        match event {
            Ok(Event::Apply(object) | Event::InitApply(object)) if object.two_fields(kind).is_some() => {
                counter.add();
            }
            Ok(Event::Init | Event::InitDone) => {}
            Ok(Event::Apply(object) | Event::InitApply(object)) => {
                return counter.fail(format!("{} lacks a field", object.name_any()));
            }
            Ok(Event::Delete(object)) => {
                return counter.fail(format!("{} was deleted", object.name_any()));
            }
            Err(error) => return counter.fail(format!("the watcher failed: {error}")),
        }
    }
    counter.fail("the watcher ended".to_owned());
}

// === impl Kept ===

impl Kept for Pod {
    fn two_fields(&self, _: Kind) -> Option<[&str; 2]> {
        let phase = self.status.as_ref()?.phase.as_deref()?;
        Some([phase, self.spec.as_ref()?.node_name.as_deref()?])
    }
}

impl Kept for ConfigMap {
    fn two_fields(&self, _: Kind) -> Option<[&str; 2]> {
        let data = self.data.as_ref()?;
        Some([data.get("mode")?, data.get("release")?])
    }
}

impl Kept for DynamicObject {
    fn two_fields(&self, kind: Kind) -> Option<[&str; 2]> {
        let [first, second] = kind.two_fields().map(|pointer| self.data.pointer(pointer)?.as_str());
        Some([first?, second?])
    }
}
