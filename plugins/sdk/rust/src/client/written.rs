//! Answers to writes.

use serde::de::DeserializeOwned;

use crate::{Error, json};

/// The object after a write, as the server answered. After a dry run, the object as the write would have left it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    json: String,
    resource_version: String,
}

#[derive(serde::Deserialize)]
struct Versioned {
    metadata: Metadata,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    resource_version: Option<String>,
}

// === impl Written ===

impl Written {
    pub(super) fn new(json: String) -> Self {
        let versioned = serde_json::from_str::<Versioned>(&json).ok();
        let resource_version =
            versioned.and_then(|object| object.metadata.resource_version).unwrap_or_default();
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
        json::parse("the object", &self.json)
    }

    /// The new resource version, for [`lister::wait_until`](crate::lister::wait_until). It is empty if the answer has none.
    #[must_use]
    pub fn resource_version(&self) -> &str {
        &self.resource_version
    }
}
