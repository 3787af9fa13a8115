//! The refusal of a Plugin object.

/// Why an object does not run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refused {
    /// The reason of a condition, in CamelCase.
    pub reason: &'static str,
    /// What was wrong and what would be right.
    pub message: String,
}

// === impl Refused ===

impl Refused {
    /// The spec has a mistake.
    pub(crate) const INVALID: &'static str = "InvalidSpec";
    /// The object wants more than `[tenancy]` allows.
    pub(crate) const NOT_ALLOWED: &'static str = "NotAllowed";
    /// The host takes no object of this kind or from this namespace.
    pub(crate) const NOT_ACCEPTED: &'static str = "NotAccepted";
    /// Older objects use the quota.
    pub(crate) const QUOTA: &'static str = "QuotaExceeded";
    /// The data of the deleted object of this name cannot be deleted.
    pub(crate) const EARLIER_DATA: &'static str = "EarlierDataRemains";

    /// A refusal for this reason.
    pub(crate) fn new(reason: &'static str, message: impl Into<String>) -> Self {
        Self { reason, message: message.into() }
    }
}
