//! Objects with marks, and who may see a mark.

use informer_runtime::Grants;
use informer_types::{Gvr, Part, WriteVerb};
use serde_json::{Value, json};

/// Annotations in which tools keep values of Secrets.
const COPIES: [&str; 3] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    "openshift.io/token-secret.value",
    "a.tool.of.another.team/copy",
];

/// Who gives an object out.
#[derive(Clone, Copy, Debug)]
pub(super) enum Origin {
    /// A plugin receives only the parts that it declares to read.
    Cache,
    /// A plugin receives whole objects.
    Server,
}

/// An object with marks, each with its pointer. A Secret has marks in all places in which a value can be.
pub(super) fn object(origin: Origin, gvr: &Gvr, namespace: &str, name: &str) -> Value {
    let origin = match origin {
        Origin::Cache => "cache",
        Origin::Server => "server",
    };
    let mark = |pointer: &str| format!("mark(object {gvr} {namespace}/{name} {origin} {pointer})");
    let value = |pointer: &str| format!("mark(value {namespace}/{name} {origin} {pointer})");
    let mut metadata = json!({"name": name, "uid": "u-1", "resourceVersion": "5", "labels": {"app": "web"}});
    if !namespace.is_empty() {
        metadata["namespace"] = json!(namespace);
    }
    let mut object = json!({
        "apiVersion": gvr.api_version(),
        "kind": kind(gvr),
        "metadata": metadata,
        "type": mark("/type"),
    });
    if gvr.is_secrets() {
        object["data"] = json!({"password": value("/data/password")});
        object["stringData"] = json!({"token": value("/stringData/token")});
        for name in COPIES {
            let pointer = format!("/metadata/annotations/{}", name.replace('/', "~1"));
            object["metadata"]["annotations"][name] = json!(value(&pointer));
        }
    } else {
        object["spec"] = json!({"replicas": 3, "note": mark("/spec/note")});
    }
    object
}

/// A value of an index: it shows that an object of the namespace counts.
pub(super) fn index(gvr: &Gvr, namespace: &str) -> String {
    format!("mark(index {gvr} {namespace})")
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
        ["value", key, ..] => {
            let (namespace, name) = key.split_once('/').unwrap();
            grants.secrets.contains(namespace, name)
        }
        // The guest is subscribed to this one.
        ["object", _, "shop/delivered", ..] => true,
        ["index", gvr, namespace] => {
            let read = grants.read.as_ref().unwrap();
            read.of(&gvr.parse().unwrap(), None).is_some_and(|namespaces| namespaces.contains(namespace))
        }
        ["object", gvr, key, ..] => {
            let (gvr, (namespace, _)) = (gvr.parse().unwrap(), key.split_once('/').unwrap());
            may_read(grants, &gvr, namespace)
        }
        // The guest wrote it itself.
        _ => true,
    }
}

/// Returns true unless the mark is a part of an object of the cache that is in none of the declared parts.
pub(super) fn is_declared(declared: &[Part], mark: &str) -> bool {
    match mark.split(' ').collect::<Vec<_>>().as_slice() {
        // The guest always reads its script.
        [.., "cache", "/type"] => true,
        [.., "cache", pointer] => {
            let part: Part = pointer.parse().unwrap();
            declared.iter().any(|declared| declared.answers(&part))
        }
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
