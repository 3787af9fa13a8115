//! Updates an object.

use std::sync::Arc;

use super::{
    Change, ChangeKind, MAX_TRIES, current, defaults,
    options::{Part, WriteOptions},
    strategy, validate,
};
use crate::{
    api::Api,
    managed_fields::{self, Writer},
    namespace,
    object::Object,
    registry::Resource,
    status::{ApiError, ApiResult, Cause},
    storage::{Draft, ObjectKey, Stale, Stored},
};

/// The largest object in bytes. It equals the largest body, so a patch cannot build what a PUT could not send.
const MAX_OBJECT_BYTES: usize = 3 * 1024 * 1024;

/// Like [`rest::update`](crate::rest::update), without the writes that follow from the update. The change is `None` for
/// a dry run and if the object already is in the wanted state.
pub(crate) fn update(
    api: &Api,
    resource: &Arc<Resource>,
    key: &ObjectKey,
    options: &WriteOptions<'_>,
    mut change: impl FnMut(&Object) -> ApiResult<Object>,
) -> ApiResult<(Arc<Stored>, Option<Change>)> {
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
        let goes = old.is_deleting() && !namespace::is_held(resource, &new);
        let draft = Draft::new(resource, new);
        if draft.len() > MAX_OBJECT_BYTES {
            return Err(ApiError::body_too_large(MAX_OBJECT_BYTES));
        }
        if options.dry_run {
            return Ok((Arc::new(draft.store(before.rv)), None));
        }
        if let Ok((stored, kind)) = commit(api, resource, &before, draft, goes) {
            let change = kind.map(|kind| Change { kind, resource: resource.clone(), object: stored.clone() });
            return Ok((stored, change));
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

/// Replaces or removes the object. The kind is `None` if the draft equals the current state.
fn commit(
    api: &Api,
    resource: &Resource,
    before: &Arc<Stored>,
    draft: Draft,
    goes: bool,
) -> Result<(Arc<Stored>, Option<ChangeKind>), Stale> {
    let collection = api.collection(resource);
    if goes {
        return Ok((collection.remove(before, draft)?, Some(ChangeKind::Removed)));
    }
    let stored = collection.replace(before, draft)?;
    let changed = !Arc::ptr_eq(&stored, before);
    Ok((stored, changed.then_some(ChangeKind::Written)))
}

fn needs_version(resource: &Resource, name: &str) -> ApiError {
    let cause = Cause::invalid("metadata.resourceVersion", &0.into(), "must be specified for an update");
    ApiError::invalid(&resource.group, &resource.kind, name, &[cause])
}
