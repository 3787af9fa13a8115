//! One write of one object, without the writes that follow from it (see [`consequence`](crate::consequence)).
//!
//! A write reads the current state, prepares the next state without holding a lock, and commits it only if the
//! object is still in the state that was read. Otherwise the write starts again from the newer state. These rules
//! do not depend on HTTP. kube-apiserver calls them the generic registry.

use std::sync::Arc;

use crate::{
    api::Api,
    managed_fields::{self, Writer},
    namespace,
    object::{Object, timestamp},
    registry::Resource,
    status::{ApiError, ApiResult, Cause},
    storage::{Draft, ObjectKey, Stored},
};

mod create;
mod defaults;
mod options;
mod strategy;
mod validate;

pub(crate) use create::{create, seed};
pub(crate) use options::{
    DeleteOptions, FOREGROUND_FINALIZER, ORPHAN_FINALIZER, Part, Propagation, WriteOptions,
};

/// How often a write is tried that loses against concurrent writes. Each failed try means that another write
/// succeeded, so only a stampede on one object reaches this number.
const MAX_TRIES: usize = 1000;
/// The largest object in bytes. It equals the largest body, so a patch cannot build what a PUT could not send.
const MAX_OBJECT_BYTES: usize = 3 * 1024 * 1024;

/// A write. Other writes may have to follow it.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    pub(crate) kind: ChangeKind,
    pub(crate) resource: Arc<Resource>,
    /// The state after the write. For a removed object it is the last state.
    pub(crate) object: Arc<Stored>,
    /// If true, the write is not committed.
    pub(crate) dry_run: bool,
}

/// The effect of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChangeKind {
    /// The object already was in the wanted state.
    Unchanged,
    /// The object was created or changed.
    Written,
    /// The object was marked for deletion; finalizers hold it.
    Marked,
    /// The object is gone.
    Removed,
}

/// Replaces the object by the result of `change`, which receives the current state and may be called more than
/// once. An object that is being deleted is removed together with its last finalizer.
///
/// # Errors
/// 404 if the object does not exist, 409 if the result has another version or UID than the current state, 422 for a
/// forbidden change, and every error of `change`.
pub(crate) fn update(
    api: &Api,
    resource: &Arc<Resource>,
    key: &ObjectKey,
    options: &WriteOptions<'_>,
    mut change: impl FnMut(&Object) -> ApiResult<Object>,
) -> ApiResult<Change> {
    replace(api, resource, key, options.dry_run, |before| {
        let old = before.decode(resource);
        let new = change(&old)?;
        if resource.needs_version() && matches!(new.resource_version(), "" | "0") {
            let cause = Cause::invalid("metadata.resourceVersion", 0, "must be specified for an update");
            return Err(ApiError::invalid(&resource.group, &resource.kind, &key.name, &[cause]));
        }
        let mut new = strategy::before_update(resource, options.part, &old, new)?;
        defaults::apply(resource, &mut new);
        if let Some(manager) = options.manager {
            let api_version = &resource.api_version();
            let subresource = if options.part == Part::Status { "status" } else { "" };
            let writer = Writer { manager, api_version, subresource, layout: resource.layout() };
            managed_fields::track(&old, &mut new, writer);
        }
        strategy::count_generation(resource, &old, &mut new);
        validate::updated(resource, &old, &new)?;
        let goes = old.is_deleting() && !namespace::is_held(resource, &new);
        let draft = Draft::new(resource, new);
        if draft.len() > MAX_OBJECT_BYTES {
            return Err(ApiError::body_too_large(MAX_OBJECT_BYTES));
        }
        Ok((if goes { ChangeKind::Removed } else { ChangeKind::Written }, draft))
    })
}

/// Deletes the object, or marks it for deletion if finalizers hold it.
///
/// # Errors
/// 404 if the object does not exist, 409 if a precondition fails.
pub(crate) fn delete(
    api: &Api,
    resource: &Arc<Resource>,
    key: &ObjectKey,
    options: &DeleteOptions,
) -> ApiResult<Change> {
    replace(api, resource, key, options.dry_run, |before| {
        check_preconditions(resource, before, options)?;
        let mut object = before.decode(resource);
        let marked = object.is_deleting();
        if api.config.garbage_collection
            && !marked
            && let Some(finalizer) = options.propagation.finalizer()
        {
            object.add_finalizer(finalizer);
        }
        let held = namespace::is_held(resource, &object);
        if held && !marked {
            mark(resource, &mut object);
        }
        let kind = if held { ChangeKind::Marked } else { ChangeKind::Removed };
        Ok((kind, Draft::new(resource, object)))
    })
}

/// Replaces or removes the object by what `next` makes of the current state.
fn replace(
    api: &Api,
    resource: &Arc<Resource>,
    key: &ObjectKey,
    dry_run: bool,
    mut next: impl FnMut(&Stored) -> ApiResult<(ChangeKind, Draft)>,
) -> ApiResult<Change> {
    let collection = api.collection(resource);
    for _ in 0..MAX_TRIES {
        let before = collection.get(key).ok_or_else(|| ApiError::not_found(resource, &key.name))?;
        let (kind, draft) = next(&before)?;
        let change = |kind, object| Ok(Change { kind, resource: resource.clone(), object, dry_run });
        if dry_run {
            return change(kind, Arc::new(draft.store(before.rv)));
        }
        let closes = kind != ChangeKind::Written && namespace::is_namespace(resource);
        let _gate = closes.then(|| api.namespace_gate.write());
        let written = match kind {
            ChangeKind::Removed => collection.remove(&before, draft),
            _ => collection.replace(&before, draft),
        };
        if let Some(object) = written {
            let kind = if Arc::ptr_eq(&object, &before) { ChangeKind::Unchanged } else { kind };
            return change(kind, object);
        }
    }
    Err(ApiError::stale(resource, &key.name))
}

fn mark(resource: &Resource, object: &mut Object) {
    object.metadata.insert("deletionTimestamp".into(), timestamp().into());
    object.metadata.insert("deletionGracePeriodSeconds".into(), 0.into());
    if resource.generation {
        strategy::bump_generation(object);
    }
    if namespace::is_namespace(resource) {
        object.set_at(&["status", "phase"], "Terminating".into());
    }
}

fn check_preconditions(resource: &Resource, object: &Stored, options: &DeleteOptions) -> ApiResult<()> {
    let checks = [
        ("UID", options.uid.as_deref(), object.uid.clone()),
        ("ResourceVersion", options.resource_version.as_deref(), object.rv.to_string()),
    ];
    for (what, wanted, found) in checks {
        if let Some(wanted) = wanted.filter(|wanted| *wanted != found) {
            let why = format!(
                "Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {found}"
            );
            return Err(ApiError::conflict(resource, &object.key.name, &why));
        }
    }
    Ok(())
}
