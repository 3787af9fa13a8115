//! Changes objects with direct requests to the API server.

use std::sync::Arc;

use http::{Method, Request};
use kube::Client;
use serde_json::{Value, json};
use tokio::sync::RwLock;

use super::{
    pace::Pace,
    plan::{Change, Step},
    resource::{RUN_LABEL, Resource},
    truth::{Id, Truth},
};

/// The client of all writers. A restart of the API server holds the lock exclusively and leaves a new client.
pub(super) type Gate = Arc<RwLock<Client>>;

pub(super) struct Writer {
    pub(super) gate: Gate,
    /// The name of the run, which is its namespace and its label.
    pub(super) run: String,
    pub(super) truth: Truth,
}

// === impl Writer ===

impl Writer {
    pub(super) fn new(gate: Gate, run: &str) -> Self {
        Self { gate, run: run.to_owned(), truth: Truth::default() }
    }

    /// Makes the changes one after the other, each when the pace allows it.
    pub(super) async fn work(mut self, changes: Vec<Change>, pace: Arc<Pace>) -> Truth {
        for change in changes {
            pace.turn().await;
            self.apply(change).await;
            pace.done();
        }
        self.truth
    }

    pub(super) async fn apply(&mut self, change: Change) {
        let Change { resource, step, value, .. } = change;
        let name = if resource.is_namespaced() {
            format!("object-{}", change.name)
        } else {
            format!("{}-{}", self.run, change.name)
        };
        self.write(resource, &name, step, value).await;
    }

    /// Creates one last object of each resource, which marks the end of all changes.
    pub(super) async fn sentinels(mut self) -> Truth {
        for resource in Resource::ALL {
            let name = format!("{}-sentinel", self.run);
            self.write(resource, &name, Step::Create { held: false }, 1).await;
        }
        self.truth
    }

    async fn write(&mut self, resource: Resource, name: &str, step: Step, value: usize) {
        let collection = resource.path(&self.run);
        let object = format!("{collection}/{name}");
        let merge = |patch: Value| (Method::PATCH, object.clone(), patch);
        let (method, path, body) = match step {
            Step::Create { held } => {
                (Method::POST, collection, resource.object(&self.run, name, held, value))
            }
            Step::Label => merge(json!({"metadata": {"labels": {"value": value.to_string()}}})),
            Step::Spec => merge(resource.spec(value)),
            Step::Status => (Method::PATCH, format!("{object}/status"), resource.status(value)),
            Step::Delete { .. } => (Method::DELETE, object, json!({})),
            Step::Release => merge(json!({"metadata": {"finalizers": null}})),
        };
        let answer = self.request(method, &path, &body).await;
        let id: Id = match resource.is_namespaced() {
            true => (resource, format!("{}/{name}", self.run)),
            false => (resource, name.to_owned()),
        };
        if matches!(step, Step::Release | Step::Delete { held: false }) {
            // A pod is always marked for deletion before it is deleted, even without a finalizer.
            let marked = resource == Resource::Pods && step != Step::Release;
            self.truth.ended(&id, marked);
        } else {
            let metadata = &answer["metadata"];
            let version = metadata["resourceVersion"].as_str().unwrap().parse().unwrap();
            self.truth.wrote(&id, metadata["uid"].as_str().unwrap(), version);
        }
    }

    async fn request(&self, method: Method, path: &str, body: &Value) -> Value {
        let client = self.gate.read().await;
        let text = format!("{method} {path}");
        request(&client, method, path, body).await.unwrap_or_else(|error| panic!("{text}: {error}"))
    }
}

pub(super) async fn request(
    client: &Client,
    method: Method,
    path: &str,
    body: &Value,
) -> Result<Value, kube::Error> {
    let kind = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
    let request = Request::builder().method(method).uri(path).header(http::header::CONTENT_TYPE, kind);
    client.request(request.body(serde_json::to_vec(body).unwrap()).unwrap()).await
}

/// A fresh list of the run's objects of this resource.
pub(super) async fn list(client: &Client, resource: Resource, run: &str) -> Vec<Value> {
    let path = format!("{}?labelSelector={RUN_LABEL}%3D{run}", resource.path(run));
    let request = Request::get(path).body(Vec::new()).unwrap();
    let list: Value = client.request(request).await.unwrap();
    list["items"].as_array().unwrap().iter().map(|item| resource.with_type(item.clone())).collect()
}
