//! What follows from a write, inside the server: namespaces are emptied, definitions take effect,
//! dependents are collected.
//!
//! In a cluster controllers do this some time later. Here it is done before the write is answered
//! (but for namespaces with a grace), so that a test sees one order of events. The work is a list, not a recursion: a chain of owners
//! may be of any length.

use std::sync::Arc;

use super::namespace;
use crate::{api::Api, crd, gc, registry::Resource, status::ApiResult, storage::Stored};

/// An object that is gone.
pub(crate) type Removed = (Arc<Resource>, Arc<Stored>);

/// After an object was created or changed.
pub(super) fn written(api: &Api, resource: &Arc<Resource>, object: &Arc<Stored>) {
    if resource.is(crd::GROUP, crd::PLURAL) {
        crd::written(api, resource, object);
    }
}

/// After an object was marked for deletion and stayed.
pub(super) fn marked(api: &Api, resource: &Arc<Resource>, object: &Arc<Stored>) {
    if resource.is("", "namespaces") {
        if api.config.namespace_grace.is_zero() {
            empty_namespace(api, &object.key.name);
        } else {
            api.namespace_marked.notify_one();
        }
    } else if resource.is(crd::GROUP, crd::PLURAL) {
        removed(api, crd::empty(api, resource, object));
        if let Some(id) = crd::collection_id(&object.decode(resource)) {
            report(crd::release_if_empty(api, &id));
        }
    } else if api.config.garbage_collection {
        removed(api, gc::marked(api, resource, object));
    }
}

/// Deletes what is in a namespace, and the namespace when that is all.
pub(super) fn empty_namespace(api: &Api, name: &str) {
    removed(api, namespace::empty(api, name));
    report(namespace::release_if_empty(api, name));
}

/// After objects are gone.
pub(crate) fn removed(api: &Api, mut work: Vec<Removed>) {
    while let Some((resource, object)) = work.pop() {
        if resource.is(crd::GROUP, crd::PLURAL) {
            crd::removed(api, &resource, &object);
        }
        if api.config.garbage_collection {
            work.extend(gc::removed(api, &object));
        }
        if resource.custom {
            report(crd::release_if_empty(api, &resource.id()));
        }
        if resource.namespaced {
            report(namespace::release_if_empty(api, &object.key.namespace));
        }
    }
}

/// Whoever waits for the last object to go may have gone already, or be held by others.
fn report(result: ApiResult<()>) {
    if let Err(error) = result.map_err(|error| error.to_json()) {
        tracing::debug!(%error, "an empty container was not released");
    }
}
