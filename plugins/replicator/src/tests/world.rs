//! A cluster without time: each change is delivered, and each key reconciled, until nothing is left to do.

use std::collections::{BTreeMap, BTreeSet};

use informer_sdk::{
    Cause, Config, Controller, Handler, ObjectKey, ReconcileError, Reconciled, lister, testing::TestHost,
    workqueue,
};
use serde_json::{Value, json};

use super::super::{Replicator, cache::NAMESPACES, kind::KINDS};

pub(super) const MAPS: &str = "v1/configmaps";
pub(super) const SECRETS: &str = "v1/secrets";
pub(super) const BINDINGS: &str = "rbac.authorization.k8s.io/v1/rolebindings";

/// More calls than any test needs. A plugin that needs more of them reacts to its own writes without end.
const MOST_CALLS: usize = 500;

pub(super) struct World {
    pub(super) host: TestHost,
    pub(super) plugin: Replicator,
    /// Why calls failed. Each is made again.
    pub(super) failures: Vec<String>,
    delivered: BTreeMap<(String, String), Value>,
    cause: Cause,
}

/// An object with `data`.
#[expect(clippy::needless_pass_by_value, reason = "each caller has it from json!")]
pub(super) fn map(key: &str, annotations: Value, data: Value) -> Value {
    let key: ObjectKey = key.parse().unwrap();
    // The version differs with the content, as on a server.
    let version =
        format!("{annotations}{data}").bytes().fold(7_u64, |sum, byte| sum * 31 % 99_991 + u64::from(byte));
    json!({"metadata": {"namespace": key.namespace, "name": key.name, "uid": format!("uid of {key}"),
        "resourceVersion": version.to_string(), "annotations": annotations}, "data": data})
}

#[expect(clippy::needless_pass_by_value, reason = "each caller has it from json!")]
pub(super) fn namespace(name: &str, labels: Value) -> Value {
    json!({"metadata": {"name": name, "labels": labels}})
}

// === impl World ===

impl World {
    /// A cluster with these namespaces. The plugin watches all kinds in it.
    #[expect(clippy::needless_pass_by_value, reason = "each caller has it from json!")]
    pub(super) fn new<const N: usize>(config: Value, namespaces: [&str; N]) -> Self {
        let host = TestHost::new();
        for gvr in KINDS.map(|kind| kind.gvr) {
            host.set_synced(gvr, true);
        }
        host.set_synced(NAMESPACES, true);
        let plugin = plugin(&config);
        let delivered = BTreeMap::new();
        let mut world = Self { host, plugin, failures: Vec::new(), delivered, cause: Cause::Initial };
        for name in namespaces {
            world.put(NAMESPACES, namespace(name, json!({"kubernetes.io/metadata.name": name})));
        }
        world.cause = Cause::Live;
        world
    }

    /// Creates or changes an object.
    pub(super) fn put(&mut self, gvr: &str, object: Value) {
        self.host.store(gvr, object);
        self.run();
    }

    pub(super) fn delete(&mut self, gvr: &str, key: &str) {
        self.host.remove(gvr, &key.parse().unwrap());
        self.run();
    }

    /// Deletes an object while the plugin does not run.
    pub(super) fn lose(&mut self, gvr: &str, key: &str) {
        self.host.remove(gvr, &key.parse().unwrap());
        self.delivered.remove(&(gvr.to_owned(), key.to_owned()));
    }

    /// Starts the plugin anew. It receives each object as a part of the first list.
    pub(super) fn restart(&mut self) {
        self.delivered.clear();
        self.cause = Cause::Initial;
        self.run();
        self.cause = Cause::Live;
    }

    #[expect(clippy::needless_pass_by_value, reason = "each caller has it from json!")]
    pub(super) fn configure(&mut self, config: Value) {
        self.plugin = plugin(&config);
    }

    pub(super) fn get(&self, gvr: &str, key: &str) -> Option<Value> {
        lister::get(gvr, &key.parse().unwrap()).unwrap()
    }

    /// The writes as `create blog/web`, and the Events as `event blog/web`.
    pub(super) fn requests(&self) -> Vec<String> {
        self.host.requests().iter().map(|request| format!("{} {}", request.verb, request.key)).collect()
    }

    pub(super) fn logged(&self, start: &str) -> bool {
        self.host.log().iter().any(|line| line.message.starts_with(start))
    }

    fn run(&mut self) {
        for _ in 0..MOST_CALLS {
            self.deliver();
            let Some(key) = self.host.take_key() else { return };
            match self.plugin.reconcile(&key) {
                // Time does not pass.
                Ok(Reconciled::Done | Reconciled::RequeueAfter(_)) => {}
                Ok(_) => workqueue::add(&key).unwrap(),
                Err(ReconcileError::Retry(why)) => {
                    self.failures.push(why);
                    workqueue::add(&key).unwrap();
                }
                Err(ReconcileError::Terminal(why)) => panic!("{why}"),
            }
        }
        panic!("the plugin does not come to rest: {:?}", self.requests());
    }

    /// Delivers each object that differs from its last delivered state.
    fn deliver(&mut self) {
        let mut now = BTreeMap::new();
        for gvr in KINDS.map(|kind| kind.gvr).into_iter().chain([NAMESPACES]) {
            for text in lister::list_json(gvr, &lister::Selector::all()) {
                let object: Value = serde_json::from_str(&text.unwrap()).unwrap();
                let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
                let key = ObjectKey::new(text("namespace"), text("name")).to_string();
                now.insert((gvr.to_owned(), key), object);
            }
        }
        let before = std::mem::replace(&mut self.delivered, now.clone());
        for at in before.keys().chain(now.keys()).collect::<BTreeSet<_>>() {
            let gvr = at.0.as_str();
            match (before.get(at).cloned(), now.get(at).cloned()) {
                (None, Some(new)) => self.plugin.on_add(self.host.event(gvr, new), self.cause),
                (Some(old), Some(new)) if old != new => {
                    self.plugin.on_update(self.host.update(gvr, old, new), self.cause)
                }
                (Some(old), None) => self.plugin.on_delete(self.host.event(gvr, old), true),
                _ => Ok(()),
            }
            .unwrap();
        }
        self.host.end_call();
    }
}

fn plugin(config: &Value) -> Replicator {
    let now = || "2026-05-01T13:00:00Z".parse().unwrap();
    Replicator { now, ..Replicator::start(Config::from_json(config.to_string())).unwrap() }
}
