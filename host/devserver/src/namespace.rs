//! The rules of namespaces: when they accept objects, and what holds them.

use std::sync::Arc;

use crate::{
    api::Api,
    object::Object,
    registry::Resource,
    status::{ApiError, ApiResult, Cause},
    storage::ObjectKey,
};

const PLURAL: &str = "namespaces";

/// The namespaces that every cluster has.
pub(crate) const INITIAL: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// The resource of namespaces.
pub(crate) fn resource(api: &Api) -> ApiResult<Arc<Resource>> {
    api.builtin("", "v1", PLURAL)
}

pub(crate) fn is_namespace(resource: &Resource) -> bool {
    resource.is("", PLURAL)
}

/// Checks that the namespace of `object` accepts new objects. Call this while you hold the namespace gate.
///
/// # Errors
/// 404 if the namespace does not exist, 403 if it is being deleted.
pub(crate) fn check_open(api: &Api, resource: &Resource, object: &Object) -> ApiResult<()> {
    let name = object.namespace();
    let namespaces = self::resource(api)?;
    let namespace = api.collection(&namespaces).get(&ObjectKey::new("", name));
    let namespace = namespace.ok_or_else(|| ApiError::not_found(&namespaces, name))?;
    if !namespace.is_deleting() {
        return Ok(());
    }
    let why = format!("unable to create new content in namespace {name} because it is being terminated");
    let cause = Cause::new(
        "NamespaceTerminating",
        "metadata.namespace",
        format!("namespace {name} is being terminated"),
    );
    Err(ApiError::forbidden(resource, object.name(), &why, cause))
}

/// Returns true if finalizers hold an object that is being deleted. A namespace also has finalizers in its spec:
/// `kubernetes` until it is empty, and those that clients add.
pub(crate) fn is_held(resource: &Resource, object: &Object) -> bool {
    let held_by_spec = || !object.list_at(&["spec", "finalizers"]).is_empty();
    !object.finalizers().is_empty() || is_namespace(resource) && held_by_spec()
}
