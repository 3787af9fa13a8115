//! Requests to the Kubernetes API server. The host sends them with its own credentials.
//!
//! The host checks each request against `read` and `write` of `[plugin.grant]`. Each request counts towards `requests` of
//! `[plugin.limits]`. A read costs a round trip to the API server: prefer [`lister`](crate::lister), which reads the
//! host's cache. A plugin that never calls this module does not import the interface and needs no grant.
//!
//! A write triggers a notification, also for the handler that wrote. Compare before you write: a handler that writes on
//! every notification never stops. [`is_own_write`] recognises a change that this instance made.
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

mod modify;
mod options;
mod own_writes;

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::bindings::informer::plugin::client as wit;
use crate::json::{encode, parse};
use crate::lister::List;
use crate::{Error, ObjectKey, host};

pub use modify::{modify, retry_on_conflict};
pub use options::{DeleteOptions, ListOptions, WriteOptions};
#[cfg(not(target_family = "wasm"))]
pub(crate) use own_writes::forget_writes;
pub use own_writes::is_own_write;
pub use wit::{ApiCode, Propagation};

/// An Event of `events.k8s.io` about one object.
///
/// ```
/// use informer_sdk::ObjectKey;
/// use informer_sdk::client::ObjectEvent;
///
/// let key = ObjectKey::new("shop", "web");
/// let event = ObjectEvent::new("apps/v1/deployments", &key, "ScaledUp", "Scaling").note("from 0 to 1");
/// # let _ = event;
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectEvent {
    gvr: String,
    regarding: ObjectKey,
    warning: bool,
    reason: String,
    action: String,
    note: String,
}

/// A change to parts of an object.
///
/// ```
/// use informer_sdk::client::Patch;
/// use serde_json::json;
///
/// let scale = Patch::merge(json!({"spec": {"replicas": 3}}));
/// let label = Patch::json(json!([{"op": "add", "path": "/metadata/labels/tier", "value": "web"}]));
/// # let _ = (scale, label);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Patch {
    kind: wit::PatchKind,
    body: Value,
}

/// The object after a write, as the server answered. After a dry run, the object as the write would have left it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    json: String,
    resource_version: String,
}

#[derive(Deserialize)]
struct Versioned {
    metadata: Metadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    resource_version: Option<String>,
}

/// Reads one object from the API server.
///
/// # Errors
/// Returns [`Error::Api`] if the request fails, and [`Error::Decode`] if the object does not fit the type.
pub fn get<T: DeserializeOwned>(gvr: &str, key: &ObjectKey) -> Result<T, Error> {
    get_subresource(gvr, key, "")
}

/// Reads a subresource of one object from the API server: `status`, `scale`.
///
/// # Errors
/// Returns the same errors as [`get`].
pub fn get_subresource<T: DeserializeOwned>(gvr: &str, key: &ObjectKey, name: &str) -> Result<T, Error> {
    parse("the object", &host::client::get(gvr, key, name)?)
}

/// Lists objects from the API server. The iterator fetches page by page.
///
/// An item is [`Error::Api`] if the request for its page failed, or [`Error::Decode`] if an object of the page does not fit
/// the type. The iterator ends after an error.
pub fn list<'a, T: DeserializeOwned + 'a>(gvr: &'a str, options: &'a ListOptions) -> List<'a, T> {
    List::new(move |token| {
        let page = host::client::list_objects(gvr, options.wire(token))?;
        let items: Result<Vec<T>, Error> = page.items.iter().map(|item| parse("the object", item)).collect();
        Ok((items?, page.next))
    })
}

/// Creates an object. `namespace` is empty for a cluster-scoped object.
///
/// # Errors
/// Returns [`Error::Api`] if the request fails, with [`ApiCode::AlreadyExists`] if an object with this name exists. Returns
/// [`Error::Decode`] if the object cannot be written as JSON.
pub fn create(
    gvr: &str,
    namespace: &str,
    object: &impl Serialize,
    options: &WriteOptions,
) -> Result<Written, Error> {
    let json = host::client::create(gvr, namespace, &encode("the object", object)?, options.wire())?;
    Ok(Written::new(json, options, ""))
}

/// Replaces an object.
///
/// # Errors
/// Returns the same errors as [`create`], and [`ApiCode::Conflict`] if the object's `resourceVersion` is not the current
/// version.
pub fn update(
    gvr: &str,
    key: &ObjectKey,
    object: &impl Serialize,
    options: &WriteOptions,
) -> Result<Written, Error> {
    let sent = encode("the object", object)?;
    let json = host::client::update(gvr, key, &sent, options.wire())?;
    Ok(Written::new(json, options, &version_of(&sent)))
}

/// Changes parts of an object. The field manager is `informer/<name of the plugin>`.
///
/// # Errors
/// Returns [`Error::Api`] if the request fails, with [`ApiCode::Conflict`] if the plugin applies a field that another
/// manager owns, without [`WriteOptions::force`].
pub fn patch(gvr: &str, key: &ObjectKey, patch: &Patch, options: &WriteOptions) -> Result<Written, Error> {
    let json = host::client::patch(gvr, key, patch.kind, &patch.body.to_string(), options.wire())?;
    Ok(Written::new(json, options, patch.version()))
}

/// Deletes an object. An object with finalizers stays until its finalizers are removed.
///
/// # Errors
/// Returns [`Error::Api`] if the request fails, with [`ApiCode::Conflict`] if a precondition does not hold.
pub fn delete(gvr: &str, key: &ObjectKey, options: &DeleteOptions) -> Result<(), Error> {
    Ok(host::client::delete_object(gvr, key, options.wire())?)
}

/// Records an Event about an object. `kubectl describe` shows it.
///
/// The same event again within ten minutes raises the count of the first one. If there are too many Events about one object, the
/// host drops and counts the further ones, and the call returns ok. The plugin needs `create events.k8s.io/v1/events` under
/// `write` of the grant, and the watch of the object must not have `metadata-only`.
///
/// # Errors
/// Returns [`Error::Api`] if the request fails, with [`ApiCode::NotFound`] if the host's cache does not have the object.
pub fn record(event: &ObjectEvent) -> Result<(), Error> {
    let ObjectEvent { gvr, regarding, warning, reason, action, note } = event;
    Ok(host::client::record_event(wit::ObjectEvent {
        gvr,
        regarding,
        warning: *warning,
        reason,
        action,
        note,
    })?)
}

/// The resource version in the JSON text of an object. It is empty if the text has none.
fn version_of(json: &str) -> String {
    let versioned = serde_json::from_str::<Versioned>(json).ok();
    versioned.and_then(|object| object.metadata.resource_version).unwrap_or_default()
}

// === impl ObjectEvent ===

impl ObjectEvent {
    /// A normal event about an object. `reason` says why (`ScaledUp`) and `action` what was done (`Scaling`), both as one word
    /// in CamelCase.
    #[must_use]
    pub fn new(
        gvr: impl Into<String>,
        regarding: &ObjectKey,
        reason: impl Into<String>,
        action: impl Into<String>,
    ) -> Self {
        Self {
            gvr: gvr.into(),
            regarding: regarding.clone(),
            warning: false,
            reason: reason.into(),
            action: action.into(),
            note: String::new(),
        }
    }

    /// Makes the event a warning.
    #[must_use]
    pub fn warning(self) -> Self {
        Self { warning: true, ..self }
    }

    /// Adds a sentence for people, at most 1 KiB.
    #[must_use]
    pub fn note(self, note: impl Into<String>) -> Self {
        Self { note: note.into(), ..self }
    }
}

// === impl Patch ===

impl Patch {
    /// A merge patch (RFC 7386). A value replaces the old value, `null` removes it, and an array replaces the whole array.
    #[must_use]
    pub fn merge(body: Value) -> Self {
        Self { kind: wit::PatchKind::Merge, body }
    }

    /// A JSON patch (RFC 6902): an array of operations.
    #[must_use]
    pub fn json(operations: Value) -> Self {
        Self { kind: wit::PatchKind::JsonPatch, body: operations }
    }

    /// A strategic merge patch, for built-in types only: arrays merge by the keys of their type.
    #[must_use]
    pub fn strategic_merge(body: Value) -> Self {
        Self { kind: wit::PatchKind::StrategicMerge, body }
    }

    /// Server-side apply: the fields that the plugin wants to own, with `apiVersion` and `kind`. It creates the object if it
    /// does not exist. It needs `apply` under `write` of the grant.
    #[must_use]
    pub fn apply(object: Value) -> Self {
        Self { kind: wit::PatchKind::Apply, body: object }
    }

    /// The version in the metadata of the patch, or the one that an operation of a JSON patch compares or sets. It is empty if the
    /// patch has none.
    fn version(&self) -> &str {
        const POINTER: &str = "/metadata/resourceVersion";
        let is_version = |operation: &&Value| operation.get("path").and_then(Value::as_str) == Some(POINTER);
        let named = match &self.body {
            Value::Array(operations) => {
                operations.iter().rfind(is_version).and_then(|operation| operation.get("value"))
            }
            object => object.pointer(POINTER),
        };
        named.and_then(Value::as_str).unwrap_or_default()
    }
}

// === impl Written ===

impl Written {
    /// `before` is the version that the request had, or an empty text.
    fn new(json: String, options: &WriteOptions, before: &str) -> Self {
        let resource_version = version_of(&json);
        if !options.wire().dry_run {
            own_writes::wrote(&resource_version, before);
        }
        Self { json, resource_version }
    }

    /// The whole object as JSON text.
    #[must_use]
    pub fn json(&self) -> &str {
        &self.json
    }

    /// The object as a type.
    ///
    /// # Errors
    /// Returns [`Error::Decode`] if the object does not fit the type.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, Error> {
        parse("the object", &self.json)
    }

    /// The new resource version, for [`lister::wait_until`](crate::lister::wait_until). It is empty if the answer has none.
    #[must_use]
    pub fn resource_version(&self) -> &str {
        &self.resource_version
    }
}
