//! Deletes an object: at once, or after its finalizers are gone.

use std::sync::Arc;

use super::{Change, ChangeKind, MAX_TRIES, current, options::DeleteOptions, strategy};
use crate::{
    api::Api,
    namespace,
    object::{Object, timestamp},
    registry::Resource,
    status::{ApiError, ApiResult},
    storage::{Draft, ObjectKey, Stored},
};

/// An accepted deletion.
#[derive(Debug)]
pub(crate) struct Deleted {
    /// If false, the object is only marked for deletion, and finalizers hold it.
    pub(crate) gone: bool,
    pub(crate) object: Arc<Stored>,
}

/// Like [`rest::delete`](crate::rest::delete), without the writes that follow from the deletion.
pub(crate) fn delete(
    api: &Api,
    resource: &Arc<Resource>,
    key: &ObjectKey,
    options: &DeleteOptions,
) -> ApiResult<(Deleted, Option<Change>)> {
    let collection = api.collection(resource);
    for _ in 0..MAX_TRIES {
        let before = current(api, resource, key)?;
        check_preconditions(resource, &before, options)?;
        let mut object = before.decode(resource);
        if api.config.garbage_collection
            && !object.is_deleting()
            && let Some(finalizer) = options.propagation.finalizer()
        {
            object.add_finalizer(finalizer);
        }
        let held = namespace::is_held(resource, &object);
        if held && object.is_deleting() {
            return Ok((Deleted { gone: false, object: before }, None));
        }
        if held {
            mark(resource, &mut object);
        }
        let draft = Draft::new(resource, object);
        if options.dry_run {
            return Ok((Deleted { gone: !held, object: Arc::new(draft.store(before.rv)) }, None));
        }
        let _gate = namespace::is_namespace(resource).then(|| api.namespace_gate.write());
        let written =
            if held { collection.replace(&before, draft) } else { collection.remove(&before, draft) };
        if let Ok(object) = written {
            let kind = if held { ChangeKind::Marked } else { ChangeKind::Removed };
            let change = Change { kind, resource: resource.clone(), object: object.clone() };
            return Ok((Deleted { gone: !held, object }, Some(change)));
        }
    }
    Err(ApiError::stale(resource.group_resource(), &key.name))
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
        ("UID", "object meta", options.uid.as_deref(), object.uid.clone()),
        ("ResourceVersion", "object meta", options.resource_version.as_deref(), object.rv.to_string()),
    ];
    for (what, place, wanted, found) in checks {
        if let Some(wanted) = wanted.filter(|wanted| *wanted != found) {
            let why =
                format!("Precondition failed: {what} in precondition: {wanted}, {what} in {place}: {found}");
            return Err(ApiError::conflict(resource.group_resource(), &object.key.name, &why));
        }
    }
    Ok(())
}
