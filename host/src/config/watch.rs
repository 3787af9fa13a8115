//! `[[watch]]`: one shared informer.

use std::{collections::BTreeMap, time::Duration};

use informer_types::{FieldSelector, Gvr, LabelSelector, Pointer};

/// 20 to 30 % of a typical object, and no handler reads it.
pub const DROP: [&str; 1] = ["/metadata/managedFields"];

/// client-go raises anything shorter to this (P-9).
pub const LEAST_RESYNC: Duration = Duration::from_secs(1);

/// How a watch's objects are kept in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// With zstd and a dictionary trained on the first objects: a few times smaller, for a few microseconds an
    /// event. The README has the figures.
    #[default]
    Zstd,
    /// As they came.
    Off,
}

/// One shared informer. No two have the same resource.
#[derive(Clone, Debug, PartialEq)]
pub struct Watch {
    /// The resource.
    pub gvr: Gvr,
    /// None: all namespaces. Else each once, in the order of the file.
    pub namespaces: Vec<String>,
    /// Applied by the server; empty selects everything.
    pub labels: LabelSelector,
    /// Applied by the server, which knows some fields of each resource; empty selects everything.
    pub fields: FieldSelector,
    /// The period of subscriptions that say none of their own; none: never. At least [`LEAST_RESYNC`].
    pub resync: Option<Duration>,
    /// What is cut out of every object before it is kept; never what an informer itself needs.
    pub drop: Vec<Pointer>,
    /// What alone is kept of every object, besides what identifies it; none: everything. Never together with a
    /// `drop` of its own.
    pub keep: Vec<Pointer>,
    /// Only the metadata of the objects is asked for.
    pub metadata_only: bool,
    /// How the objects are kept in memory.
    pub compression: Compression,
    /// Indexes by name: the scalar at the pointer, or each scalar of the array there. All of them are of what is
    /// kept.
    pub indexes: BTreeMap<String, Pointer>,
}
