//! Objects of the call in hand.

use serde::de::DeserializeOwned;

use crate::Error;
use crate::bindings::informer::plugin::types;
use crate::host;

pub use types::{ObjectKey, ObjectMeta, Owner};

/// An object of the call in hand, read through the host.
///
/// Reading two fields costs a few microseconds whatever the size of the object; parsing a whole object costs ten
/// to a hundred times that. Pointers are JSON pointers (RFC 6901): `/spec/replicas`,
/// `/metadata/annotations/example.com~1owner`.
///
/// It is good within the call only: kept for longer, every method fails with
/// [`ErrorCode::StaleToken`](crate::ErrorCode::StaleToken), and never shows another object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Object {
    id: types::ObjectId,
}

/// The value at a pointer, not yet parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    pointer: String,
    json: Option<String>,
}

// === impl Object ===

impl Object {
    pub(crate) fn new(id: types::ObjectId) -> Self {
        Self { id }
    }

    /// The metadata.
    ///
    /// # Errors
    /// [`Error::Host`] when the call the object belongs to has returned.
    pub fn meta(&self) -> Result<ObjectMeta, Error> {
        Ok(host::objects::meta(self.id)?)
    }

    /// The whole object as JSON text, `kind` and `apiVersion` included.
    ///
    /// # Errors
    /// [`Error::Host`] when the text exceeds the plugin's `response` limit, or the call has returned.
    pub fn json(&self) -> Result<String, Error> {
        Ok(host::objects::json(self.id)?)
    }

    /// The whole object as a type, for example one of `k8s-openapi`.
    ///
    /// # Errors
    /// As [`json`](Self::json), and [`Error::Decode`] where the object does not fit the type.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, Error> {
        serde_json::from_str(&self.json()?).map_err(|source| Error::decode("the object", source))
    }

    /// The value at a pointer; `None` where there is nothing.
    ///
    /// # Errors
    /// [`Error::Host`] for a pointer that cannot be read or a call that has returned, [`Error::Decode`] where the
    /// value does not fit the type.
    pub fn get<T: DeserializeOwned>(&self, pointer: &str) -> Result<Option<T>, Error> {
        Field::new(pointer, host::objects::get(self.id, pointer)?).parse()
    }

    /// The values at several pointers in one call, in the order asked:
    /// `let [replicas, paused] = object.get_many(["/spec/replicas", "/spec/paused"])?;`
    ///
    /// # Errors
    /// [`Error::Host`] for a pointer that cannot be read or a call that has returned.
    pub fn get_many<const N: usize>(&self, pointers: [&str; N]) -> Result<[Field; N], Error> {
        Ok(Field::zip(pointers, host::objects::get_many(self.id, &pointers)?))
    }

    /// True where the value at any of the pointers differs from the one in `other`. White space and the order
    /// of keys make no difference.
    ///
    /// # Errors
    /// [`Error::Host`] for a pointer that cannot be read or a call that has returned.
    pub fn differs(&self, other: &Object, pointers: &[&str]) -> Result<bool, Error> {
        Ok(host::objects::differs(self.id, other.id, pointers)?)
    }
}

// === impl Field ===

impl Field {
    pub(crate) fn new(pointer: &str, json: Option<String>) -> Self {
        Self { pointer: pointer.to_owned(), json }
    }

    /// Values beside the pointers they were asked for. The host answers one value for each pointer.
    pub(crate) fn zip<const N: usize>(pointers: [&str; N], values: Vec<Option<String>>) -> [Self; N] {
        let mut values = values.into_iter();
        pointers.map(|pointer| Self::new(pointer, values.next().flatten()))
    }

    /// The pointer asked for.
    #[must_use]
    pub fn pointer(&self) -> &str {
        &self.pointer
    }

    /// The value as JSON text (a string keeps its quotes); `None` where there is nothing.
    #[must_use]
    pub fn json(&self) -> Option<&str> {
        self.json.as_deref()
    }

    /// The value as a type; `None` where there is nothing.
    ///
    /// # Errors
    /// [`Error::Decode`] where the value does not fit the type.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<Option<T>, Error> {
        let parsed = self.json.as_deref().map(serde_json::from_str).transpose();
        parsed.map_err(|source| Error::decode(&self.pointer, source))
    }
}

// === impl ObjectKey ===

impl ObjectKey {
    /// Names an object; `namespace` is empty for a cluster-scoped one.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }
}

/// `namespace/name`, or `name` alone for a cluster-scoped object, as client-go writes keys.
impl std::fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.namespace.is_empty() {
            f.write_str(&self.name)
        } else {
            write!(f, "{}/{}", self.namespace, self.name)
        }
    }
}

/// A text that is no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not the key of an object: namespace/name, or name for a cluster-scoped object")]
pub struct InvalidKey(String);

/// Reads what `Display` writes.
impl std::str::FromStr for ObjectKey {
    type Err = InvalidKey;

    fn from_str(text: &str) -> Result<Self, InvalidKey> {
        let (namespace, name) = match text.split_once('/') {
            Some(("", _)) => return Err(InvalidKey(text.to_owned())),
            Some(parts) => parts,
            None => ("", text),
        };
        if name.is_empty() || name.contains('/') {
            return Err(InvalidKey(text.to_owned()));
        }
        Ok(Self::new(namespace, name))
    }
}

// === impl ObjectMeta ===

impl ObjectMeta {
    /// Namespace and name.
    #[must_use]
    pub fn key(&self) -> ObjectKey {
        ObjectKey::new(&self.namespace, &self.name)
    }

    /// The value of a label.
    #[must_use]
    pub fn label(&self, key: &str) -> Option<&str> {
        self.labels.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_written_as_client_go_writes_it() {
        assert_eq!(ObjectKey::new("default", "web").to_string(), "default/web");
        assert_eq!(ObjectKey::new("", "node-1").to_string(), "node-1");
    }

    #[test]
    fn a_key_is_read_as_it_is_written_and_anything_else_is_refused() {
        assert_eq!("default/web".parse(), Ok(ObjectKey::new("default", "web")));
        assert_eq!("node-1".parse(), Ok(ObjectKey::new("", "node-1")));
        for text in ["", "/", "a/", "/a", "a/b/c"] {
            assert!(text.parse::<ObjectKey>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_field_parses_to_the_type_asked_for() {
        let [replicas, paused, image] =
            Field::zip(["/a", "/b", "/c"], vec![Some("3".to_owned()), None, Some("\"nginx\"".to_owned())]);

        assert_eq!(replicas.parse::<u32>().unwrap(), Some(3));
        assert_eq!(paused.parse::<bool>().unwrap(), None);
        assert_eq!(image.parse::<String>().unwrap().as_deref(), Some("nginx"));
        assert_eq!((image.pointer(), image.json()), ("/c", Some("\"nginx\"")));
    }

    #[test]
    fn a_field_of_another_type_names_its_pointer() {
        let field = Field::new("/spec/replicas", Some("\"three\"".to_owned()));

        let shown = String::from(field.parse::<u32>().unwrap_err());

        assert!(shown.starts_with("/spec/replicas does not have"), "{shown}");
    }
}
