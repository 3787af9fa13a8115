//! The garbage collector: what is owned goes with its last owner.
//!
//! Follows kube-controller-manager's rules, except that objects whose owners never existed are left
//! alone.

use std::sync::Arc;

use serde_json::Value;

use crate::{
    api::Api,
    object::Object,
    registry::Resource,
    rest::{self, DeleteOptions, Deleted, Deletion, Propagation, Removed},
    status::ApiResult,
    storage::{ObjectKey, Stored},
};

const FOREGROUND: &str = "foregroundDeletion";
const ORPHAN: &str = "orphan";

/// Holds an object whose dependents have to be dealt with before it goes.
pub(crate) fn before_delete(object: &mut Object, propagation: Propagation) {
    match propagation {
        Propagation::Background => {}
        Propagation::Foreground => object.add_finalizer(FOREGROUND),
        Propagation::Orphan => object.add_finalizer(ORPHAN),
    }
}

/// After an object was marked for deletion: orphans its dependents or deletes them first. Returns
/// what went at once.
pub(crate) fn marked(api: &Api, resource: &Arc<Resource>, stored: &Arc<Stored>) -> Vec<Removed> {
    let object = stored.decode(resource);
    let finalizers = object.finalizers();
    let mut removed = Vec::new();
    if finalizers.contains(&ORPHAN) {
        for (dependent, object) in dependents(api, &stored.uid) {
            ignore_race(disown(api, &dependent, &object.key, &stored.uid));
        }
        ignore_race(release(api, resource, &stored.key, ORPHAN));
    } else if finalizers.contains(&FOREGROUND) {
        for (dependent, object) in dependents(api, &stored.uid) {
            removed.extend(collect(api, &dependent, &object, &stored.uid, Propagation::Foreground));
        }
        release_foreground(api, resource, stored);
    }
    removed
}

/// After an object is gone: deletes what it alone owned, and lets an owner go that waited for it.
pub(crate) fn removed(api: &Api, gone: &Stored) -> Vec<Removed> {
    let mut removed = Vec::new();
    for (dependent, object) in dependents(api, &gone.uid) {
        removed.extend(collect(api, &dependent, &object, &gone.uid, Propagation::Background));
    }
    for owner in gone.owners() {
        if let Some((resource, stored)) = find_owner(api, gone, owner) {
            release_foreground(api, &resource, &stored);
        }
    }
    removed
}

/// Deletes a dependent, or only takes this owner from it when it has others that live.
fn collect(
    api: &Api,
    resource: &Arc<Resource>,
    stored: &Arc<Stored>,
    owner: &str,
    propagation: Propagation,
) -> Option<Removed> {
    let others = stored.owners().iter().filter(|uid| *uid != owner);
    if others.filter(|uid| find_owner(api, stored, uid).is_some()).count() > 0 {
        ignore_race(disown(api, resource, &stored.key, owner));
        return None;
    }
    let options = DeleteOptions { propagation, uid: Some(stored.uid.clone()), ..DeleteOptions::default() };
    match rest::delete_alone(api, resource, &stored.key, &options) {
        Ok(Deleted { how: Deletion::Done, object }) => Some((resource.clone(), object)),
        Ok(Deleted { how: Deletion::Pending, object }) => {
            // Its own dependents come first, and may be all that holds it.
            if propagation == Propagation::Foreground {
                rest::settle(api, marked(api, resource, &object));
            }
            None
        }
        Err(_) => None,
    }
}

/// Lets an object go that waited for its dependents, if they are gone.
fn release_foreground(api: &Api, resource: &Arc<Resource>, stored: &Stored) {
    let object = stored.decode(resource);
    let waits = object.is_deleting() && object.finalizers().contains(&FOREGROUND);
    if waits && dependents(api, &stored.uid).is_empty() {
        ignore_race(release(api, resource, &stored.key, FOREGROUND));
    }
}

fn release(api: &Api, resource: &Arc<Resource>, key: &ObjectKey, finalizer: &str) -> ApiResult<Arc<Stored>> {
    rest::update(api, resource, key, &rest::INTERNAL, |current| {
        let mut released = current.clone();
        released.remove_finalizer(finalizer);
        Ok(released)
    })
}

fn disown(api: &Api, resource: &Arc<Resource>, key: &ObjectKey, owner: &str) -> ApiResult<Arc<Stored>> {
    rest::update(api, resource, key, &rest::INTERNAL, |current| {
        let mut changed = current.clone();
        if let Some(Value::Array(owners)) = changed.metadata.get_mut("ownerReferences") {
            owners.retain(|reference| reference.get("uid").and_then(Value::as_str) != Some(owner));
            if owners.is_empty() {
                changed.metadata.remove("ownerReferences");
            }
        }
        Ok(changed)
    })
}

fn dependents(api: &Api, uid: &str) -> Vec<Removed> {
    let places = api.storage.owners().dependents(uid).into_iter();
    let found = places.filter_map(|(id, key)| {
        let resource = api.registry.by_id(&id)?;
        let stored = api.storage.collection(&id).get(&key)?;
        Some((resource, stored))
    });
    found.collect()
}

/// The living owner of this UID that an object names.
fn find_owner(api: &Api, dependent: &Stored, uid: &str) -> Option<Removed> {
    let reference = dependent.owner_reference(uid)?;
    let text = |field: &str| reference.get(field).and_then(Value::as_str).unwrap_or_default();
    let resource = api.registry.by_kind(text("apiVersion"), text("kind"))?;
    let namespace = if resource.namespaced { dependent.key.namespace.as_str() } else { "" };
    let stored = api.collection(&resource).get(&ObjectKey::new(namespace, text("name")))?;
    (stored.uid == uid).then_some((resource, stored))
}

/// Somebody else changed or deleted the object first: what we wanted is done, or no longer wanted.
fn ignore_race(result: ApiResult<Arc<Stored>>) {
    if let Err(error) = result.map_err(|error| error.to_json()) {
        tracing::debug!(%error, "garbage collection was overtaken");
    }
}
