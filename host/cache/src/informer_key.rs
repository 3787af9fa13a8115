//! The identity of an informer within its factory.

use std::fmt;

use informer_types::Gvr;

use crate::WatchConfig;

/// The resource, the namespaces, the selectors and the requested part of the objects. A factory has at most one current
/// informer for each key (F-1).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InformerKey {
    /// The resource.
    pub gvr: Gvr,
    /// The watched namespaces, sorted, without duplicates. If empty, all namespaces.
    pub namespaces: Vec<String>,
    /// The label selector as text. If empty, all objects.
    pub labels: String,
    /// The field selector. If empty, all objects.
    pub fields: String,
    /// True if only the metadata of the objects is requested.
    pub metadata_only: bool,
}

// === impl InformerKey ===

impl From<&WatchConfig> for InformerKey {
    fn from(config: &WatchConfig) -> Self {
        let mut namespaces: Vec<String> =
            config.namespaces.iter().filter(|namespace| !namespace.is_empty()).cloned().collect();
        namespaces.sort();
        namespaces.dedup();
        Self {
            gvr: config.gvr.clone(),
            namespaces,
            labels: config.labels.to_string(),
            fields: config.fields.clone(),
            metadata_only: config.metadata_only,
        }
    }
}

impl fmt::Display for InformerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.gvr)?;
        if !self.namespaces.is_empty() {
            write!(f, " in {}", self.namespaces.join(", "))?;
        }
        if !self.labels.is_empty() {
            write!(f, " with labels {}", self.labels)?;
        }
        if !self.fields.is_empty() {
            write!(f, " with fields {}", self.fields)?;
        }
        if self.metadata_only {
            f.write_str(", metadata only")?;
        }
        Ok(())
    }
}
