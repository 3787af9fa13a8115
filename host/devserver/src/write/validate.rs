//! The rules for every object: names, labels, annotations, finalizers and owner references. Specs are not checked.

use serde_json::Value;

use crate::{
    crd, name,
    object::Object,
    registry::Resource,
    selector::{is_label_key, is_label_value},
    status::{ApiError, ApiResult, Cause},
};

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
    metadata(object, &mut causes);
    crd::validate(resource, object, &mut causes);
    refuse(resource, object, &causes)
}

/// Checks the next state of an existing object.
///
/// # Errors
/// 422 with a cause for each broken rule.
pub(super) fn updated(resource: &Resource, old: &Object, new: &Object) -> ApiResult<()> {
    let mut causes = Vec::new();
    metadata(new, &mut causes);
    crd::validate(resource, new, &mut causes);
    if old.at(&["immutable"]) == Some(&Value::Bool(true)) && resource.group.is_empty() {
        for field in ["data", "binaryData"] {
            if old.fields.get(field) != new.fields.get(field) {
                causes.push(Cause::forbidden(field, "field is immutable when `immutable` is set"));
            }
        }
    }
    refuse(resource, new, &causes)
}

fn refuse(resource: &Resource, object: &Object, causes: &[Cause]) -> ApiResult<()> {
    if causes.is_empty() {
        return Ok(());
    }
    let name = if object.name().is_empty() { object.generate_name() } else { object.name() };
    Err(ApiError::invalid(&resource.group, &resource.kind, name, causes))
}

fn metadata(object: &Object, causes: &mut Vec<Cause>) {
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
    match object.metadata.get("finalizers") {
        None | Some(Value::Null) => {}
        Some(Value::Array(list)) if list.iter().all(Value::is_string) => {}
        Some(other) => causes.push(Cause::invalid("metadata.finalizers", other, "must be a list of names")),
    }
    for (at, owner) in object.list_at(&["metadata", "ownerReferences"]).iter().enumerate() {
        for field in ["apiVersion", "kind", "name", "uid"] {
            if owner.get(field).and_then(Value::as_str).is_none_or(str::is_empty) {
                let path = format!("metadata.ownerReferences[{at}].{field}");
                causes.push(Cause::required(path, "must not be empty"));
            }
        }
    }
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
