//! The objects of the current call.

use super::state::{differ, meta as meta_of, texts, with_state};
use crate::bindings::informer::plugin::types::{Error, ObjectId, ObjectMeta};

pub(crate) fn meta(id: ObjectId) -> Result<ObjectMeta, Error> {
    with_state(|state| Ok(meta_of(state.object(id)?)))
}

pub(crate) fn json(id: ObjectId) -> Result<String, Error> {
    with_state(|state| Ok(state.object(id)?.to_string()))
}

pub(crate) fn get(id: ObjectId, pointer: &str) -> Result<Option<String>, Error> {
    get_many(id, &[pointer]).map(|values| values.into_iter().next().flatten())
}

pub(crate) fn get_many(id: ObjectId, pointers: &[&str]) -> Result<Vec<Option<String>>, Error> {
    with_state(|state| texts(state.object(id)?, pointers))
}

pub(crate) fn differs(old: ObjectId, new: ObjectId, pointers: &[&str]) -> Result<bool, Error> {
    with_state(|state| differ(state.object(old)?, state.object(new)?, pointers))
}
