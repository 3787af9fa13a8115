//! What a call is about.

use serde::de::DeserializeOwned;

use crate::bindings::handler::exports::informer::plugin::handler;
use crate::bindings::informer::plugin::types;
use crate::{Error, Field, Object, ObjectKey, ObjectMeta};

/// The object a call is about: its metadata, which is here already, and the rest through the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    gvr: String,
    meta: ObjectMeta,
    object: Object,
}

/// A change of one object. After a resync old and new are the same state.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Update {
    /// The state the cache held before.
    pub old: Object,
    /// The state now.
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

    /// The metadata, without a call to the host.
    #[must_use]
    pub fn meta(&self) -> &ObjectMeta {
        &self.meta
    }

    /// Namespace and name.
    #[must_use]
    pub fn key(&self) -> ObjectKey {
        self.meta.key()
    }

    /// Empty for a cluster-scoped object.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.meta.namespace
    }

    /// The object's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.meta.name
    }

    /// Opaque: compare for equality only.
    #[must_use]
    pub fn resource_version(&self) -> &str {
        &self.meta.resource_version
    }

    /// Keys and values, in the server's order.
    #[must_use]
    pub fn labels(&self) -> &[(String, String)] {
        &self.meta.labels
    }

    /// The object itself, for what takes one.
    #[must_use]
    pub fn object(&self) -> &Object {
        &self.object
    }

    /// As [`Object::json`].
    ///
    /// # Errors
    /// As [`Object::json`].
    pub fn json(&self) -> Result<String, Error> {
        self.object.json()
    }

    /// As [`Object::parse`].
    ///
    /// # Errors
    /// As [`Object::parse`].
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, Error> {
        self.object.parse()
    }

    /// As [`Object::get`].
    ///
    /// # Errors
    /// As [`Object::get`].
    pub fn get<T: DeserializeOwned>(&self, pointer: &str) -> Result<Option<T>, Error> {
        self.object.get(pointer)
    }

    /// As [`Object::get_many`].
    ///
    /// # Errors
    /// As [`Object::get_many`].
    pub fn get_many<const N: usize>(&self, pointers: [&str; N]) -> Result<[Field; N], Error> {
        self.object.get_many(pointers)
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

    /// True where the value at any of the pointers changed: `update.changed(&["/spec"])`. Most update handlers
    /// start with this; it needs no JSON in the guest.
    ///
    /// # Errors
    /// As [`Object::differs`].
    pub fn changed(&self, pointers: &[&str]) -> Result<bool, Error> {
        self.old.differs(self.new.object(), pointers)
    }
}
