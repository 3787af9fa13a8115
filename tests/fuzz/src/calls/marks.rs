//! Objects with marks, and who may see a mark.

use informer_runtime::Grants;
use informer_types::{Gvr, WriteVerb};
use serde_json::{Value, json};

/// An object with a mark outside of its values. A Secret has marks in all places in which a value can be.
pub(super) fn object(gvr: &Gvr, namespace: &str, name: &str) -> Value {
    let mut metadata = json!({"name": name, "uid": "u-1", "resourceVersion": "5", "labels": {"app": "web"}});
    if !namespace.is_empty() {
        metadata["namespace"] = json!(namespace);
    }
    let mark = format!("mark(object {gvr} {namespace}/{name})");
    let mut object = json!({
        "apiVersion": gvr.api_version(),
        "kind": kind(gvr),
        "metadata": metadata,
        "type": mark,
    });
    if gvr.is_secrets() {
        let value = format!("mark(value {namespace}/{name})");
        object["data"] = json!({"password": value});
        object["stringData"] = json!({"token": value});
        object["metadata"]["annotations"] = json!({
            "kubectl.kubernetes.io/last-applied-configuration": value,
            "openshift.io/token-secret.value": value,
            "a.tool.of.another.team/copy": value,
        });
    } else {
        object["spec"] = json!({"replicas": 3, "note": mark});
    }
    object
}

/// The kind of the objects of a resource.
pub(super) fn kind(gvr: &Gvr) -> String {
    let singular = gvr.resource.trim_end_matches('s');
    let mut letters = singular.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Returns true if the grants let a plugin receive what has this mark.
pub(super) fn may_be_seen(grants: &Grants, mark: &str) -> bool {
    let words: Vec<&str> = mark.split(' ').collect();
    match words.as_slice() {
        ["value", key] => {
            let (namespace, name) = key.split_once('/').unwrap();
            grants.secrets.contains(namespace, name)
        }
        // The guest is subscribed to this one.
        ["object", _, "shop/delivered"] => true,
        ["object", gvr, key] => {
            let (gvr, (namespace, _)) = (gvr.parse().unwrap(), key.split_once('/').unwrap());
            may_read(grants, &gvr, namespace)
        }
        // The guest wrote it itself.
        _ => true,
    }
}

/// The answer to a write is the whole object, so a plugin that may write an object may see it.
fn may_read(grants: &Grants, gvr: &Gvr, namespace: &str) -> bool {
    let read = grants.read.as_ref().unwrap();
    let readable =
        read.iter().any(|(granted, _, namespaces)| granted == gvr && namespaces.contains(namespace));
    let writable =
        grants.write.as_ref().unwrap().iter().any(|grant| {
            grant.gvr == *gvr && grant.namespaces.contains(namespace) && !grant.verbs.is_empty()
        });
    readable || writable
}

/// Returns true if one of the verbs is granted.
pub(super) fn may_write(
    grants: &Grants,
    verbs: &[WriteVerb],
    gvr: &Gvr,
    subresource: Option<&str>,
    namespace: &str,
) -> bool {
    let write = grants.write.as_ref().unwrap();
    verbs.iter().any(|verb| write.allow(*verb, gvr, subresource, namespace))
}
