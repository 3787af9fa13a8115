//! `[[watch]]`: one shared informer.

use std::{collections::BTreeMap, time::Duration};

use informer_cache::Compression;
use informer_types::{FieldSelector, Gvr, LabelSelector, Pointer};

/// 20 to 30 % of a typical object, and no handler reads it.
pub(super) const DROP: [&str; 1] = ["/metadata/managedFields"];

/// Several times smaller, for some microseconds per event.
pub(super) const COMPRESSION: Compression = Compression::Zstd;

/// client-go extends a shorter period to this (P-9).
pub(super) const LEAST_RESYNC: Duration = Duration::from_secs(1);

/// One shared informer. No two have the same resource.
#[derive(Clone, Debug, PartialEq)]
pub struct Watch {
    /// The resource.
    pub gvr: Gvr,
    /// Each namespace once, in the order of the file; empty means all namespaces.
    pub namespaces: Vec<String>,
    /// Applied by the server; empty selects everything.
    pub labels: LabelSelector,
    /// Applied by the server, which supports some fields of each resource; empty selects everything.
    pub fields: FieldSelector,
    /// The resync period of subscriptions without one of their own, at least `LEAST_RESYNC`; `None` means never.
    pub resync: Option<Duration>,
    /// What is removed from every object before it is kept; never what an informer itself needs.
    pub drop: Vec<Pointer>,
    /// The only parts of every object that are kept, besides what identifies it; empty keeps everything. The file has
    /// either `keep` or `drop`.
    pub keep: Vec<Pointer>,
    /// Only the metadata of the objects is requested.
    pub metadata_only: bool,
    /// How the objects are kept in memory.
    pub compression: Compression,
    /// Indexes by name: the scalar at the pointer, or each scalar of the array there. All pointers lead to what is kept.
    pub indexes: BTreeMap<String, Pointer>,
}

// === impl Watch ===

impl Watch {
    /// Returns true if objects of this namespace are watched.
    pub(super) fn covers(&self, namespace: &str) -> bool {
        self.namespaces.is_empty() || self.namespaces.iter().any(|own| own == namespace)
    }
}
