//! The writes that a client can request: each includes all writes that follow from it.

use std::sync::Arc;

use crate::{
    api::Api,
    consequence::settle,
    object::Object,
    registry::Resource,
    status::ApiResult,
    storage::{ObjectKey, Stored},
    write,
};

pub(crate) use crate::write::{DeleteOptions, Deleted, Deletion, Part, Propagation, WriteOptions};

/// Creates the object in `namespace` (empty for a cluster-scoped resource).
///
/// # Errors
/// 400 for an object of another place, 422 for an object that breaks rules, 404 or 403 if the namespace does not
/// exist or is being deleted, 409 if the name is taken.
pub(crate) fn create(
    api: &Api,
    resource: &Arc<Resource>,
    namespace: &str,
    object: Object,
    dry_run: bool,
) -> ApiResult<Arc<Stored>> {
    let (created, change) = write::create(api, resource, namespace, object, dry_run)?;
    settle(api, change);
    Ok(created)
}

/// Creates the object as it is, including its status, in the namespace that it names. A UID and times in the
/// metadata are kept; the version is replaced.
///
/// # Errors
/// Like [`create`].
pub(crate) fn seed(api: &Api, resource: &Arc<Resource>, object: Object) -> ApiResult<Arc<Stored>> {
    let (created, change) = write::seed(api, resource, object)?;
    settle(api, change);
    Ok(created)
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
    change: impl FnMut(&Object) -> ApiResult<Object>,
) -> ApiResult<Arc<Stored>> {
    let (updated, change) = write::update(api, resource, key, options, change)?;
    settle(api, change);
    Ok(updated)
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
) -> ApiResult<Deleted> {
    let (deleted, change) = write::delete(api, resource, key, options)?;
    settle(api, change);
    Ok(deleted)
}
