//! Creates an object.

use std::sync::Arc;

use serde_json::Value;

use super::{Change, ChangeKind, defaults, validate};
use crate::{
    api::Api,
    crd, name, namespace,
    object::{Object, SERVER_FIELDS, timestamp},
    registry::Resource,
    status::{ApiError, ApiResult, Cause},
    storage::{Draft, Stored},
};

/// How many generated names are tried, as in kube-apiserver.
const NAME_TRIES: usize = 8;

/// Creates the object in `namespace` (empty for a cluster-scoped resource).
///
/// # Errors
/// 400 for an object of another namespace, 422 for an object that breaks rules, 404 or 403 if the namespace does not exist or is
/// being deleted, 409 if the name is taken.
pub(crate) fn create(
    api: &Api,
    resource: &Arc<Resource>,
    namespace: &str,
    mut object: Object,
    dry_run: bool,
) -> ApiResult<Change> {
    place(resource, namespace, &mut object)?;
    if !object.resource_version().is_empty() {
        return Err(ApiError::bad_request("resourceVersion should not be set on objects to be created"));
    }
    object.metadata.remove("resourceVersion");
    object.metadata.remove("selfLink");
    object.metadata.retain(|field, _| !SERVER_FIELDS.contains(&field.as_str()));
    if resource.status {
        object.fields.remove("status");
    }
    insert(api, resource, object, dry_run)
}

/// Creates the object as it is, including its status, in the namespace that it names. A UID and times in the
/// metadata are kept; the version is replaced.
///
/// # Errors
/// Returns the same errors as [`create`].
pub(crate) fn seed(api: &Api, resource: &Arc<Resource>, mut object: Object) -> ApiResult<Change> {
    let namespace = match (resource.namespaced, object.namespace()) {
        (false, _) => String::new(),
        (true, "") => "default".to_owned(),
        (true, namespace) => namespace.to_owned(),
    };
    place(resource, &namespace, &mut object)?;
    object.metadata.remove("resourceVersion");
    insert(api, resource, object, false)
}

fn insert(api: &Api, resource: &Arc<Resource>, mut object: Object, dry_run: bool) -> ApiResult<Change> {
    stamp(resource, &mut object);
    defaults::apply(resource, &mut object);
    let generated = object.name().is_empty() && !object.generate_name().is_empty();
    let tries = if generated { NAME_TRIES } else { 1 };
    for _ in 0..tries {
        if generated {
            let name = name::generate(object.generate_name());
            object.metadata.insert("name".into(), name.into());
        }
        validate::created(resource, &object)?;
        if let Some(object) = commit(api, resource, &object, dry_run)? {
            return Ok(Change { kind: ChangeKind::Written, resource: resource.clone(), object, dry_run });
        }
    }
    Err(ApiError::already_exists(resource, object.name()))
}

/// Stores the object. Returns `None` if the name is taken.
fn commit(api: &Api, resource: &Resource, object: &Object, dry_run: bool) -> ApiResult<Option<Arc<Stored>>> {
    let draft = Draft::new(resource, object.clone());
    let collection = api.collection(resource);
    crd::check_open(api, resource)?;
    let _gate = api.namespace_gate.read();
    if resource.namespaced {
        namespace::check_open(api, resource, object)?;
    }
    if dry_run {
        let taken = collection.get(&draft.key).is_some();
        return Ok((!taken).then(|| Arc::new(draft.store(api.storage.revision.current()))));
    }
    Ok(collection.insert(draft))
}

/// Writes the namespace into the object, or refuses an object that names another namespace.
fn place(resource: &Resource, namespace: &str, object: &mut Object) -> ApiResult<()> {
    if !resource.namespaced {
        if object.namespace().is_empty() {
            object.metadata.remove("namespace");
            return Ok(());
        }
        let cause = Cause::forbidden("metadata.namespace", "not allowed on this type");
        return Err(ApiError::invalid(&resource.group, &resource.kind, object.name(), &[cause]));
    }
    if !object.namespace().is_empty() && object.namespace() != namespace {
        return Err(ApiError::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    object.metadata.insert("namespace".into(), namespace.into());
    Ok(())
}

/// Writes the fields that the server adds, unless the object already has them.
fn stamp(resource: &Resource, object: &mut Object) {
    object.fields.insert("apiVersion".into(), resource.api_version().into());
    object.fields.insert("kind".into(), resource.kind.as_str().into());
    let meta = &mut object.metadata;
    meta.entry("uid").or_insert_with(|| name::uid().into());
    if meta.get("creationTimestamp").is_none_or(Value::is_null) {
        meta.insert("creationTimestamp".into(), timestamp().into());
    }
    if resource.generation {
        meta.entry("generation").or_insert_with(|| 1.into());
    }
}
