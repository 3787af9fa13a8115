//! A Plugin object, and the verdict about it.

use std::sync::Arc;

use informer_types::Object;

use crate::config::Refused;

/// A Plugin object of the cluster.
#[derive(Clone, Debug)]
pub(in crate::app) struct Candidate(pub(in crate::app) Arc<Object>);

/// A Plugin object, and the verdict about it.
#[derive(Clone, Debug)]
pub(in crate::app) struct Judged {
    /// The object with the spec that was judged. Its metadata and its status may be newer.
    pub(in crate::app) object: Arc<Object>,
    /// The name of its plugin.
    pub(in crate::app) name: String,
    pub(in crate::app) verdict: Verdict,
}

/// The verdict about an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::app) enum Verdict {
    /// Its spec is in force.
    Accepted,
    /// Its spec is refused, and the spec of this generation stays in force.
    Outdated(Refused, i64),
    /// Its spec is refused, and there is no earlier one.
    Refused(Refused),
}

// === impl Candidate ===

impl Candidate {
    /// The part of the object that decides what runs.
    pub(in crate::app) fn identity(&self) -> (String, Option<i64>) {
        (self.0.uid().to_string(), self.0.generation())
    }
}
