//! Writes that the server makes as the consequence of another write.
//!
//! A concurrent write may have removed or changed the object in the meantime. Then the consequence is already
//! drawn or no longer wanted, so these functions log the error and return `None`.

use std::sync::Arc;

use crate::{
    api::Api,
    object::Object,
    registry::Resource,
    status::ApiResult,
    storage::ObjectKey,
    write::{self, Change, DeleteOptions, WriteOptions},
};

pub(super) fn delete(
    api: &Api,
    resource: &Arc<Resource>,
    key: &ObjectKey,
    options: &DeleteOptions,
) -> Option<Change> {
    unless_overtaken(write::delete(api, resource, key, options).map(|(_, change)| change))
}

/// Applies `change` to a copy of the object and writes the copy.
pub(super) fn update(
    api: &Api,
    resource: &Arc<Resource>,
    key: &ObjectKey,
    change: impl Fn(&mut Object),
) -> Option<Change> {
    let written = write::update(api, resource, key, &WriteOptions::INTERNAL, |current| {
        let mut changed = current.clone();
        change(&mut changed);
        Ok(changed)
    });
    unless_overtaken(written.map(|(_, change)| change))
}

fn unless_overtaken(result: ApiResult<Option<Change>>) -> Option<Change> {
    result.unwrap_or_else(|error| {
        let error = error.to_json();
        tracing::debug!(%error, "a concurrent write overtook a consequence of a write");
        None
    })
}
