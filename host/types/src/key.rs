//! The key of an object within its resource.

mod name;

use std::{fmt, str::FromStr, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

pub use name::Name;

/// The key of an object: `namespace/name`, or `name` for a cluster-scoped object. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectKey {
    /// The namespace; empty for a cluster-scoped object.
    pub namespace: Arc<str>,
    /// The name; never empty.
    pub name: Name,
}

/// The text is not a key (I-3).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not the key of an object: write namespace/name, or name for a cluster-scoped object")]
pub struct InvalidKey(String);

impl ObjectKey {
    /// Makes a key. `namespace` is empty for a cluster-scoped object.
    pub fn new(namespace: impl Into<Arc<str>>, name: impl Into<Name>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }

    /// The namespace and the name in the text of a key of a workqueue, which may begin with a resource: `v1/pods shop/web`. Returns
    /// `None` if the text is of another form, because the plugin chose it.
    pub fn in_work_key(text: &str) -> Option<Self> {
        text.rsplit_once(' ').map_or(text, |(_, key)| key).parse().ok()
    }
}

// === impl ObjectKey ===

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.namespace.is_empty() {
            write!(f, "{}/", self.namespace)?;
        }
        f.write_str(&self.name)
    }
}

impl FromStr for ObjectKey {
    type Err = InvalidKey;

    fn from_str(text: &str) -> Result<Self, InvalidKey> {
        let invalid = || InvalidKey(text.to_owned());
        let (namespace, name) = text.split_once('/').unwrap_or(("", text));
        if name.is_empty() || name.contains('/') || (namespace.is_empty() && text.contains('/')) {
            return Err(invalid());
        }
        Ok(Self::new(namespace, name))
    }
}

impl Serialize for ObjectKey {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ObjectKey {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scenario 76.
    /// A key is `namespace/name`, or `name` for a cluster-scoped object.
    #[test]
    fn one_part_is_a_name_and_two_are_namespace_and_name() {
        assert_eq!("web".parse::<ObjectKey>().unwrap(), ObjectKey::new("", "web"));
        assert_eq!("shop/web".parse::<ObjectKey>().unwrap(), ObjectKey::new("shop", "web"));
        assert_eq!(ObjectKey::new("shop", "web").to_string(), "shop/web");
        assert_eq!(ObjectKey::new("", "node-1").to_string(), "node-1");
    }

    /// Scenario 76.
    /// A key has one part or two (I-3).
    #[test]
    fn a_text_that_is_not_a_key_is_refused() {
        for text in ["", "/", "a/", "/a", "a/b/c"] {
            assert!(text.parse::<ObjectKey>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_object_in_the_key_of_a_workqueue_is_found_with_and_without_a_resource() {
        for (text, found) in [
            ("shop/web", Some(ObjectKey::new("shop", "web"))),
            ("node-1", Some(ObjectKey::new("", "node-1"))),
            ("v1/pods shop/web", Some(ObjectKey::new("shop", "web"))),
            ("v1/nodes node-1", Some(ObjectKey::new("", "node-1"))),
            ("v1/pods ", None),
            ("a/b/c", None),
            ("", None),
        ] {
            assert_eq!(ObjectKey::in_work_key(text), found, "{text}");
        }
    }
}
