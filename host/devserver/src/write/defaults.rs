//! The defaults that `kubectl get` and controllers rely on. kube-apiserver has many more.
//!
//! Defaults are applied to every write, as in kube-apiserver.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use crate::{crd, object::Object, registry::Resource};

/// The collections of `ObjectMeta` that are `omitempty`: an empty collection is left out.
const NEVER_EMPTY: [&str; 4] = ["labels", "annotations", "finalizers", "ownerReferences"];

/// Fills in fields that the client left out.
pub(super) fn apply(resource: &Resource, object: &mut Object) {
    omit_empty(object);
    if crd::is_definition(resource) {
        crd::defaults(object);
    }
    match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "namespaces") => namespace(object),
        ("", "pods") => {
            pod_spec(object, &["spec"]);
            object.default_at(&["status", "phase"], "Pending".into());
        }
        ("", "services") => service(object),
        ("", "secrets") => secret(object),
        ("apps", "deployments") => deployment(object),
        ("apps", "replicasets" | "statefulsets") | ("", "replicationcontrollers") => {
            object.default_at(&["spec", "replicas"], 1.into());
            pod_spec(object, &["spec", "template", "spec"]);
        }
        ("apps", "daemonsets") => pod_spec(object, &["spec", "template", "spec"]),
        ("batch", "jobs") => {
            object.default_at(&["spec", "parallelism"], 1.into());
            object.default_at(&["spec", "completions"], 1.into());
            object.default_at(&["spec", "backoffLimit"], 6.into());
        }
        ("batch", "cronjobs") => {
            object.default_at(&["spec", "suspend"], false.into());
            object.default_at(&["spec", "concurrencyPolicy"], "Allow".into());
        }
        _ => {}
    }
    if resource.status && !resource.custom {
        object.default_at(&["status"], json!({}));
    }
}

fn omit_empty(object: &mut Object) {
    let is_empty = |value: &Value| match value {
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        other => other.is_null(),
    };
    object.metadata.retain(|field, value| !(NEVER_EMPTY.contains(&field.as_str()) && is_empty(value)));
}

fn namespace(object: &mut Object) {
    let name = Value::from(object.name());
    let labels = object.metadata.entry("labels").or_insert_with(|| json!({}));
    if let Value::Object(labels) = labels {
        labels.insert("kubernetes.io/metadata.name".into(), name);
    }
    object.default_at(&["spec", "finalizers"], json!(["kubernetes"]));
    object.default_at(&["status", "phase"], "Active".into());
}

fn deployment(object: &mut Object) {
    object.default_at(&["spec", "replicas"], 1.into());
    object.default_at(&["spec", "strategy", "type"], "RollingUpdate".into());
    if object.at(&["spec", "strategy", "type"]).is_some_and(|kind| kind == "RollingUpdate") {
        object.default_at(&["spec", "strategy", "rollingUpdate", "maxSurge"], "25%".into());
        object.default_at(&["spec", "strategy", "rollingUpdate", "maxUnavailable"], "25%".into());
    }
    object.default_at(&["spec", "revisionHistoryLimit"], 10.into());
    object.default_at(&["spec", "progressDeadlineSeconds"], 600.into());
    pod_spec(object, &["spec", "template", "spec"]);
}

/// Does nothing if there is no spec: such an object stays as invalid as it was sent.
fn pod_spec(object: &mut Object, path: &[&str]) {
    if !object.at(path).is_some_and(Value::is_object) {
        return;
    }
    let at = |field| path.iter().copied().chain([field]).collect::<Vec<&str>>();
    object.default_at(&at("restartPolicy"), "Always".into());
    object.default_at(&at("dnsPolicy"), "ClusterFirst".into());
    object.default_at(&at("schedulerName"), "default-scheduler".into());
    object.default_at(&at("terminationGracePeriodSeconds"), 30.into());
}

fn service(object: &mut Object) {
    object.default_at(&["spec", "type"], "ClusterIP".into());
    object.default_at(&["spec", "sessionAffinity"], "None".into());
    let Some(Value::Object(spec)) = object.fields.get_mut("spec") else { return };
    let Some(Value::Array(ports)) = spec.get_mut("ports") else { return };
    for port in ports.iter_mut().filter_map(Value::as_object_mut) {
        port.entry("protocol").or_insert_with(|| "TCP".into());
        if let Some(number) = port.get("port").cloned() {
            port.entry("targetPort").or_insert(number);
        }
    }
}

/// Moves the write-only field `stringData` to `data`, in base64.
fn secret(object: &mut Object) {
    object.default_at(&["type"], "Opaque".into());
    let Some(Value::Object(texts)) = object.fields.remove("stringData") else { return };
    for (key, value) in texts {
        if let Some(text) = value.as_str() {
            object.set_at(&["data", &key], BASE64_STANDARD.encode(text).into());
        }
    }
}
