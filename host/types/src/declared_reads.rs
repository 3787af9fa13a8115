//! What a component declares to read.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, de::Error};

use crate::{Gvr, Part};

/// What a plugin reads of the objects of each resource: JSON pointers, and digests such as `sha256:/data`. It is empty if a
/// component declares nothing. That does not mean that the component reads nothing.
///
/// A component carries it in a custom section, in JSON: `{"v1/pods": ["/spec/nodeName"]}`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeclaredReads(pub BTreeMap<Gvr, Vec<Part>>);

// === impl DeclaredReads ===

impl DeclaredReads {
    /// The name of the custom section.
    pub const SECTION: &str = "informer:reads";

    /// The maximum size of the section in bytes. A longer section is ignored, because commands print the contents.
    pub const BYTES: usize = 64 << 10;

    /// The maximum number of parts of one resource. A section with more is ignored, because the parts of several versions are compared
    /// with one another.
    pub const PARTS: usize = 256;

    /// The contents of the section.
    #[must_use]
    pub fn to_section(&self) -> String {
        let texts = |parts: &Vec<Part>| parts.iter().map(ToString::to_string).collect::<Vec<_>>();
        let written = self.0.iter().map(|(gvr, parts)| (gvr.to_string(), texts(parts)));
        serde_json::json!(written.collect::<BTreeMap<_, _>>()).to_string()
    }

    /// Reads the contents of the section. Contents that are damaged, too long or have too many parts declare nothing.
    #[must_use]
    pub fn of_section(contents: &[u8]) -> Self {
        let read = (contents.len() <= Self::BYTES).then(|| serde_json::from_slice(contents).ok());
        read.flatten().unwrap_or_default()
    }
}

impl<'de> Deserialize<'de> for DeclaredReads {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written: BTreeMap<String, Vec<String>> = Deserialize::deserialize(deserializer)?;
        let mut reads = BTreeMap::new();
        for (resource, parts) in written {
            if parts.len() > Self::PARTS {
                let (listed, most) = (parts.len(), Self::PARTS);
                return Err(D::Error::custom(format!(
                    "reads: {resource} has {listed} parts; at most {most}"
                )));
            }
            let gvr: Gvr = resource.parse().map_err(|error| D::Error::custom(format!("reads: {error}")))?;
            let part = |part: String| {
                part.parse().map_err(|error| D::Error::custom(format!("reads: {part:?}: {error}")))
            };
            reads.insert(gvr, parts.into_iter().map(part).collect::<Result<_, _>>()?);
        }
        Ok(Self(reads))
    }
}
