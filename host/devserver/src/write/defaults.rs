//! The defaults that `kubectl get` and controllers rely on. kube-apiserver has many more.
//!
//! Defaults are applied to every write, as in kube-apiserver.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use crate::{
    crd,
    object::{Object, fill},
    registry::Resource,
};

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
            pod_spec(object.fields.get_mut("spec"));
            object.fill(json!({"status": {"phase": "Pending"}}));
        }
        ("", "services") => service(object),
        ("", "secrets") => secret(object),
        ("apps", "deployments") => deployment(object),
        ("apps", "replicasets" | "statefulsets") | ("", "replicationcontrollers") => {
            object.fill(json!({"spec": {"replicas": 1}}));
            template(object);
        }
        ("apps", "daemonsets") => template(object),
        ("batch", "jobs") => {
            object.fill(json!({"spec": {"parallelism": 1, "completions": 1, "backoffLimit": 6}}));
        }
        ("batch", "cronjobs") => {
            object.fill(json!({"spec": {"suspend": false, "concurrencyPolicy": "Allow"}}));
        }
        _ => {}
    }
    if resource.status && !resource.custom {
        object.fill(json!({"status": {}}));
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
    object.fill(json!({"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}));
}

fn deployment(object: &mut Object) {
    object.fill(json!({"spec": {
        "replicas": 1,
        "strategy": {"type": "RollingUpdate"},
        "revisionHistoryLimit": 10,
        "progressDeadlineSeconds": 600,
    }}));
    if object.text_at(&["spec", "strategy", "type"]) == "RollingUpdate" {
        let rolling = json!({"maxSurge": "25%", "maxUnavailable": "25%"});
        object.fill(json!({"spec": {"strategy": {"rollingUpdate": rolling}}}));
    }
    template(object);
}

fn template(object: &mut Object) {
    pod_spec(object.fields.get_mut("spec").and_then(|spec| spec.get_mut("template")?.get_mut("spec")));
}

/// Does nothing if there is no spec: such an object stays as invalid as it was sent.
fn pod_spec(spec: Option<&mut Value>) {
    if let Some(spec) = spec.filter(|spec| spec.is_object()) {
        let defaults = json!({
            "restartPolicy": "Always",
            "dnsPolicy": "ClusterFirst",
            "schedulerName": "default-scheduler",
            "terminationGracePeriodSeconds": 30,
        });
        fill(spec, defaults);
    }
}

fn service(object: &mut Object) {
    object.fill(json!({"spec": {"type": "ClusterIP", "sessionAffinity": "None"}}));
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
    if object.text_at(&["type"]).is_empty() {
        object.set_at(&["type"], "Opaque".into());
    }
    let Some(Value::Object(texts)) = object.fields.remove("stringData") else { return };
    for (key, value) in texts {
        if let Some(text) = value.as_str() {
            object.set_at(&["data", &key], BASE64_STANDARD.encode(text).into());
        }
    }
}
