//! The life of an object, whatever its resource: what kube-apiserver calls the generic registry.
//!
//! HTTP knows nothing of these rules and they know nothing of HTTP. A write reads the current state,
//! prepares the next one outside any lock, and commits it only if nothing came in between; else it
//! starts again from the newer state.

use std::sync::Arc;

use crate::{
    api::Api,
    registry::Resource,
    status::{ApiError, ApiResult},
    storage::{ObjectKey, Stored},
};

mod aftermath;
mod create;
mod defaults;
mod delete;
mod namespace;
mod strategy;
mod update;
mod validate;

pub(crate) use aftermath::{Done, report};
pub(crate) use create::{create, seed};
pub(crate) use delete::{DeleteOptions, Deleted, Deletion, Propagation, delete, delete_alone};
pub(crate) use namespace::{INITIAL as INITIAL_NAMESPACES, run as run_namespaces};
pub(crate) use update::{INTERNAL, Part, WriteOptions, update, update_alone};

/// How often a write that others overtake is tried again. Each failed try means that another write
/// succeeded, so only a stampede on one object reaches this.
const MAX_TRIES: usize = 1000;

fn current(api: &Api, resource: &Resource, key: &ObjectKey) -> ApiResult<Arc<Stored>> {
    let found = api.collection(resource).get(key);
    found.ok_or_else(|| ApiError::not_found(resource.group_resource(), &key.name))
}

/// Now, as Kubernetes writes times.
pub(crate) fn timestamp() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
