//! Bringing an object into being.

use std::sync::Arc;

use serde_json::Value;

use super::{
    aftermath::{self, Done, What},
    defaults, namespace, strategy, timestamp, validate,
};
use crate::{
    api::Api,
    crd, name,
    object::Object,
    registry::Resource,
    status::{ApiError, ApiResult, Cause},
    storage::{Draft, Stored},
};

/// How many generated names are tried before giving up, as in kube-apiserver.
const NAME_TRIES: usize = 8;

/// Creates the object in `namespace` (empty for a cluster-scoped one).
///
/// # Errors
/// 400 for an object that belongs elsewhere, 422 for one that breaks rules, 404 and 403 for a
/// namespace that is not there or on its way out, 409 for a name that is taken.
pub(crate) fn create(
    api: &Api,
    resource: &Arc<Resource>,
    namespace: &str,
    mut object: Object,
    dry_run: bool,
) -> ApiResult<Arc<Stored>> {
    place(resource, namespace, &mut object)?;
    if !object.resource_version().is_empty() {
        return Err(ApiError::bad_request("resourceVersion should not be set on objects to be created"));
    }
    object.metadata.retain(|field, _| !SERVER_FIELDS.contains(&field.as_str()));
    strategy::before_create(resource, &mut object);
    insert(api, resource, object, dry_run)
}

/// Creates the object as it is, status and all, in the namespace it names. What only a server may
/// write (UID, times, version) is kept where it is given, but for the version.
///
/// # Errors
/// As [`create`].
pub(crate) fn seed(api: &Api, resource: &Arc<Resource>, mut object: Object) -> ApiResult<Arc<Stored>> {
    let namespace = match (resource.namespaced, object.namespace()) {
        (false, _) => String::new(),
        (true, "") => "default".to_owned(),
        (true, namespace) => namespace.to_owned(),
    };
    place(resource, &namespace, &mut object)?;
    object.metadata.remove("resourceVersion");
    insert(api, resource, object, false)
}

/// What a client cannot say about a new object.
const SERVER_FIELDS: [&str; 7] = [
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "resourceVersion",
    "selfLink",
];

fn insert(api: &Api, resource: &Arc<Resource>, mut object: Object, dry_run: bool) -> ApiResult<Arc<Stored>> {
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
        if let Some(created) = commit(api, resource, &object, dry_run)? {
            if !dry_run {
                let (resource, object) = (resource.clone(), created.clone());
                aftermath::settle(api, vec![Done { what: What::Written, resource, object }]);
            }
            return Ok(created);
        }
    }
    Err(ApiError::already_exists(resource.group_resource(), object.name()))
}

/// `None` when the name is taken.
fn commit(api: &Api, resource: &Resource, object: &Object, dry_run: bool) -> ApiResult<Option<Arc<Stored>>> {
    let draft = Draft::new(resource, object.clone());
    let collection = api.collection(resource);
    crd::check_open(api, resource)?;
    let _gate = api.namespace_gate.read();
    if resource.namespaced {
        namespace::check_open(api, resource, object)?;
    }
    if dry_run {
        let taken = collection.get(draft.key()).is_some();
        return Ok((!taken).then(|| Arc::new(draft.store(api.storage.revision().current()))));
    }
    Ok(collection.insert(draft))
}

/// Says where the object belongs, or refuses one that says otherwise.
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

/// Writes what the server adds, where it is not there.
fn stamp(resource: &Resource, object: &mut Object) {
    object.fields.insert("apiVersion".into(), resource.api_version().into());
    object.fields.insert("kind".into(), resource.kind.as_str().into());
    let meta = &mut object.metadata;
    meta.entry("uid").or_insert_with(|| name::uid().into());
    meta.entry("creationTimestamp").and_modify(replace_null).or_insert_with(|| timestamp().into());
    if resource.generation {
        meta.entry("generation").or_insert_with(|| 1.into());
    }
}

fn replace_null(value: &mut Value) {
    if value.is_null() {
        *value = timestamp().into();
    }
}
