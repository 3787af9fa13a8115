//! Changing an object.

use std::sync::Arc;

use super::{
    MAX_TRIES,
    aftermath::{self, Done, What},
    current, defaults, namespace, strategy, validate,
};
use crate::{
    api::Api,
    managed_fields::{self, Writer},
    object::Object,
    registry::Resource,
    status::{ApiError, ApiResult, Cause},
    storage::{Draft, ObjectKey, Stale, Stored},
};

/// Which part of an object a write may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// Everything but the status, where status is written apart.
    Main,
    /// Only the status.
    Status,
    /// Everything: the server's own writes.
    Whole,
}

/// How a write is meant.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WriteOptions<'a> {
    pub(crate) part: Part,
    pub(crate) dry_run: bool,
    /// Who owns what the write changes; `None` leaves the owners as `change` writes them.
    pub(crate) manager: Option<&'a str>,
}

/// The largest object, as the largest body: patches must not build what no body could bring.
const MAX_OBJECT_BYTES: usize = 3 * 1024 * 1024;

/// A write of the server itself.
pub(crate) const INTERNAL: WriteOptions<'static> =
    WriteOptions { part: Part::Whole, dry_run: false, manager: None };

/// Writes what `change` makes of the current state. An object that is being deleted goes with its
/// last finalizer.
///
/// # Errors
/// 404 when there is none, 409 when `change` names another version or UID than the current, 422 for
/// a forbidden change, and whatever `change` fails with.
pub(crate) fn update(
    api: &Api,
    resource: &Arc<Resource>,
    key: &ObjectKey,
    options: &WriteOptions<'_>,
    change: impl FnMut(&Object) -> ApiResult<Object>,
) -> ApiResult<Arc<Stored>> {
    let (stored, done) = update_alone(api, resource, key, options, change)?;
    aftermath::settle(api, done.into_iter().collect());
    Ok(stored)
}

/// Updates the object and does nothing of what follows from it: that is the caller's.
///
/// # Errors
/// As [`update`].
pub(crate) fn update_alone(
    api: &Api,
    resource: &Arc<Resource>,
    key: &ObjectKey,
    options: &WriteOptions<'_>,
    mut change: impl FnMut(&Object) -> ApiResult<Object>,
) -> ApiResult<(Arc<Stored>, Option<Done>)> {
    for _ in 0..MAX_TRIES {
        let before = current(api, resource, key)?;
        let old = before.decode(resource);
        let new = change(&old)?;
        if resource.custom && new.resource_version().is_empty() {
            return Err(needs_version(resource, &key.name));
        }
        let mut new = strategy::before_update(resource, options.part, &old, new)?;
        defaults::apply(resource, &mut new);
        if let Some(manager) = options.manager {
            track(resource, manager, options.part, &old, &mut new);
        }
        strategy::count_generation(resource, &old, &mut new);
        validate::updated(resource, &old, &new)?;
        let goes = old.is_deleting() && is_released(resource, &new);
        let draft = Draft::new(resource, new);
        if draft.len() > MAX_OBJECT_BYTES {
            return Err(ApiError::body_too_large(MAX_OBJECT_BYTES));
        }
        if options.dry_run {
            return Ok((Arc::new(draft.store(before.rv)), None));
        }
        if let Ok((stored, what)) = commit(api, resource, &before, draft, goes) {
            let done = what.map(|what| Done { what, resource: resource.clone(), object: stored.clone() });
            return Ok((stored, done));
        }
    }
    Err(ApiError::stale(resource.group_resource(), &key.name))
}

fn track(resource: &Resource, manager: &str, part: Part, old: &Object, new: &mut Object) {
    let api_version = resource.api_version();
    let subresource = if part == Part::Status { "status" } else { "" };
    let writer = Writer { manager, api_version: &api_version, subresource, layout: resource.layout() };
    managed_fields::track(old, new, writer);
}

/// `None` when there was nothing to change.
fn commit(
    api: &Api,
    resource: &Resource,
    before: &Arc<Stored>,
    draft: Draft,
    goes: bool,
) -> Result<(Arc<Stored>, Option<What>), Stale> {
    let collection = api.collection(resource);
    if goes {
        return Ok((collection.remove(before, draft)?, Some(What::Removed)));
    }
    let stored = collection.replace(before, draft)?;
    let changed = !Arc::ptr_eq(&stored, before);
    Ok((stored, changed.then_some(What::Written)))
}

/// Whether nothing holds an object that is being deleted.
fn is_released(resource: &Resource, object: &Object) -> bool {
    object.finalizers().is_empty() && !(resource.is("", "namespaces") && namespace::is_held(object))
}

fn needs_version(resource: &Resource, name: &str) -> ApiError {
    let cause = Cause::invalid("metadata.resourceVersion", &0.into(), "must be specified for an update");
    ApiError::invalid(&resource.group, &resource.kind, name, &[cause])
}
