//! The objects of the current call.

use std::sync::Arc;

use serde::de::DeserializeOwned;

use crate::bindings::informer::plugin::types;
use crate::{Error, host, json};

pub use types::{ObjectKey, ObjectMeta, Owner};

/// An object of the current call. Its methods read the object through the host.
///
/// Reading two fields costs a few microseconds for an object of any size. Parsing a whole object costs ten to a hundred times
/// as much. Pointers are JSON pointers (RFC 6901): `/spec/replicas`, `/metadata/annotations/example.com~1owner`.
///
/// The object is valid during the current call only. Later, every method fails with
/// [`ErrorCode::StaleToken`](crate::ErrorCode::StaleToken), and never returns another object.
///
/// ```
/// use informer_sdk::{Object, Result};
///
/// fn is_scaled_down(deployment: &Object) -> Result<bool> {
///     let [replicas, paused] = deployment.get_many(["/spec/replicas", "/spec/paused"])?;
///     Ok(replicas.parse::<u32>()? == Some(0) && paused.parse::<bool>()? != Some(true))
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Object {
    id: types::ObjectId,
}

/// The value at a pointer, before it is parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Shared by all objects of a list.
    pointer: Arc<str>,
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
    /// Returns [`Error::Host`] if the call of the object has returned.
    pub fn meta(&self) -> Result<ObjectMeta, Error> {
        Ok(host::objects::meta(self.id)?)
    }

    /// The whole object as JSON text, with `kind` and `apiVersion`.
    ///
    /// # Errors
    /// Returns [`Error::Host`] if the text exceeds the plugin's `response` limit, or if the call has returned.
    pub fn json(&self) -> Result<String, Error> {
        Ok(host::objects::json(self.id)?)
    }

    /// Parses the whole object into a type, for example a type of `k8s-openapi`.
    ///
    /// # Errors
    /// Returns the same errors as [`json`](Self::json), and [`Error::Decode`] if the object does not fit the type.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, Error> {
        json::parse("the object", &self.json()?)
    }

    /// The value at a pointer. Returns `None` if there is no value, or if the value is `null`, as [`Field::parse`] does.
    ///
    /// # Errors
    /// Returns [`Error::Host`] if the pointer is invalid or the call has returned, and [`Error::Decode`] if the value does
    /// not fit the type.
    pub fn get<T: DeserializeOwned>(&self, pointer: &str) -> Result<Option<T>, Error> {
        Field::new(pointer, host::objects::get(self.id, pointer)?).parse()
    }

    /// The values at several pointers, in the order of the pointers, with one call to the host.
    ///
    /// # Errors
    /// Returns [`Error::Host`] if a pointer is invalid or the call has returned.
    pub fn get_many<const N: usize>(&self, pointers: [&str; N]) -> Result<[Field; N], Error> {
        let values = host::objects::get_many(self.id, &pointers)?;
        Ok(Field::zip(&pointers.map(Arc::from), values))
    }

    /// Returns true if the value at any of the pointers differs from the value in `other`. White space and the order of keys do
    /// not matter.
    ///
    /// # Errors
    /// Returns [`Error::Host`] if a pointer is invalid or the call has returned.
    pub fn differs(&self, other: &Object, pointers: &[&str]) -> Result<bool, Error> {
        Ok(host::objects::differs(self.id, other.id, pointers)?)
    }
}

// === impl Field ===

impl Field {
    pub(crate) fn new(pointer: &str, json: Option<String>) -> Self {
        Self { pointer: Arc::from(pointer), json }
    }

    /// Pairs each pointer with its value. The host returns one value for each pointer.
    pub(crate) fn zip<const N: usize>(pointers: &[Arc<str>; N], values: Vec<Option<String>>) -> [Self; N] {
        let mut values = values.into_iter();
        pointers
            .each_ref()
            .map(|pointer| Self { pointer: Arc::clone(pointer), json: values.next().flatten() })
    }

    /// The JSON pointer of the value.
    #[must_use]
    pub fn pointer(&self) -> &str {
        &self.pointer
    }

    /// The value as JSON text; a string keeps its quotes. Returns `None` if there is no value.
    #[must_use]
    pub fn json(&self) -> Option<&str> {
        self.json.as_deref()
    }

    /// Parses the value into a type. Returns `None` if there is no value, or if the value is `null`: both mean that the field is
    /// not set. [`json`](Self::json) distinguishes the two.
    ///
    /// # Errors
    /// Returns [`Error::Decode`] if the value does not fit the type.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<Option<T>, Error> {
        let set = self.json().filter(|text| *text != "null");
        set.map(|text| json::parse(&self.pointer, text)).transpose()
    }
}

// === impl ObjectKey ===

impl ObjectKey {
    /// Makes a key. `namespace` is empty for a cluster-scoped object.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }

    /// Parses a key that the host added to the workqueue. Returns the resource of the object, or the kind of its controller, if
    /// the subscription has `resource-in-key = true`, and the namespace and name.
    ///
    /// ```
    /// use informer_sdk::ObjectKey;
    ///
    /// assert_eq!(ObjectKey::of_work("shop/web")?, (None, ObjectKey::new("shop", "web")));
    /// let (of, key) = ObjectKey::of_work("v1/pods shop/web")?;
    /// assert_eq!((of, key), (Some("v1/pods"), ObjectKey::new("shop", "web")));
    /// # Ok::<(), informer_sdk::InvalidKey>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`InvalidKey`] if the text has another form, for example because the plugin added the key itself.
    pub fn of_work(key: &str) -> Result<(Option<&str>, Self), InvalidKey> {
        match key.rsplit_once(' ') {
            Some((of, key)) => Ok((Some(of), key.parse()?)),
            None => Ok((None, key.parse()?)),
        }
    }
}

/// Writes a key as client-go does: `namespace/name`, or `name` for a cluster-scoped object.
impl std::fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.namespace.is_empty() {
            f.write_str(&self.name)
        } else {
            write!(f, "{}/{}", self.namespace, self.name)
        }
    }
}

/// The error for a text that is not a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not the key of an object: namespace/name, or name for a cluster-scoped object")]
pub struct InvalidKey(String);

/// Parses the text that `Display` writes.
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
    /// The namespace and the name.
    #[must_use]
    pub fn key(&self) -> ObjectKey {
        ObjectKey::new(&self.namespace, &self.name)
    }

    /// The value of a label. Returns `None` if the object does not have the label.
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
    fn a_written_key_parses_and_other_texts_are_refused() {
        assert_eq!("default/web".parse(), Ok(ObjectKey::new("default", "web")));
        assert_eq!("node-1".parse(), Ok(ObjectKey::new("", "node-1")));
        for text in ["", "/", "a/", "/a", "a/b/c"] {
            assert!(text.parse::<ObjectKey>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_field_parses_into_the_requested_type() {
        let pointers: [Arc<str>; 3] = ["/a", "/b", "/c"].map(Arc::from);
        let [replicas, paused, image] =
            Field::zip(&pointers, vec![Some("3".to_owned()), None, Some("\"nginx\"".to_owned())]);

        assert_eq!(replicas.parse::<u32>().unwrap(), Some(3));
        assert_eq!(paused.parse::<bool>().unwrap(), None);
        assert_eq!(image.parse::<String>().unwrap().as_deref(), Some("nginx"));
        assert_eq!((image.pointer(), image.json()), ("/c", Some("\"nginx\"")));
    }

    /// A custom resource keeps `null` in a field that its definition calls `nullable`.
    #[test]
    fn a_field_that_is_null_is_not_set() {
        let pointers = ["/a", "/b", "/c"].map(Arc::from);
        let [text, list, missing] =
            Field::zip(&pointers, vec![Some("null".to_owned()), Some("[null]".to_owned()), None]);

        assert_eq!(text.parse::<String>().unwrap(), None);
        assert_eq!(text.parse::<Option<u32>>().unwrap(), None);
        assert_eq!(list.parse::<Vec<Option<u32>>>().unwrap(), Some(vec![None]));
        assert_eq!((text.json(), missing.json()), (Some("null"), None));
    }

    #[test]
    fn the_fields_of_all_objects_of_a_list_share_their_pointers() {
        let pointers: [Arc<str>; 2] = ["/a", "/b"].map(Arc::from);

        let [first, second] = [Some("1".to_owned()), None].map(|json| Field::zip(&pointers, vec![json]));

        for ((pointer, first), second) in pointers.iter().zip(&first).zip(&second) {
            assert!(Arc::ptr_eq(pointer, &first.pointer) && Arc::ptr_eq(pointer, &second.pointer));
        }
        // A value that the host did not return is absent.
        assert_eq!((first[0].json(), first[1].json(), second[0].json()), (Some("1"), None, None));
    }

    #[test]
    fn a_field_of_another_type_names_its_pointer() {
        let field = Field::new("/spec/replicas", Some("\"three\"".to_owned()));

        let shown = String::from(field.parse::<u32>().unwrap_err());

        assert!(shown.starts_with("/spec/replicas does not have"), "{shown}");
    }
}
