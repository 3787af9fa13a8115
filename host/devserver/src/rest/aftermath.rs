//! What follows from a write, inside the server: namespaces are emptied, definitions take effect,
//! dependents are collected.
//!
//! In a cluster controllers do this some time later. Here it is done before the write is answered
//! (but for namespaces with a grace), so that a test sees one order of events. What follows from
//! what follows goes onto a list, not onto the stack: a chain of owners may be of any length.

use std::sync::Arc;

use super::namespace;
use crate::{api::Api, crd, gc, registry::Resource, status::ApiResult, storage::Stored};

/// A write that was made, and whose consequences are still to be drawn.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) what: What,
    pub(crate) resource: Arc<Resource>,
    pub(crate) object: Arc<Stored>,
}

/// What a write did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    /// The object is new or changed.
    Written,
    /// The object was marked for deletion and is held by finalizers.
    Marked,
    /// The object is gone.
    Removed,
}

/// Draws all consequences of some writes.
pub(crate) fn settle(api: &Api, mut work: Vec<Done>) {
    while let Some(done) = work.pop() {
        work.extend(follow(api, &done));
    }
}

/// Deletes what is in a namespace, and the namespace when that is all.
pub(super) fn empty_namespace(api: &Api, name: &str) -> Vec<Done> {
    let mut work = namespace::empty(api, name);
    work.extend(report(namespace::release_if_empty(api, name)));
    work
}

/// The writes that follow from one, made.
fn follow(api: &Api, Done { what, resource, object }: &Done) -> Vec<Done> {
    let is_definition = resource.is(crd::GROUP, crd::PLURAL);
    let mut work = Vec::new();
    match what {
        What::Written if is_definition => work.extend(report(crd::written(api, resource, object))),
        What::Written => {}
        What::Marked if resource.is("", "namespaces") => {
            if api.config.namespace_grace.is_zero() {
                work.extend(empty_namespace(api, &object.key.name));
            } else {
                api.namespace_marked.notify_one();
            }
        }
        What::Marked if is_definition => {
            work.extend(crd::empty(api, resource, object));
            let id = crd::collection_id(&object.decode(resource));
            work.extend(id.and_then(|id| report(crd::release_if_empty(api, &id))));
        }
        What::Marked if api.config.garbage_collection => work.extend(gc::marked(api, resource, object)),
        What::Marked => {}
        What::Removed => {
            if is_definition {
                crd::removed(api, resource, object);
            }
            if api.config.garbage_collection {
                work.extend(gc::removed(api, object));
            }
            if resource.custom {
                work.extend(report(crd::release_if_empty(api, &resource.id())));
            }
            if resource.namespaced {
                work.extend(report(namespace::release_if_empty(api, &object.key.namespace)));
            }
        }
    }
    work
}

/// What was to be written may be gone or changed by somebody else: then it is done, or no longer
/// wanted.
pub(crate) fn report(result: ApiResult<Option<Done>>) -> Option<Done> {
    match result {
        Ok(done) => done,
        Err(error) => {
            let error = error.to_json();
            tracing::debug!(%error, "a consequence of a write was overtaken");
            None
        }
    }
}
