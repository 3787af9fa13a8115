//! The writes that follow from a write inside the server: namespaces are emptied, definitions take effect,
//! dependents are collected.
//!
//! In a cluster, controllers do this some time later. Here it is done before the write is answered (except for
//! namespaces with a grace period), so that a test sees one order of events. Consequences of consequences go to a
//! list and not to the stack, so a chain of owners may have any length.
//!
//! The garbage collector deletes an object with its last owner. It follows the rules of kube-controller-manager with two
//! exceptions: objects whose owners never existed are left alone, and objects that own one another in a circle wait for
//! ever if one of them is deleted in the foreground.

use std::sync::Arc;

use crate::{
    api::Api,
    crd, namespace,
    object::{Object, text_of},
    registry::{CollectionId, Resource},
    status::{ApiError, ApiResult},
    storage::{ObjectKey, Stored},
    write::{
        self, Change, ChangeKind, DeleteOptions, FOREGROUND_FINALIZER, ORPHAN_FINALIZER, Part, Propagation,
        WriteOptions,
    },
};

/// An object and its resource.
type Found = (Arc<Resource>, Arc<Stored>);

/// Makes all writes that follow from a write that a client requested, and returns that write.
///
/// # Errors
/// Returns the error of the write.
pub(crate) fn settle(api: &Api, written: ApiResult<Change>) -> ApiResult<Change> {
    let change = written?;
    if !change.dry_run {
        draw(api, vec![change.clone()]);
    }
    Ok(change)
}

fn draw(api: &Api, mut work: Vec<Change>) {
    while let Some(change) = work.pop() {
        work.extend(follow(api, &change));
    }
}

/// Empties namespaces that are being deleted, each after the grace period. Ends when the server stops.
pub(crate) async fn empty_marked_namespaces(api: Arc<Api>) {
    let wait = async {
        loop {
            api.namespace_marked.notified().await;
            tokio::time::sleep(api.config.namespace_grace).await;
            let Ok(namespaces) = namespace::resource(&api) else { return };
            let all = api.collection(&namespaces).snapshot(None).objects;
            for namespace in all.iter().filter(|namespace| namespace.is_deleting()) {
                draw(&api, empty_namespace(&api, &namespace.key.name));
            }
        }
    };
    api.shutdown.run_until_cancelled(wait).await;
}

/// Makes the writes that directly follow from one change.
fn follow(api: &Api, Change { kind, resource, object, .. }: &Change) -> Vec<Change> {
    let is_definition = crd::is_definition(resource);
    let mut work = Vec::new();
    match kind {
        ChangeKind::Written if is_definition => work.extend(serve_definition(api, resource, object)),
        ChangeKind::Written | ChangeKind::Unchanged => {}
        ChangeKind::Marked if namespace::is_namespace(resource) => {
            if api.config.namespace_grace.is_zero() {
                work = empty_namespace(api, &object.key.name);
            } else {
                api.namespace_marked.notify_one();
            }
        }
        ChangeKind::Marked if is_definition => work = empty_definition(api, resource, object),
        ChangeKind::Marked if api.config.garbage_collection => {
            work = release_dependents(api, resource, object);
        }
        ChangeKind::Marked => {}
        ChangeKind::Removed => {
            if let Some(id) = crd::collection_id(resource, object) {
                api.registry.replace_custom(&id, Vec::new());
                api.storage.drop_collection(&id);
            }
            if api.config.garbage_collection {
                work = collect_dependents(api, object);
            }
            if resource.custom {
                work.extend(release_definition(api, &resource.id()));
            }
            if resource.namespaced {
                work.extend(release_namespace(api, &object.key.namespace));
            }
        }
    }
    work
}

/// Deletes every object in a namespace that is being deleted, and the namespace if nothing is left in it.
fn empty_namespace(api: &Api, name: &str) -> Vec<Change> {
    let mut work = Vec::new();
    for resource in namespaced_resources(api) {
        work.extend(delete_all(api, &resource, Some(name)));
    }
    work.extend(release_namespace(api, name));
    work
}

/// Removes a namespace that is being deleted and is empty.
fn release_namespace(api: &Api, name: &str) -> Option<Change> {
    let namespaces = namespace::resource(api).ok()?;
    let key = ObjectKey::new("", name);
    let namespace = api.collection(&namespaces).get(&key)?;
    let has_objects = |resource: &Arc<Resource>| api.collection(resource).has_any_in(name);
    if !namespace.is_deleting() || namespaced_resources(api).iter().any(has_objects) {
        return None;
    }
    update(api, &namespaces, &key, |released| {
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

/// Serves the resources of a definition that was created or changed, and writes its status.
fn serve_definition(api: &Api, resource: &Arc<Resource>, stored: &Stored) -> Option<Change> {
    let id = crd::collection_id(resource, stored)?;
    api.registry.replace_custom(&id, crd::resources(&stored.decode(resource)));
    update(api, resource, &stored.key, |accepted| {
        crd::accept(accepted);
        if !accepted.is_deleting() {
            accepted.add_finalizer(crd::FINALIZER);
        }
    })
}

/// Deletes the objects of a definition that is being deleted, and the definition if no object is left.
fn empty_definition(api: &Api, resource: &Resource, stored: &Stored) -> Vec<Change> {
    let Some(id) = crd::collection_id(resource, stored) else { return Vec::new() };
    let custom = api.registry.by_id(&id);
    let mut work = custom.map(|custom| delete_all(api, &custom, None)).unwrap_or_default();
    work.extend(release_definition(api, &id));
    work
}

/// Removes the definition of a collection if it is being deleted and the collection is empty.
fn release_definition(api: &Api, id: &CollectionId) -> Option<Change> {
    let definitions = crd::resource(api).ok()?;
    let key = crd::key(id);
    let stored = api.collection(&definitions).get(&key)?;
    if !stored.is_deleting() || !api.storage.collection(id).is_empty() {
        return None;
    }
    update(api, &definitions, &key, |released| released.remove_finalizer(crd::FINALIZER))
}

fn delete_all(api: &Api, resource: &Arc<Resource>, namespace: Option<&str>) -> Vec<Change> {
    let objects = api.collection(resource).snapshot(namespace).objects.into_iter();
    let options = DeleteOptions::default();
    objects.filter_map(|object| delete(api, resource, &object.key, &options)).collect()
}

/// Orphans or deletes the dependents of an object that was marked for deletion, if its finalizers say so.
fn release_dependents(api: &Api, resource: &Arc<Resource>, stored: &Arc<Stored>) -> Vec<Change> {
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
fn collect_dependents(api: &Api, gone: &Stored) -> Vec<Change> {
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
    delete(api, resource, &stored.key, &options)
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
    update(api, resource, key, |released| released.remove_finalizer(finalizer))
}

fn disown(api: &Api, resource: &Arc<Resource>, key: &ObjectKey, owner: &str) -> Option<Change> {
    update(api, resource, key, |changed| {
        changed.retain_in("ownerReferences", |reference| text_of(reference, "uid") != owner);
    })
}

fn dependents(api: &Api, uid: &str) -> Vec<Found> {
    let places = api.storage.owners.dependents(uid).into_iter();
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

/// Deletes an object as the consequence of another write.
fn delete(api: &Api, resource: &Arc<Resource>, key: &ObjectKey, options: &DeleteOptions) -> Option<Change> {
    unless_overtaken(write::delete(api, resource, key, options))
}

/// Applies `change` to a copy of the object and writes the copy, as the consequence of another write.
fn update(
    api: &Api,
    resource: &Arc<Resource>,
    key: &ObjectKey,
    change: impl Fn(&mut Object),
) -> Option<Change> {
    let options = WriteOptions { part: Part::Whole, dry_run: false, manager: None };
    unless_overtaken(write::update(api, resource, key, &options, |current| {
        let mut changed = current.clone();
        change(&mut changed);
        Ok(changed)
    }))
}

/// A concurrent write may have removed or changed the object in the meantime. Then the consequence is already drawn or
/// no longer wanted, so the error is only logged.
fn unless_overtaken(result: ApiResult<Change>) -> Option<Change> {
    let log = |error: &ApiError| {
        tracing::debug!(error = %error.document(), "a concurrent write overtook a consequence of a write");
    };
    result.inspect_err(log).ok()
}
