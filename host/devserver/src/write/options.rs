//! The options of updates and deletions.

use crate::status::{ApiError, ApiResult};

/// The finalizer of an object that waits until its dependents are deleted.
pub(crate) const FOREGROUND_FINALIZER: &str = "foregroundDeletion";
/// The finalizer of an object that waits until its dependents are orphaned.
pub(crate) const ORPHAN_FINALIZER: &str = "orphan";

/// The part of an object that a write may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// Everything but the status, if the resource has a `status` subresource; else everything.
    Main,
    /// Only the status.
    Status,
    /// Everything. Only the server itself writes like this.
    Whole,
}

/// The options of an update.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WriteOptions<'a> {
    pub(crate) part: Part,
    pub(crate) dry_run: bool,
    /// The owner of the changed fields. `None` keeps the owners that the change itself writes.
    pub(crate) manager: Option<&'a str>,
}

/// What happens to the objects that a deleted object owns. Used only if garbage collection is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Propagation {
    /// Dependents are deleted after their owner.
    #[default]
    Background,
    /// Dependents are deleted before their owner.
    Foreground,
    /// Dependents stay and lose their owner reference.
    Orphan,
}

/// The options of a deletion.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeleteOptions {
    pub(crate) propagation: Propagation,
    /// If set, only an object with this UID is deleted.
    pub(crate) uid: Option<String>,
    /// If set, only this version of the object is deleted.
    pub(crate) resource_version: Option<String>,
    pub(crate) dry_run: bool,
}

// === impl Propagation ===

impl Propagation {
    /// Reads `propagationPolicy`, or the older `orphanDependents`.
    ///
    /// # Errors
    /// 400 for an unknown policy, and if both parameters are set.
    pub(crate) fn parse(policy: Option<&str>, orphan_dependents: Option<bool>) -> ApiResult<Self> {
        match (policy, orphan_dependents) {
            (None | Some("Background"), None | Some(false)) => Ok(Self::Background),
            (Some("Foreground"), None) => Ok(Self::Foreground),
            (Some("Orphan"), None) | (None, Some(true)) => Ok(Self::Orphan),
            (Some(_), Some(_)) => {
                Err(ApiError::bad_request("propagationPolicy and orphanDependents cannot be set together"))
            }
            (Some(other), None) => Err(ApiError::bad_request(format!(
                "invalid propagationPolicy {other:?}: want Background, Foreground or Orphan"
            ))),
        }
    }

    /// The finalizer that holds the owner until its dependents are processed.
    pub(crate) fn finalizer(self) -> Option<&'static str> {
        match self {
            Self::Background => None,
            Self::Foreground => Some(FOREGROUND_FINALIZER),
            Self::Orphan => Some(ORPHAN_FINALIZER),
        }
    }
}
