//! Reads of the host's cache: one copy for all plugins.
//!
//! It never asks the API server, so it is cheap, and it may be older than the API server, but never older than
//! the notification in hand. `gvr` is written as in `informer.toml`: `apps/v1/deployments`, `v1/pods`. Every
//! resource read must be listed in `read` of `[plugin.grant]`. A plugin that calls nothing of this module does
//! not import the interface and needs no grant.
//!
//! Lists are sorted by namespace and name, and all pages of one list come from one snapshot. They are iterators
//! that fetch page by page, and good within the call in hand only.
//!
//! ```
//! use informer_sdk::{Result, lister, lister::Selector};
//!
//! # fn example() -> Result {
//! let selector = Selector::all().namespace("default").labels("app=web,!legacy");
//! for object in lister::list_fields("apps/v1/deployments", &selector, ["/spec/replicas"]) {
//!     let object = object?;
//!     let [replicas] = object.values;
//!     println!("{} {:?}", object.key, replicas.parse::<u32>()?);
//! }
//! # Ok(())
//! # }
//! ```

mod pages;
mod selector;

use std::time::Duration;

use serde::de::DeserializeOwned;

use crate::bindings::informer::plugin::lister as wit;
use crate::host;
use crate::{Error, Field, ObjectKey, ObjectMeta};

pub use pages::List;
pub use selector::Selector;

/// Chosen fields of one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fields<const N: usize> {
    /// Which object.
    pub key: ObjectKey,
    /// The values, in the order asked.
    pub values: [Field; N],
}

/// True once the first list of the resource is in the cache; before that, lists are incomplete.
///
/// # Errors
/// [`Error::Host`] where the resource is not watched or not granted.
pub fn has_synced(gvr: &str) -> Result<bool, Error> {
    Ok(host::lister::has_synced(gvr)?)
}

/// Waits until the cache is at least as new as this version of the collection: after a write, its answer's
/// `resourceVersion`. Of the part that is `namespace`, where the watch has several. False: it did not come about within
/// `patience`, or within the deadline of the call.
///
/// # Errors
/// [`Error::Host`] where the resource is not watched or not granted, or the version cannot be compared.
pub fn wait_until(
    gvr: &str,
    namespace: Option<&str>,
    resource_version: &str,
    patience: Duration,
) -> Result<bool, Error> {
    let millis = u32::try_from(patience.as_millis()).unwrap_or(u32::MAX);
    Ok(host::lister::wait_until(gvr, namespace, resource_version, millis)?)
}

/// One object as JSON text; `None` where the cache has no such object.
///
/// # Errors
/// [`Error::Host`] where the resource is not watched or not granted, or the text exceeds the `response` limit.
pub fn get_json(gvr: &str, key: &ObjectKey) -> Result<Option<String>, Error> {
    Ok(host::lister::get(gvr, key)?)
}

/// One object as a type; `None` where the cache has no such object.
///
/// # Errors
/// As [`get_json`], and [`Error::Decode`] where the object does not fit the type.
pub fn get<T: DeserializeOwned>(gvr: &str, key: &ObjectKey) -> Result<Option<T>, Error> {
    let parsed = get_json(gvr, key)?.as_deref().map(serde_json::from_str).transpose();
    parsed.map_err(|source| Error::decode(&format!("{gvr} {key}"), source))
}

/// Chosen fields of one object by JSON pointer; `None` where the cache has no such object.
///
/// # Errors
/// [`Error::Host`] where the resource is not watched or not granted, or a pointer cannot be read.
pub fn get_fields<const N: usize>(
    gvr: &str,
    key: &ObjectKey,
    pointers: [&str; N],
) -> Result<Option<[Field; N]>, Error> {
    let values = host::lister::get_fields(gvr, key, &pointers)?;
    Ok(values.map(|values| Field::zip(pointers, values)))
}

/// The metadata of the matching objects: the cheapest list.
///
/// # Errors
/// An item is [`Error::Host`] where the resource is not watched or not granted, the selector cannot be read, or
/// the call has returned; nothing comes after it.
pub fn list_meta<'a>(gvr: &'a str, of: &'a Selector) -> List<'a, ObjectMeta> {
    List::new(move |token| {
        let page = host::lister::list_meta(gvr, of.wire(), of.part(token))?;
        Ok((page.items, page.next))
    })
}

/// Chosen fields of the matching objects.
///
/// # Errors
/// As [`list_meta`], and where a pointer cannot be read.
pub fn list_fields<'a, const N: usize>(
    gvr: &'a str,
    of: &'a Selector,
    pointers: [&'a str; N],
) -> List<'a, Fields<N>> {
    List::new(move |token| {
        let page = host::lister::list_fields(gvr, of.wire(), &pointers, of.part(token))?;
        let items = page.items.into_iter();
        let fields = |wit::Fields { key, values }| Fields { key, values: Field::zip(pointers, values) };
        Ok((items.map(fields).collect(), page.next))
    })
}

/// The matching objects as JSON texts.
///
/// # Errors
/// As [`list_meta`], and where one object alone exceeds the `response` limit.
pub fn list_json<'a>(gvr: &'a str, of: &'a Selector) -> List<'a, String> {
    List::new(move |token| {
        let page = host::lister::list_json(gvr, of.wire(), of.part(token))?;
        Ok((page.items, page.next))
    })
}
