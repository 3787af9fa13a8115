//! One write of one object, without the writes that follow from it (see [`consequence`](crate::consequence)).
//!
//! A write reads the current state, prepares the next state without holding a lock, and commits it only if the
//! object is still in the state that was read. Otherwise the write starts again from the newer state. These rules
//! do not depend on HTTP. kube-apiserver calls them the generic registry.

use std::sync::Arc;

use crate::{
    api::Api,
    registry::Resource,
    status::{ApiError, ApiResult},
    storage::{ObjectKey, Stored},
};

mod create;
mod defaults;
mod delete;
mod options;
mod strategy;
mod update;
mod validate;

pub(crate) use create::{create, seed};
pub(crate) use delete::{Deleted, delete};
pub(crate) use options::{
    DeleteOptions, FOREGROUND_FINALIZER, ORPHAN_FINALIZER, Part, Propagation, WriteOptions,
};
pub(crate) use update::update;

/// A committed write. Other writes may have to follow it.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) kind: ChangeKind,
    pub(crate) resource: Arc<Resource>,
    pub(crate) object: Arc<Stored>,
}

/// The effect of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChangeKind {
    /// The object was created or changed.
    Written,
    /// The object was marked for deletion; finalizers hold it.
    Marked,
    /// The object is gone.
    Removed,
}

/// How often a write is tried that loses against concurrent writes. Each failed try means that another write
/// succeeded, so only a stampede on one object reaches this number.
const MAX_TRIES: usize = 1000;

fn current(api: &Api, resource: &Resource, key: &ObjectKey) -> ApiResult<Arc<Stored>> {
    let found = api.collection(resource).get(key);
    found.ok_or_else(|| ApiError::not_found(resource.group_resource(), &key.name))
}
