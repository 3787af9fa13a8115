//! Reads of the test host's cache.

use std::collections::BTreeMap;

use serde_json::Value;

use super::lists::Selected;
use super::pages::page_size;
use super::state::{error, meta, texts, with_state};
use crate::bindings::informer::plugin::lister::{
    CacheState, Fields, FieldsPage, IndexValue, JsonPage, MetaPage, Page, Selector,
};
use crate::bindings::informer::plugin::types::{Error, ErrorCode, ObjectKey};

pub(crate) fn get(gvr: &str, key: &ObjectKey) -> Result<Option<String>, Error> {
    one(gvr, key, |object| Ok(object.to_string()))
}

pub(crate) fn get_fields(
    gvr: &str,
    key: &ObjectKey,
    pointers: &[&str],
) -> Result<Option<Vec<Option<String>>>, Error> {
    one(gvr, key, |object| texts(object, pointers))
}

pub(crate) fn list_meta(gvr: &str, of: Selector<'_>, part: Page<'_>) -> Result<MetaPage, Error> {
    let (items, next) = list(gvr, of, part, |object| Ok(meta(object)))?;
    Ok(MetaPage { items, next })
}

pub(crate) fn list_fields(
    gvr: &str,
    of: Selector<'_>,
    pointers: &[&str],
    part: Page<'_>,
) -> Result<FieldsPage, Error> {
    let fields = |object: &Value| {
        let meta = meta(object);
        Ok(Fields { key: meta.key(), values: texts(object, pointers)? })
    };
    let (items, next) = list(gvr, of, part, fields)?;
    Ok(FieldsPage { items, next })
}

pub(crate) fn list_json(gvr: &str, of: Selector<'_>, part: Page<'_>) -> Result<JsonPage, Error> {
    let (items, next) = list(gvr, of, part, |object| Ok(object.to_string()))?;
    Ok(JsonPage { items, next })
}

pub(crate) fn has_synced(gvr: &str) -> Result<bool, Error> {
    with_state(|state| Ok(state.watched(gvr)?.synced))
}

pub(crate) fn index_values(
    gvr: &str,
    index: &str,
    namespace: Option<&str>,
    after: Option<&str>,
    limit: u32,
) -> Result<Vec<IndexValue>, Error> {
    with_state(|state| {
        let resource = state.watched(gvr)?;
        let index = resource.index(index)?;
        let mut values = BTreeMap::new();
        for value in resource.in_namespace(namespace).flat_map(|object| index.values(object)) {
            *values.entry(value).or_default() += 1;
        }
        let behind = values.into_iter().filter(|(value, _)| after.is_none_or(|after| value.as_str() > after));
        Ok(behind.map(|(value, objects)| IndexValue { value, objects }).take(page_size(limit)).collect())
    })
}

/// The test host's cache has no version and is always up to date.
pub(crate) fn state(gvr: &str) -> Result<CacheState, Error> {
    let synced = has_synced(gvr)?;
    Ok(CacheState { synced, resource_version: String::new(), age_ms: synced.then_some(0) })
}

/// The test host's cache is always up to date.
pub(crate) fn wait_until(
    gvr: &str,
    _namespace: Option<&str>,
    _resource_version: &str,
    _millis: u32,
) -> Result<bool, Error> {
    with_state(|state| state.watched(gvr).map(|_| true))
}

fn one<T>(gvr: &str, key: &ObjectKey, show: impl Fn(&Value) -> Result<T, Error>) -> Result<Option<T>, Error> {
    with_state(|state| state.watched(gvr)?.get(key).map(show).transpose())
}

fn list<T>(
    gvr: &str,
    Selector { namespace, labels, index }: Selector<'_>,
    Page { limit, token }: Page<'_>,
    show: impl Fn(&Value) -> Result<T, Error>,
) -> Result<(Vec<T>, Option<String>), Error> {
    let selected = Selected::parse(namespace, labels, "");
    let selected = selected.map_err(|problem| error(ErrorCode::Invalid, problem))?;
    with_state(|state| {
        let resource = state.watched(gvr)?;
        let objects = match (token, index) {
            (Some(token), _) => state.lists.rest(token).ok_or_else(|| {
                error(ErrorCode::StalePage, format!("the page token `{token}` belongs to no open list"))
            })?,
            (None, None) => selected.of(resource).cloned().collect(),
            (None, Some((name, value))) => {
                let index = resource.index(name)?;
                selected.of(resource).filter(|object| index.has(object, value)).cloned().collect()
            }
        };
        let (objects, next) = state.lists.page(objects, limit);
        Ok((objects.iter().map(show).collect::<Result<_, _>>()?, next))
    })
}
