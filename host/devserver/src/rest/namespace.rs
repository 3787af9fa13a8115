//! Namespaces: they hold objects, and are emptied before they go.

use std::sync::Arc;

use serde_json::Value;

use super::{
    DeleteOptions, INTERNAL,
    aftermath::{Done, empty_namespace, report, settle},
    delete::delete_alone,
    update::update_alone,
};
use crate::{
    api::Api,
    object::Object,
    registry::Resource,
    status::{ApiError, ApiResult, Cause, GroupResource},
    storage::ObjectKey,
};

const NAMESPACES: GroupResource<'static> = GroupResource { group: "", plural: "namespaces" };

/// The namespaces every cluster has.
pub(crate) const INITIAL: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// Fails unless objects may be created in the namespace of `object`. Call it under the gate.
///
/// # Errors
/// 404 when the namespace does not exist, 403 when it is being deleted.
pub(super) fn check_open(api: &Api, resource: &Resource, object: &Object) -> ApiResult<()> {
    let name = object.namespace();
    let namespaces = api.builtin("", "v1", "namespaces")?;
    let namespace = api.collection(&namespaces).get(&ObjectKey::new("", name));
    let namespace = namespace.ok_or_else(|| ApiError::not_found(NAMESPACES, name))?;
    if !namespace.is_deleting() {
        return Ok(());
    }
    let why = format!("unable to create new content in namespace {name} because it is being terminated");
    let cause = Cause::new(
        "NamespaceTerminating",
        "metadata.namespace",
        format!("namespace {name} is being terminated"),
    );
    Err(ApiError::forbidden(resource.group_resource(), object.name(), &why, &[cause]))
}

/// Whether the content, or somebody who put a name into `spec.finalizers`, holds the namespace.
pub(super) fn is_held(namespace: &Object) -> bool {
    let finalizers = namespace.at(&["spec", "finalizers"]).and_then(Value::as_array);
    finalizers.is_some_and(|finalizers| !finalizers.is_empty())
}

/// Deletes what is in a namespace that is being deleted.
pub(super) fn empty(api: &Api, name: &str) -> Vec<Done> {
    let mut work = Vec::new();
    for resource in stored_resources(api) {
        for object in api.collection(&resource).snapshot(Some(name)).objects {
            let deleted = delete_alone(api, &resource, &object.key, &DeleteOptions::default());
            work.extend(report(deleted.map(|(_, done)| done)));
        }
    }
    work
}

/// Empties namespaces that are being deleted, each after the grace. Ends when the server stops.
pub(crate) async fn run(api: Arc<Api>) {
    let wait = async {
        loop {
            api.namespace_marked.notified().await;
            tokio::time::sleep(api.config.namespace_grace).await;
            let Ok(namespaces) = api.builtin("", "v1", "namespaces") else { return };
            let all = api.collection(&namespaces).snapshot(None).objects;
            for namespace in all.iter().filter(|namespace| namespace.is_deleting()) {
                settle(&api, empty_namespace(&api, &namespace.key.name));
            }
        }
    };
    tokio::select! {
        biased;
        () = api.shutdown.cancelled() => {}
        () = wait => {}
    }
}

/// Lets a namespace go that is being deleted and empty.
pub(super) fn release_if_empty(api: &Api, name: &str) -> ApiResult<Option<Done>> {
    let namespaces = api.builtin("", "v1", "namespaces")?;
    let key = ObjectKey::new("", name);
    let Some(namespace) = api.collection(&namespaces).get(&key) else { return Ok(None) };
    let holds = |resource: &Arc<Resource>| api.collection(resource).has_any_in(name);
    if !namespace.is_deleting() || stored_resources(api).iter().any(holds) {
        return Ok(None);
    }
    let released = update_alone(api, &namespaces, &key, &INTERNAL, |current| {
        let mut released = current.clone();
        let finalizers = current.at(&["spec", "finalizers"]).and_then(Value::as_array);
        let others = finalizers.into_iter().flatten().filter(|one| *one != "kubernetes").cloned();
        released.set_at(&["spec", "finalizers"], others.collect());
        Ok(released)
    })?;
    Ok(released.1)
}

/// One resource for every collection of namespaced objects.
fn stored_resources(api: &Api) -> Vec<Arc<Resource>> {
    let mut resources = api.registry.all();
    resources.retain(|resource| resource.namespaced);
    resources.dedup_by_key(|resource| resource.id());
    resources
}
