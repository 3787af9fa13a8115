//! The writes that follow from a write inside the server: namespaces are emptied, definitions take effect,
//! dependents are collected.
//!
//! In a cluster, controllers do this some time later. Here it is done before the write is answered (except for
//! namespaces with a grace period), so that a test sees one order of events. Consequences of consequences go to a
//! list and not to the stack, so a chain of owners may have any length.

use std::sync::Arc;

use crate::{
    api::Api,
    crd, namespace,
    write::{Change, ChangeKind},
};

mod contents;
mod definition;
mod follow_up;
mod garbage;

/// Makes all writes that follow from some changes.
pub(crate) fn settle(api: &Api, changes: impl IntoIterator<Item = Change>) {
    let mut work: Vec<Change> = changes.into_iter().collect();
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
                settle(&api, contents::empty(&api, &namespace.key.name));
            }
        }
    };
    api.shutdown.run_until_cancelled(wait).await;
}

/// Makes the writes that directly follow from one change.
fn follow(api: &Api, Change { kind, resource, object }: &Change) -> Vec<Change> {
    let is_definition = crd::is_definition(resource);
    let mut work = Vec::new();
    match kind {
        ChangeKind::Written if is_definition => work.extend(definition::written(api, resource, object)),
        ChangeKind::Written => {}
        ChangeKind::Marked if namespace::is_namespace(resource) => {
            if api.config.namespace_grace.is_zero() {
                work.extend(contents::empty(api, &object.key.name));
            } else {
                api.namespace_marked.notify_one();
            }
        }
        ChangeKind::Marked if is_definition => work.extend(definition::marked(api, resource, object)),
        ChangeKind::Marked if api.config.garbage_collection => {
            work.extend(garbage::marked(api, resource, object));
        }
        ChangeKind::Marked => {}
        ChangeKind::Removed => {
            if is_definition {
                definition::removed(api, resource, object);
            }
            if api.config.garbage_collection {
                work.extend(garbage::removed(api, object));
            }
            if resource.custom {
                work.extend(definition::release_if_empty(api, &resource.id()));
            }
            if resource.namespaced {
                work.extend(contents::release_if_empty(api, &object.key.namespace));
            }
        }
    }
    work
}
