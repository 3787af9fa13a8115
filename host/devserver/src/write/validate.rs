//! The rules for every object: names, labels, annotations, finalizers and owner references. [`kind`] has more rules for a few kinds.
//! Other specs are not checked.

use serde_json::Value;

use super::options::{FOREGROUND_FINALIZER, ORPHAN_FINALIZER};
use crate::{
    crd, name,
    object::Object,
    registry::Resource,
    selector::{is_label_key, is_label_value},
    status::{ApiError, ApiResult, Cause},
};

mod kind;

/// The most bytes of the keys and values of all annotations of an object.
const MAX_ANNOTATION_BYTES: usize = 256 * 1024;
/// The finalizers without a prefix that a built-in object may have.
const STANDARD_FINALIZERS: [&str; 3] = ["kubernetes", FOREGROUND_FINALIZER, ORPHAN_FINALIZER];

/// Checks a new object.
///
/// # Errors
/// 422 with a cause for each broken rule.
pub(super) fn created(resource: &Resource, object: &Object) -> ApiResult<()> {
    let mut causes = Vec::new();
    if object.name().is_empty() {
        causes.push(Cause::required("metadata.name", "name or generateName is required"));
    } else if let Some(problem) = name::problem(resource.name_rule, object.name()) {
        causes.push(Cause::invalid("metadata.name", object.name(), problem));
    }
    metadata(resource, object, &mut causes);
    crd::validate(resource, object, &mut causes);
    kind::created(resource, object, &mut causes);
    refuse(resource, object, &causes)
}

/// Checks the next state of an existing object.
///
/// # Errors
/// 422 with a cause for each broken rule.
pub(super) fn updated(resource: &Resource, old: &Object, new: &Object) -> ApiResult<()> {
    let mut causes = Vec::new();
    metadata(resource, new, &mut causes);
    crd::validate(resource, new, &mut causes);
    kind::updated(resource, old, new, &mut causes);
    refuse(resource, new, &causes)
}

fn refuse(resource: &Resource, object: &Object, causes: &[Cause]) -> ApiResult<()> {
    if causes.is_empty() {
        return Ok(());
    }
    let name = if object.name().is_empty() { object.generate_name() } else { object.name() };
    Err(ApiError::invalid(&resource.group, &resource.kind, name, causes))
}

fn metadata(resource: &Resource, object: &Object, causes: &mut Vec<Cause>) {
    texts(object, "labels", causes, |key, value| match (is_label_key(key), is_label_value(value)) {
        (false, _) => Some("a label key is [prefix/]name: letters, digits, '-', '_' or '.', at most 63"),
        (true, false) => Some(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
        ),
        (true, true) => None,
    });
    texts(object, "annotations", causes, |key, _| {
        let lower = key.to_ascii_lowercase();
        (!is_label_key(&lower)).then_some("an annotation key is [prefix/]name, as a label key")
    });
    let annotations = object.metadata.get("annotations").and_then(Value::as_object).into_iter().flatten();
    let bytes = annotations.map(|(key, value)| key.len() + value.as_str().map_or(0, str::len));
    if bytes.sum::<usize>() > MAX_ANNOTATION_BYTES {
        causes.push(Cause::too_long("metadata.annotations", MAX_ANNOTATION_BYTES));
    }
    finalizers(resource, object, causes);
    let owners = object.list_at(&["metadata", "ownerReferences"]);
    if owners.iter().filter(|owner| owner.get("controller") == Some(&Value::Bool(true))).count() > 1 {
        let why = "Only one reference can have Controller set to true";
        causes.push(Cause::invalid("metadata.ownerReferences", owners, why));
    }
    for (at, owner) in owners.iter().enumerate() {
        for field in ["apiVersion", "kind", "name", "uid"] {
            if owner.get(field).and_then(Value::as_str).is_none_or(str::is_empty) {
                let path = format!("metadata.ownerReferences[{at}].{field}");
                causes.push(Cause::required(path, "must not be empty"));
            }
        }
    }
}

/// Checks the names of the finalizers.
fn finalizers(resource: &Resource, object: &Object, causes: &mut Vec<Cause>) {
    match object.metadata.get("finalizers") {
        None | Some(Value::Null) => {}
        Some(Value::Array(list)) if list.iter().all(Value::is_string) => {}
        Some(other) => causes.push(Cause::invalid("metadata.finalizers", other, "must be a list of names")),
    }
    let needs_prefix = finalizers_need_prefix(resource);
    for name in object.finalizers() {
        let problem = if !is_label_key(name) {
            "a finalizer is prefix/name, as a label key"
        } else if needs_prefix && !name.contains('/') && !STANDARD_FINALIZERS.contains(&name) {
            "name is neither a standard finalizer name nor is it fully qualified"
        } else {
            continue;
        };
        causes.push(Cause::invalid("metadata.finalizers", name, problem));
    }
}

/// Returns true if the names of finalizers need a prefix. kube-apiserver requires a prefix for all built-in kinds except the kinds below.
fn finalizers_need_prefix(resource: &Resource) -> bool {
    const FREE: [(&str, &str); 4] = [
        ("", "events"),
        (crd::GROUP, crd::PLURAL),
        ("coordination.k8s.io", "leases"),
        ("policy", "poddisruptionbudgets"),
    ];
    !resource.custom && !FREE.iter().any(|(group, plural)| resource.is(group, plural))
}

/// Checks a map of strings in the metadata.
fn texts(
    object: &Object,
    map: &str,
    causes: &mut Vec<Cause>,
    problem: impl Fn(&str, &str) -> Option<&'static str>,
) {
    let path = format!("metadata.{map}");
    match object.metadata.get(map) {
        None | Some(Value::Null) => {}
        Some(Value::Object(entries)) => {
            for (key, value) in entries {
                match value.as_str() {
                    None => causes.push(Cause::invalid(format!("{path}.{key}"), value, "must be a string")),
                    Some(text) => {
                        let wrong = problem(key, text);
                        causes.extend(
                            wrong.map(|why| Cause::invalid(path.as_str(), format!("{key}={text}"), why)),
                        );
                    }
                }
            }
        }
        Some(other) => causes.push(Cause::invalid(path, other, "must be a map of strings")),
    }
}
