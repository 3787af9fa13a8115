//! What an update may change: the server's own fields, `.spec` or `.status`, and the generation.

use serde_json::Value;

use super::options::Part;
use crate::{
    object::{Fields, Object, SERVER_FIELDS},
    registry::Resource,
    status::{ApiError, ApiResult, Cause},
};

/// The next state of an object: takes from `new` the fields that this part may change, and the rest from `old`.
///
/// # Errors
/// 400 or 409 if `new` is another object or version, 422 for a forbidden change.
pub(super) fn before_update(
    resource: &Resource,
    part: Part,
    old: &Object,
    mut new: Object,
) -> ApiResult<Object> {
    check_identity(resource, old, &new)?;
    if part == Part::Status {
        new = with_status_of(old, &new);
    } else if resource.status && part == Part::Main {
        copy(&old.fields, &mut new.fields, "status");
    }
    for field in SERVER_FIELDS.into_iter().chain(["generateName", "namespace", "resourceVersion"]) {
        copy(&old.metadata, &mut new.metadata, field);
    }
    for field in ["apiVersion", "kind"] {
        copy(&old.fields, &mut new.fields, field);
    }
    if new.metadata.get("managedFields").is_none_or(Value::is_null) {
        copy(&old.metadata, &mut new.metadata, "managedFields");
    }
    check_finalizers(resource, old, &new)?;
    Ok(new)
}

/// Increments the generation if the resource has one and the spec changed.
pub(super) fn count_generation(resource: &Resource, old: &Object, new: &mut Object) {
    if !resource.generation {
        return;
    }
    let counts = |field: &str| !(resource.status && field == "status");
    let fields = |object: &Object| -> Fields {
        object.fields.iter().filter(|(k, _)| counts(k)).map(|(k, v)| (k.clone(), v.clone())).collect()
    };
    if fields(old) != fields(new) {
        bump_generation(new);
    }
}

pub(super) fn bump_generation(object: &mut Object) {
    let generation = object.metadata.get("generation").and_then(Value::as_i64).unwrap_or(0);
    object.metadata.insert("generation".into(), (generation + 1).into());
}

fn check_identity(resource: &Resource, old: &Object, new: &Object) -> ApiResult<()> {
    let name = old.name();
    let version = new.resource_version();
    if !version.is_empty() && version != "0" && version != old.resource_version() {
        return Err(ApiError::stale(resource, name));
    }
    if !new.uid().is_empty() && new.uid() != old.uid() {
        let why = format!(
            "Precondition failed: UID in precondition: {}, UID in object meta: {}",
            new.uid(),
            old.uid()
        );
        return Err(ApiError::conflict(resource, name, &why));
    }
    if !new.namespace().is_empty() && new.namespace() != old.namespace() {
        return Err(ApiError::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    if new.name() != name {
        let cause = Cause::invalid("metadata.name", new.name(), "field is immutable");
        return Err(ApiError::invalid(&resource.group, &resource.kind, name, &[cause]));
    }
    Ok(())
}

/// The old object with the status of the new one.
fn with_status_of(old: &Object, new: &Object) -> Object {
    let mut object = old.clone();
    copy(&new.fields, &mut object.fields, "status");
    if let Some(owners) = new.metadata.get("managedFields") {
        object.metadata.insert("managedFields".into(), owners.clone());
    }
    object
}

fn check_finalizers(resource: &Resource, old: &Object, new: &Object) -> ApiResult<()> {
    if !old.is_deleting() {
        return Ok(());
    }
    let before = old.finalizers();
    let added: Vec<&str> = new.finalizers().into_iter().filter(|one| !before.contains(one)).collect();
    if added.is_empty() {
        return Ok(());
    }
    let why = format!(
        "no new finalizers can be added if the object is being deleted, found new finalizers []string{{\"{}\"}}",
        added.join("\", \"")
    );
    let cause = Cause::forbidden("metadata.finalizers", &why);
    Err(ApiError::invalid(&resource.group, &resource.kind, old.name(), &[cause]))
}

/// Copies `field`, or removes it from `to` if `from` does not have it.
fn copy(from: &Fields, to: &mut Fields, field: &str) {
    match from.get(field) {
        Some(value) => {
            to.insert(field.to_owned(), value.clone());
        }
        None => {
            to.remove(field);
        }
    }
}
