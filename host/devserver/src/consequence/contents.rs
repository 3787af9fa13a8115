//! The contents of namespaces: deleted before their namespace goes.

use std::sync::Arc;

use super::follow_up;
use crate::{
    api::Api,
    namespace,
    registry::Resource,
    storage::ObjectKey,
    write::{Change, DeleteOptions},
};

/// Deletes every object in a namespace that is being deleted, and the namespace if nothing is left in it.
pub(super) fn empty(api: &Api, name: &str) -> Vec<Change> {
    let mut work = Vec::new();
    for resource in namespaced_resources(api) {
        for object in api.collection(&resource).snapshot(Some(name)).objects {
            work.extend(follow_up::delete(api, &resource, &object.key, &DeleteOptions::default()));
        }
    }
    work.extend(release_if_empty(api, name));
    work
}

/// Removes a namespace that is being deleted and is empty.
pub(super) fn release_if_empty(api: &Api, name: &str) -> Option<Change> {
    let namespaces = namespace::resource(api).ok()?;
    let key = ObjectKey::new("", name);
    let namespace = api.collection(&namespaces).get(&key)?;
    let has_objects = |resource: &Arc<Resource>| api.collection(resource).has_any_in(name);
    if !namespace.is_deleting() || namespaced_resources(api).iter().any(has_objects) {
        return None;
    }
    follow_up::update(api, &namespaces, &key, |released| {
        let finalizers = released.list_at(&["spec", "finalizers"]).iter();
        let others = finalizers.filter(|one| *one != "kubernetes").cloned().collect();
        released.set_at(&["spec", "finalizers"], others);
    })
}

/// One resource for every collection of namespaced objects.
fn namespaced_resources(api: &Api) -> Vec<Arc<Resource>> {
    let mut resources = api.registry.all();
    resources.retain(|resource| resource.namespaced);
    resources.dedup_by_key(|resource| resource.id());
    resources
}
