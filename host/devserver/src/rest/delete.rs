//! Deleting an object: at once, or marked until its finalizers are gone.

use std::sync::Arc;

use super::{
    MAX_TRIES,
    aftermath::{self, Done, What},
    current, namespace, strategy, timestamp,
};
use crate::{
    api::Api,
    gc,
    object::Object,
    registry::Resource,
    status::{ApiError, ApiResult},
    storage::{Draft, ObjectKey, Stored},
};

/// What becomes of the objects an object owns. Only the garbage collector makes a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Propagation {
    /// They are deleted after it.
    #[default]
    Background,
    /// They are deleted before it.
    Foreground,
    /// They stay, without an owner.
    Orphan,
}

/// The parameters of a deletion.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeleteOptions {
    pub(crate) propagation: Propagation,
    /// Delete only the object of this UID.
    pub(crate) uid: Option<String>,
    /// Delete only this version.
    pub(crate) resource_version: Option<String>,
    pub(crate) dry_run: bool,
}

/// A deletion that was accepted.
#[derive(Debug)]
pub(crate) struct Deleted {
    pub(crate) how: Deletion,
    pub(crate) object: Arc<Stored>,
}

/// How far a deletion came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deletion {
    /// The object is gone.
    Done,
    /// The object is marked; finalizers hold it.
    Pending,
}

/// # Errors
/// 404 when there is none, 409 when a precondition does not hold.
pub(crate) fn delete(
    api: &Api,
    resource: &Arc<Resource>,
    key: &ObjectKey,
    options: &DeleteOptions,
) -> ApiResult<Deleted> {
    let (deleted, done) = delete_alone(api, resource, key, options)?;
    aftermath::settle(api, done.into_iter().collect());
    Ok(deleted)
}

/// Deletes the object and does nothing of what follows from it: that is the caller's.
///
/// # Errors
/// As [`delete`].
pub(crate) fn delete_alone(
    api: &Api,
    resource: &Arc<Resource>,
    key: &ObjectKey,
    options: &DeleteOptions,
) -> ApiResult<(Deleted, Option<Done>)> {
    let collection = api.collection(resource);
    for _ in 0..MAX_TRIES {
        let before = current(api, resource, key)?;
        check_preconditions(resource, &before, options)?;
        let mut object = before.decode(resource);
        if api.config.garbage_collection && !object.is_deleting() {
            gc::before_delete(&mut object, options.propagation);
        }
        let held =
            !object.finalizers().is_empty() || resource.is("", "namespaces") && namespace::is_held(&object);
        if held && object.is_deleting() {
            return Ok((Deleted { how: Deletion::Pending, object: before }, None));
        }
        if held {
            mark(resource, &mut object);
        }
        let how = if held { Deletion::Pending } else { Deletion::Done };
        let draft = Draft::new(resource, object);
        if options.dry_run {
            return Ok((Deleted { how, object: Arc::new(draft.store(before.rv)) }, None));
        }
        let _gate = resource.is("", "namespaces").then(|| api.namespace_gate.write());
        let written = match how {
            Deletion::Done => collection.remove(&before, draft),
            Deletion::Pending => collection.replace(&before, draft),
        };
        if let Ok(object) = written {
            let what = if held { What::Marked } else { What::Removed };
            let done = Done { what, resource: resource.clone(), object: object.clone() };
            return Ok((Deleted { how, object }, Some(done)));
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
    if resource.is("", "namespaces") {
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

// === impl Propagation ===

impl Propagation {
    /// Reads `propagationPolicy`, or the older `orphanDependents`.
    pub(crate) fn parse(policy: Option<&str>, orphan_dependents: Option<bool>) -> ApiResult<Self> {
        match (policy, orphan_dependents) {
            (None | Some("Background"), None | Some(false)) => Ok(Self::Background),
            (Some("Foreground"), None) => Ok(Self::Foreground),
            (Some("Orphan"), None) | (None, Some(true)) => Ok(Self::Orphan),
            (Some(_), Some(_)) => {
                Err(ApiError::bad_request("propagationPolicy and orphanDependents cannot be set together"))
            }
            (Some(other), None) => Err(ApiError::bad_request(format!(
                "invalid propagationPolicy {other:?}: want Background, Foreground or Orphan"
            ))),
        }
    }
}
