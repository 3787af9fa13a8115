//! Requests to the Kubernetes API server, made by the host with its own credentials.
//!
//! Each is checked against `read` and `write` of `[plugin.grant]` before it leaves, and counts against `requests` of
//! `[plugin.limits]`. Reads here are live and cost a round trip: prefer [`lister`](crate::lister). A plugin that calls
//! nothing of this module does not import the interface and needs no grant.
//!
//! A write triggers a notification like anybody else's, your own handler's included: compare before you write, or you
//! write for ever.
//!
//! ```
//! use std::time::Duration;
//!
//! use informer_sdk::client::{self, ApiCode, Patch, WriteOptions};
//! use informer_sdk::{Event, Result, lister};
//! use serde_json::json;
//!
//! const DEPLOYMENTS: &str = "apps/v1/deployments";
//!
//! fn at_least_one_replica(deployment: &Event) -> Result {
//!     if deployment.get::<u32>("/spec/replicas")? != Some(0) {
//!         return Ok(());
//!     }
//!     let patch = Patch::merge(json!({"spec": {"replicas": 1}}));
//!     let written = match client::patch(DEPLOYMENTS, &deployment.key(), &patch, &WriteOptions::new()) {
//!         Err(error) if error.api_code() == Some(ApiCode::NotFound) => return Ok(()),
//!         written => written?,
//!     };
//!     // Read your own write: from here on the cache is at least as new.
//!     lister::wait_until(DEPLOYMENTS, Some(&deployment.key().namespace), written.resource_version(), Duration::from_secs(1))?;
//!     Ok(())
//! }
//! ```

mod event;
mod options;
mod patch;
mod written;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::bindings::informer::plugin::client as wit;
use crate::lister::List;
use crate::{Error, ObjectKey, host};

pub use event::ObjectEvent;
pub use options::{DeleteOptions, ListOptions, WriteOptions};
pub use patch::Patch;
pub use wit::{ApiCode, Propagation};
pub use written::Written;

/// One object as the server has it now.
///
/// # Errors
/// [`Error::Api`], and [`Error::Decode`] where the object does not fit the type.
pub fn get<T: DeserializeOwned>(gvr: &str, key: &ObjectKey) -> Result<T, Error> {
    get_subresource(gvr, key, "")
}

/// A subresource of one object as the server has it now: `status`, `scale`.
///
/// # Errors
/// As [`get`].
pub fn get_subresource<T: DeserializeOwned>(gvr: &str, key: &ObjectKey, name: &str) -> Result<T, Error> {
    decode(&host::client::get(gvr, key, name)?)
}

/// Live objects, fetched page by page as they are asked for.
///
/// Each is [`Error::Api`] or [`Error::Decode`] where it cannot be had; after an error nothing comes.
pub fn list<'a, T: DeserializeOwned + 'a>(gvr: &'a str, options: &'a ListOptions) -> List<'a, T> {
    List::new(move |token| {
        let page = host::client::list_objects(gvr, options.wire(token))?;
        let items: Result<Vec<T>, Error> = page.items.iter().map(|item| decode(item)).collect();
        Ok((items?, page.next))
    })
}

/// Creates an object; `namespace` is empty for a cluster-scoped one.
///
/// # Errors
/// [`Error::Api`]: with [`ApiCode::AlreadyExists`] where there is one of this name. [`Error::Decode`] where the object is
/// not to be had as JSON.
pub fn create(
    gvr: &str,
    namespace: &str,
    object: &impl Serialize,
    options: &WriteOptions,
) -> Result<Written, Error> {
    Ok(Written::new(host::client::create(gvr, namespace, &encode(object)?, options.wire())?))
}

/// Replaces an object.
///
/// # Errors
/// As [`create`]; with [`ApiCode::Conflict`] where the object's `resourceVersion` is not the current one.
pub fn update(
    gvr: &str,
    key: &ObjectKey,
    object: &impl Serialize,
    options: &WriteOptions,
) -> Result<Written, Error> {
    Ok(Written::new(host::client::update(gvr, key, &encode(object)?, options.wire())?))
}

/// Changes parts of an object. The field manager is `informer/<name of the plugin>`.
///
/// # Errors
/// [`Error::Api`]: with [`ApiCode::Conflict`] where another manager owns a field that is applied without
/// [`WriteOptions::force`].
pub fn patch(gvr: &str, key: &ObjectKey, patch: &Patch, options: &WriteOptions) -> Result<Written, Error> {
    Ok(Written::new(host::client::patch(gvr, key, patch.kind(), &patch.text(), options.wire())?))
}

/// Deletes an object. One that waits for its finalizers is still there afterwards.
///
/// # Errors
/// [`Error::Api`]: with [`ApiCode::Conflict`] where a precondition does not hold.
pub fn delete(gvr: &str, key: &ObjectKey, options: &DeleteOptions) -> Result<(), Error> {
    Ok(host::client::delete_object(gvr, key, options.wire())?)
}

/// Records an Event about an object, as `kubectl describe` shows it. The same event again within ten minutes is
/// counted, and no other is made. Needs `create events.k8s.io/v1/events` under `write` of the grant.
///
/// # Errors
/// [`Error::Api`]: with [`ApiCode::NotFound`] where the host's cache does not have the object.
pub fn record(event: &ObjectEvent) -> Result<(), Error> {
    Ok(host::client::record_event(event.wire())?)
}

fn decode<T: DeserializeOwned>(json: &str) -> Result<T, Error> {
    serde_json::from_str(json).map_err(|source| Error::decode("the object", source))
}

fn encode(object: &impl Serialize) -> Result<String, Error> {
    serde_json::to_string(object).map_err(|source| Error::decode("the object", source))
}
