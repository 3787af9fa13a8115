//! What a write left.

use serde::de::DeserializeOwned;

use crate::Error;

/// The object as the server has it after a write; after a dry run, as it would have it.
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
    /// [`Error::Decode`] where it does not fit.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, Error> {
        super::decode(&self.json)
    }

    /// What [`lister::wait_until`](crate::lister::wait_until) waits for; empty where the server said none.
    #[must_use]
    pub fn resource_version(&self) -> &str {
        &self.resource_version
    }
}
