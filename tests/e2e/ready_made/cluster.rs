//! The objects of the embedded API server, as other clients read and write them.

use std::fmt::Debug;

use informer::{config::Access, connect::connect};
use kube::{
    Client,
    api::{Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams},
};
use serde_json::Value;

/// The resources of these tests: the plural, the API version and the kind.
pub(super) const RESOURCES: [(&str, &str, &str); 8] = [
    ("namespaces", "v1", "Namespace"),
    ("configmaps", "v1", "ConfigMap"),
    ("secrets", "v1", "Secret"),
    ("deployments", "apps/v1", "Deployment"),
    ("statefulsets", "apps/v1", "StatefulSet"),
    ("daemonsets", "apps/v1", "DaemonSet"),
    ("cronjobs", "batch/v1", "CronJob"),
    ("jobs", "batch/v1", "Job"),
];

/// A client without faults. Its requests about objects that are gone, exist already or are being deleted do nothing, because the
/// plugins under test may be faster.
#[derive(Clone)]
pub(super) struct Cluster {
    client: Client,
}

// === impl Cluster ===

impl Cluster {
    pub(super) async fn at(url: &str) -> Self {
        Self { client: connect(&Access::Server(url.parse().unwrap())).await.unwrap().client }
    }

    pub(super) fn client(&self) -> Client {
        self.client.clone()
    }

    /// All objects of a resource, or with a namespace those in it.
    pub(super) fn api(&self, plural: &str, namespace: &str) -> Api<DynamicObject> {
        let (_, version, kind) = RESOURCES.into_iter().find(|(own, ..)| *own == plural).unwrap();
        let (group, version) = version.split_once('/').unwrap_or(("", version));
        let kind = GroupVersionKind::gvk(group, version, kind);
        let resource = ApiResource::from_gvk_with_plural(&kind, plural);
        if namespace.is_empty() {
            return Api::all_with(self.client(), &resource);
        }
        Api::namespaced_with(self.client(), namespace, &resource)
    }

    pub(super) async fn get(&self, plural: &str, namespace: &str, name: &str) -> Option<Value> {
        let found = self.api(plural, namespace).get_opt(name).await.unwrap();
        found.map(|object| serde_json::to_value(object).unwrap())
    }

    pub(super) async fn create(&self, plural: &str, namespace: &str, mut object: Value) {
        let (_, version, kind) = RESOURCES.into_iter().find(|(own, ..)| *own == plural).unwrap();
        object["apiVersion"] = version.into();
        object["kind"] = kind.into();
        let object = serde_json::from_value(object).unwrap();
        unless_overtaken(self.api(plural, namespace).create(&PostParams::default(), &object).await);
    }

    pub(super) async fn merge(&self, plural: &str, namespace: &str, name: &str, patch: Value) {
        let patch = Patch::Merge(patch);
        let sent = self.api(plural, namespace).patch(name, &PatchParams::default(), &patch).await;
        unless_overtaken(sent);
    }

    /// Writes the whole object. Without a version in it, whatever is there is replaced.
    pub(super) async fn replace(&self, plural: &str, namespace: &str, name: &str, object: Value) {
        let object = serde_json::from_value(object).unwrap();
        let sent = self.api(plural, namespace).replace(name, &PostParams::default(), &object).await;
        unless_overtaken(sent);
    }

    pub(super) async fn delete(&self, plural: &str, namespace: &str, name: &str) {
        unless_overtaken(self.api(plural, namespace).delete(name, &DeleteParams::default()).await);
    }
}

fn unless_overtaken<T: Debug>(sent: kube::Result<T>) {
    match sent {
        Err(kube::Error::Api(status)) if [403, 404, 409].contains(&status.code) => {}
        sent => drop(sent.unwrap()),
    }
}
