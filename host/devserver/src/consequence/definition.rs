//! CustomResourceDefinitions: their resource is served while they exist, and their objects are deleted first.

use std::sync::Arc;

use super::follow_up;
use crate::{
    api::Api,
    crd,
    registry::{CollectionId, Resource},
    storage::Stored,
    write::{Change, DeleteOptions},
};

/// Serves a definition that was created or changed, and writes its status.
pub(super) fn written(api: &Api, resource: &Arc<Resource>, stored: &Stored) -> Option<Change> {
    let object = stored.decode(resource);
    let id = crd::collection_id(&object)?;
    api.registry.replace_custom(&id.group, &id.plural, crd::resources(&object));
    follow_up::update(api, resource, &stored.key, |accepted| {
        crd::accept(accepted);
        if !accepted.is_deleting() {
            accepted.add_finalizer(crd::FINALIZER);
        }
    })
}

/// Deletes the objects of a definition that is being deleted, and the definition if no object is left.
pub(super) fn marked(api: &Api, resource: &Resource, stored: &Stored) -> Vec<Change> {
    let Some(id) = crd::collection_id(&stored.decode(resource)) else { return Vec::new() };
    let mut work = Vec::new();
    if let Some(custom) = api.registry.by_id(&id) {
        for object in api.collection(&custom).snapshot(None).objects {
            work.extend(follow_up::delete(api, &custom, &object.key, &DeleteOptions::default()));
        }
    }
    work.extend(release_if_empty(api, &id));
    work
}

/// Removes the definition of a collection if it is being deleted and the collection is empty.
pub(super) fn release_if_empty(api: &Api, id: &CollectionId) -> Option<Change> {
    let definitions = crd::resource(api).ok()?;
    let key = crd::key(id);
    let stored = api.collection(&definitions).get(&key)?;
    if !stored.is_deleting() || !api.storage.collection(id).is_empty() {
        return None;
    }
    follow_up::update(api, &definitions, &key, |released| released.remove_finalizer(crd::FINALIZER))
}

/// Stops serving the resource of a definition that is gone, and ends its watches.
pub(super) fn removed(api: &Api, resource: &Resource, stored: &Stored) {
    if let Some(id) = crd::collection_id(&stored.decode(resource)) {
        api.registry.replace_custom(&id.group, &id.plural, Vec::new());
        api.storage.drop_collection(&id);
    }
}
