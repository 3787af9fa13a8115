//! Reads of the host's cache. The host keeps one cache for all plugins.
//!
//! A read never sends a request to the API server, so it is cheap. The cache may be older than the API server, but it is never
//! older than the notification of the current call. Write `gvr` as in `informer.toml`: `apps/v1/deployments`, `v1/pods`.
//!
//! List every resource that the plugin reads in `read` of `[plugin.grant]`. A plugin that never calls this module does not
//! import the interface and needs no grant.
//!
//! Lists are iterators that fetch page by page. They are sorted by namespace and name, and all pages of a list come from one
//! snapshot. A list is valid within the current call only.
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

use std::{sync::Arc, time::Duration};

use serde::de::DeserializeOwned;

use crate::bindings::informer::plugin::lister::{self as wit, Page};
use crate::{Error, Field, ObjectKey, ObjectMeta, failure::whole_millis, host, json};

pub use pages::List;

/// Chosen fields of one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fields<const N: usize> {
    /// The namespace and the name of the object.
    pub key: ObjectKey,
    /// The values, in the order of the pointers.
    pub values: [Field; N],
}

/// Selects the objects of a list, and sets the size of its pages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selector {
    namespace: Option<String>,
    labels: String,
    index: Option<(String, String)>,
    page_size: u32,
}

/// What a cache holds, and how old that may be.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheState {
    /// True if the first list of the resource is in the cache. Until then, lists are incomplete.
    pub synced: bool,
    /// The resource version that the cache has reached. It is empty before the first list, and if the host watches several
    /// namespaces whose versions have no order.
    pub resource_version: String,
    /// The time since the API server last sent a list, an event or a bookmark, in whole milliseconds. `None` before the first
    /// list. A healthy watch receives a bookmark about once a minute.
    pub age: Option<Duration>,
}

/// What the cache of a resource holds, and how old that may be.
///
/// # Errors
/// Returns [`Error::Host`] if the resource is not watched or not granted.
pub fn state(gvr: &str) -> Result<CacheState, Error> {
    let wit::CacheState { synced, resource_version, age_ms } = host::lister::state(gvr)?;
    Ok(CacheState { synced, resource_version, age: age_ms.map(|ms| Duration::from_millis(ms.into())) })
}

/// Lists the values of an index, each with the number of objects that have it, in the order of their bytes. Only objects that the
/// plugin may read count. The index `namespace` always exists. Values that come and go meanwhile may be missing or present.
///
/// # Errors
/// An item is [`Error::Host`] if the resource is not watched or not granted, or has no such index. The list ends after an error.
pub fn index_values<'a>(gvr: &'a str, index: &'a str, namespace: Option<&'a str>) -> List<'a, (String, u32)> {
    List::new(move |after| {
        let page = host::lister::index_values(gvr, index, namespace, after, 0)?;
        let next = page.last().map(|last| last.value.clone());
        Ok((page.into_iter().map(|value| (value.value, value.objects)).collect(), next))
    })
}

/// Returns true if the first list of the resource is in the cache. Until then, lists are incomplete.
///
/// # Errors
/// Returns [`Error::Host`] if the resource is not watched or not granted.
pub fn has_synced(gvr: &str) -> Result<bool, Error> {
    Ok(host::lister::has_synced(gvr)?)
}

/// Waits until the cache is at least as new as `resource_version`. Use it after a write, with
/// [`Written::resource_version`](crate::client::Written::resource_version), to read your own write.
///
/// If the host watches several namespaces one by one, only the version of `namespace` is compared. Returns false if the cache is
/// still older after `patience`, rounded up to whole milliseconds, or at the deadline of the call. For a namespace that the host does
/// not watch, that is always so.
///
/// # Errors
/// Returns [`Error::Host`] if the resource is not watched or not granted, or if the version cannot be compared.
pub fn wait_until(
    gvr: &str,
    namespace: Option<&str>,
    resource_version: &str,
    patience: Duration,
) -> Result<bool, Error> {
    Ok(host::lister::wait_until(gvr, namespace, resource_version, whole_millis(patience))?)
}

/// One object as JSON text. Returns `None` if the cache has no such object.
///
/// # Errors
/// Returns [`Error::Host`] if the resource is not watched or not granted, or if the text exceeds the `response` limit.
pub fn get_json(gvr: &str, key: &ObjectKey) -> Result<Option<String>, Error> {
    Ok(host::lister::get(gvr, key)?)
}

/// One object as a type. Returns `None` if the cache has no such object.
///
/// # Errors
/// Returns the same errors as [`get_json`], and [`Error::Decode`] if the object does not fit the type.
pub fn get<T: DeserializeOwned>(gvr: &str, key: &ObjectKey) -> Result<Option<T>, Error> {
    get_json(gvr, key)?.map(|text| json::parse(&format!("{gvr} {key}"), &text)).transpose()
}

/// Chosen fields of one object, by JSON pointer. Returns `None` if the cache has no such object.
///
/// # Errors
/// Returns [`Error::Host`] if the resource is not watched or not granted, or if a pointer is invalid.
pub fn get_fields<const N: usize>(
    gvr: &str,
    key: &ObjectKey,
    pointers: [&str; N],
) -> Result<Option<[Field; N]>, Error> {
    let values = host::lister::get_fields(gvr, key, &pointers)?;
    Ok(values.map(|values| Field::zip(&pointers.map(Arc::from), values)))
}

/// Lists the metadata of the selected objects. This is the cheapest list.
///
/// # Errors
/// An item is [`Error::Host`] if the resource is not watched or not granted, if the selector is invalid, or if the call has
/// returned. The list ends after an error.
pub fn list_meta<'a>(gvr: &'a str, of: &'a Selector) -> List<'a, ObjectMeta> {
    List::new(move |token| {
        let page = host::lister::list_meta(gvr, of.wire(), of.part(token))?;
        Ok((page.items, page.next))
    })
}

/// Lists chosen fields of the selected objects.
///
/// # Errors
/// An item is an error in the same cases as for [`list_meta`], and if a pointer is invalid.
pub fn list_fields<'a, const N: usize>(
    gvr: &'a str,
    of: &'a Selector,
    pointers: [&'a str; N],
) -> List<'a, Fields<N>> {
    let shared: [Arc<str>; N] = pointers.map(Arc::from);
    List::new(move |token| {
        let page = host::lister::list_fields(gvr, of.wire(), &pointers, of.part(token))?;
        let items = page.items.into_iter();
        let fields = |wit::Fields { key, values }| Fields { key, values: Field::zip(&shared, values) };
        Ok((items.map(fields).collect(), page.next))
    })
}

/// Lists the selected objects as JSON texts.
///
/// # Errors
/// An item is an error in the same cases as for [`list_meta`], and if a single object exceeds the `response` limit.
pub fn list_json<'a>(gvr: &'a str, of: &'a Selector) -> List<'a, String> {
    List::new(move |token| {
        let page = host::lister::list_json(gvr, of.wire(), of.part(token))?;
        Ok((page.items, page.next))
    })
}

// === impl Selector ===

impl Selector {
    /// Selects all objects that the plugin may read.
    #[must_use]
    pub fn all() -> Self {
        Self::default()
    }

    /// Selects the objects of one namespace. An empty namespace selects all, and needs a grant without a namespace.
    #[must_use]
    pub fn namespace(self, namespace: impl Into<String>) -> Self {
        Self { namespace: Some(namespace.into()), ..self }
    }

    /// Selects the objects that match a Kubernetes label selector: `app=web,tier in (a, b),!legacy`.
    #[must_use]
    pub fn labels(self, labels: impl Into<String>) -> Self {
        Self { labels: labels.into(), ..self }
    }

    /// Selects the objects with `value` in an index. The `[[watch]]` declares its indexes under `index`.
    #[must_use]
    pub fn index(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { index: Some((name.into(), value.into())), ..self }
    }

    /// Fetches at most `objects` objects at a time. The host chooses the number if it is 0, the default. The size changes
    /// memory and time, never the result.
    #[must_use]
    pub fn page_size(self, objects: u32) -> Self {
        Self { page_size: objects, ..self }
    }

    fn wire(&self) -> wit::Selector<'_> {
        wit::Selector {
            namespace: self.namespace.as_deref(),
            labels: &self.labels,
            index: self.index.as_ref().map(|(name, value)| (name.as_str(), value.as_str())),
        }
    }

    fn part<'a>(&self, token: Option<&'a str>) -> Page<'a> {
        Page { limit: self.page_size, token }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_a_selector_reaches_the_host() {
        let selector =
            Selector::all().namespace("default").labels("app=web").index("by-node", "n1").page_size(50);

        let wire = selector.wire();

        assert_eq!(
            (wire.namespace, wire.labels, wire.index),
            (Some("default"), "app=web", Some(("by-node", "n1")))
        );
        assert_eq!(selector.part(Some("t")), Page { limit: 50, token: Some("t") });
    }

    #[test]
    fn a_selector_of_all_objects_has_no_conditions() {
        let selector = Selector::all();

        assert_eq!(selector.wire(), wit::Selector { namespace: None, labels: "", index: None });
        assert_eq!(selector.part(None), Page { limit: 0, token: None });
    }
}
