//! The writes that a client can request: each includes all writes that follow from it.

use std::sync::Arc;

use crate::{
    api::Api,
    consequence,
    object::Object,
    registry::Resource,
    status::ApiResult,
    storage::{ObjectKey, Stored},
    write::{self, Change},
};

pub(crate) use crate::write::{DeleteOptions, Deleted, Part, Propagation, WriteOptions};

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
    write::create(api, resource, namespace, object, dry_run).map(|written| settled(api, written))
}

/// Creates the object as it is, including its status, in the namespace that it names. A UID and times in the
/// metadata are kept; the version is replaced.
///
/// # Errors
/// Those of [`create`].
pub(crate) fn seed(api: &Api, resource: &Arc<Resource>, object: Object) -> ApiResult<Arc<Stored>> {
    write::seed(api, resource, object).map(|written| settled(api, written))
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
    write::update(api, resource, key, options, change).map(|written| settled(api, written))
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
    write::delete(api, resource, key, options).map(|written| settled(api, written))
}

fn settled<T>(api: &Api, (written, change): (T, Option<Change>)) -> T {
    consequence::settle(api, change);
    written
}
