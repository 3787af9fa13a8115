//! The garbage collector: what is owned goes with its last owner.
//!
//! Follows kube-controller-manager's rules, except that objects whose owners never existed are left
//! alone, and that objects that own one another in a circle wait for ever when one of them is deleted
//! in the foreground.

use std::sync::Arc;

use serde_json::Value;

use crate::{
    api::Api,
    object::Object,
    registry::Resource,
    rest::{self, DeleteOptions, Done, Propagation},
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

/// After an object was marked for deletion: orphans its dependents or deletes them first.
pub(crate) fn marked(api: &Api, resource: &Arc<Resource>, stored: &Arc<Stored>) -> Vec<Done> {
    let object = stored.decode(resource);
    let finalizers = object.finalizers();
    let mut work = Vec::new();
    if finalizers.contains(&ORPHAN) {
        for (dependent, object) in dependents(api, &stored.uid) {
            work.extend(disown(api, &dependent, &object.key, &stored.uid));
        }
        work.extend(release(api, resource, &stored.key, ORPHAN));
    } else if finalizers.contains(&FOREGROUND) {
        for (dependent, object) in dependents(api, &stored.uid) {
            work.extend(collect(api, &dependent, &object, &stored.uid, Propagation::Foreground));
        }
        work.extend(release_foreground(api, resource, stored));
    }
    work
}

/// After an object is gone: deletes what it alone owned, and lets an owner go that waited for it.
pub(crate) fn removed(api: &Api, gone: &Stored) -> Vec<Done> {
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

/// Deletes a dependent, or only takes this owner from it when it has others that live.
fn collect(
    api: &Api,
    resource: &Arc<Resource>,
    stored: &Arc<Stored>,
    owner: &str,
    propagation: Propagation,
) -> Option<Done> {
    let mut others = stored.owners().iter().filter(|uid| *uid != owner);
    if others.any(|uid| find_owner(api, stored, uid).is_some()) {
        return disown(api, resource, &stored.key, owner);
    }
    let options = DeleteOptions { propagation, uid: Some(stored.uid.clone()), ..DeleteOptions::default() };
    rest::report(rest::delete_alone(api, resource, &stored.key, &options).map(|(_, done)| done))
}

/// Lets an object go that waited for its dependents, if they are gone.
fn release_foreground(api: &Api, resource: &Arc<Resource>, stored: &Stored) -> Option<Done> {
    let object = stored.decode(resource);
    let waits = object.is_deleting() && object.finalizers().contains(&FOREGROUND);
    if waits && dependents(api, &stored.uid).is_empty() {
        return release(api, resource, &stored.key, FOREGROUND);
    }
    None
}

fn release(api: &Api, resource: &Arc<Resource>, key: &ObjectKey, finalizer: &str) -> Option<Done> {
    let released = rest::update_alone(api, resource, key, &rest::INTERNAL, |current| {
        let mut released = current.clone();
        released.remove_finalizer(finalizer);
        Ok(released)
    });
    rest::report(released.map(|(_, done)| done))
}

fn disown(api: &Api, resource: &Arc<Resource>, key: &ObjectKey, owner: &str) -> Option<Done> {
    let disowned = rest::update_alone(api, resource, key, &rest::INTERNAL, |current| {
        let mut changed = current.clone();
        if let Some(Value::Array(owners)) = changed.metadata.get_mut("ownerReferences") {
            owners.retain(|reference| reference.get("uid").and_then(Value::as_str) != Some(owner));
            if owners.is_empty() {
                changed.metadata.remove("ownerReferences");
            }
        }
        Ok(changed)
    });
    rest::report(disowned.map(|(_, done)| done))
}

/// An object and how it is served.
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

/// The living owner of this UID that an object names.
fn find_owner(api: &Api, dependent: &Stored, uid: &str) -> Option<Found> {
    let reference = dependent.owner_reference(uid)?;
    let text = |field: &str| reference.get(field).and_then(Value::as_str).unwrap_or_default();
    let resource = api.registry.by_kind(text("apiVersion"), text("kind"))?;
    let namespace = if resource.namespaced { dependent.key.namespace.as_str() } else { "" };
    let stored = api.collection(&resource).get(&ObjectKey::new(namespace, text("name")))?;
    (stored.uid == uid).then_some((resource, stored))
}
