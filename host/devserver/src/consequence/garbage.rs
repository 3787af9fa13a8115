//! The garbage collector: an object is deleted with its last owner.
//!
//! Follows the rules of kube-controller-manager with two exceptions: objects whose owners never existed are left
//! alone, and objects that own one another in a circle wait for ever if one of them is deleted in the foreground.

use std::sync::Arc;

use serde_json::Value;

use super::follow_up;
use crate::{
    api::Api,
    object::text_of,
    registry::Resource,
    storage::{ObjectKey, Stored},
    write::{Change, DeleteOptions, FOREGROUND_FINALIZER, ORPHAN_FINALIZER, Propagation},
};

/// Orphans or deletes the dependents of an object that was marked for deletion, if its finalizers say so.
pub(super) fn marked(api: &Api, resource: &Arc<Resource>, stored: &Arc<Stored>) -> Vec<Change> {
    let object = stored.decode(resource);
    let finalizers = object.finalizers();
    let mut work = Vec::new();
    if finalizers.contains(&ORPHAN_FINALIZER) {
        for (dependent, object) in dependents(api, &stored.uid) {
            work.extend(disown(api, &dependent, &object.key, &stored.uid));
        }
        work.extend(release(api, resource, &stored.key, ORPHAN_FINALIZER));
    } else if finalizers.contains(&FOREGROUND_FINALIZER) {
        for (dependent, object) in dependents(api, &stored.uid) {
            work.extend(collect(api, &dependent, &object, &stored.uid, Propagation::Foreground));
        }
        work.extend(release_foreground(api, resource, stored));
    }
    work
}

/// Deletes the objects that only the removed object owned, and removes owners that waited for the removed object.
pub(super) fn removed(api: &Api, gone: &Stored) -> Vec<Change> {
    let mut work = Vec::new();
    for (dependent, object) in dependents(api, &gone.uid) {
        work.extend(collect(api, &dependent, &object, &gone.uid, Propagation::Background));
    }
    for owner in gone.owners() {
        if let Some((resource, stored)) = find_owner(api, gone, owner) {
            work.extend(release_foreground(api, &resource, &stored));
        }
    }
    work
}

/// Deletes a dependent. If it has other existing owners, only removes the reference to this owner.
fn collect(
    api: &Api,
    resource: &Arc<Resource>,
    stored: &Arc<Stored>,
    owner: &str,
    propagation: Propagation,
) -> Option<Change> {
    let mut others = stored.owners().iter().filter(|uid| *uid != owner);
    if others.any(|uid| find_owner(api, stored, uid).is_some()) {
        return disown(api, resource, &stored.key, owner);
    }
    let options = DeleteOptions { propagation, uid: Some(stored.uid.clone()), ..DeleteOptions::default() };
    follow_up::delete(api, resource, &stored.key, &options)
}

/// Removes an object that waits for its dependents, if all of them are gone.
fn release_foreground(api: &Api, resource: &Arc<Resource>, stored: &Stored) -> Option<Change> {
    let object = stored.decode(resource);
    let waits = object.is_deleting() && object.finalizers().contains(&FOREGROUND_FINALIZER);
    if waits && dependents(api, &stored.uid).is_empty() {
        return release(api, resource, &stored.key, FOREGROUND_FINALIZER);
    }
    None
}

fn release(api: &Api, resource: &Arc<Resource>, key: &ObjectKey, finalizer: &str) -> Option<Change> {
    follow_up::update(api, resource, key, |released| released.remove_finalizer(finalizer))
}

fn disown(api: &Api, resource: &Arc<Resource>, key: &ObjectKey, owner: &str) -> Option<Change> {
    follow_up::update(api, resource, key, |changed| {
        if let Some(Value::Array(owners)) = changed.metadata.get_mut("ownerReferences") {
            owners.retain(|reference| text_of(reference, "uid") != owner);
            if owners.is_empty() {
                changed.metadata.remove("ownerReferences");
            }
        }
    })
}

/// An object and its resource.
type Found = (Arc<Resource>, Arc<Stored>);

fn dependents(api: &Api, uid: &str) -> Vec<Found> {
    let places = api.storage.owners().dependents(uid).into_iter();
    let found = places.filter_map(|(id, key)| {
        let resource = api.registry.by_id(&id)?;
        let stored = api.storage.collection(&id).get(&key)?;
        Some((resource, stored))
    });
    found.collect()
}

/// The owner with this UID that an object names. Returns `None` if the owner does not exist.
fn find_owner(api: &Api, dependent: &Stored, uid: &str) -> Option<Found> {
    let reference = dependent.owner_reference(uid)?;
    let resource = api.registry.by_kind(text_of(&reference, "apiVersion"), text_of(&reference, "kind"))?;
    let namespace = if resource.namespaced { dependent.key.namespace.as_str() } else { "" };
    let stored = api.collection(&resource).get(&ObjectKey::new(namespace, text_of(&reference, "name")))?;
    (stored.uid == uid).then_some((resource, stored))
}
