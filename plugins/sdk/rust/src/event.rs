//! The objects of notifications.

use std::ops::Deref;

use crate::bindings::handler::exports::informer::plugin::handler;
use crate::bindings::informer::plugin::types;
use crate::{Error, Object, ObjectKey, ObjectMeta};

/// The object of a notification.
///
/// The metadata comes with the call. All other fields are read through the host, by JSON pointer.
///
/// ```
/// use informer_sdk::{Event, Result, log};
///
/// fn report(deployment: &Event) -> Result {
///     let replicas = deployment.get::<u32>("/spec/replicas")?.unwrap_or(1);
///     log::info!(replicas = replicas; "deployment {}", deployment.key());
///     Ok(())
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    gvr: String,
    meta: ObjectMeta,
    object: Object,
}

/// A change of one object. In a resync, `old` and `new` are the same state.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Update {
    /// The state that the cache held before.
    pub old: Object,
    /// The new state.
    pub new: Event,
}

// === impl Event ===

impl Event {
    pub(crate) fn new(gvr: String, meta: ObjectMeta, id: types::ObjectId) -> Self {
        Self { gvr, meta, object: Object::new(id) }
    }

    /// The resource, as in `informer.toml`: `apps/v1/deployments`.
    #[must_use]
    pub fn gvr(&self) -> &str {
        &self.gvr
    }

    /// The metadata. This makes no call to the host.
    #[must_use]
    pub fn meta(&self) -> &ObjectMeta {
        &self.meta
    }

    /// The namespace and the name.
    #[must_use]
    pub fn key(&self) -> ObjectKey {
        self.meta.key()
    }

    /// The namespace. It is empty for a cluster-scoped object.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.meta.namespace
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.meta.name
    }

    /// The resource version. Compare it only for equality.
    #[must_use]
    pub fn resource_version(&self) -> &str {
        &self.meta.resource_version
    }

    /// The labels as keys and values, in the server's order.
    #[must_use]
    pub fn labels(&self) -> &[(String, String)] {
        &self.meta.labels
    }

    /// The object as a token, for functions that take one.
    #[must_use]
    pub fn object(&self) -> &Object {
        &self.object
    }
}

/// An event is read like its [`Object`].
impl Deref for Event {
    type Target = Object;

    fn deref(&self) -> &Object {
        &self.object
    }
}

impl From<handler::EventObject> for Event {
    fn from(handler::EventObject { gvr, meta, id }: handler::EventObject) -> Self {
        Self::new(gvr, meta, id)
    }
}

// === impl Update ===

impl Update {
    pub(crate) fn new(old: types::ObjectId, new: Event) -> Self {
        Self { old: Object::new(old), new }
    }

    /// Returns true if the value at any of the pointers changed: `update.changed(&["/spec"])`.
    ///
    /// The host compares the values, so the plugin parses no JSON. Most update handlers start with this call.
    ///
    /// # Errors
    /// Returns the same errors as [`Object::differs`].
    pub fn changed(&self, pointers: &[&str]) -> Result<bool, Error> {
        self.old.differs(self.new.object(), pointers)
    }
}
