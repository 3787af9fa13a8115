//! Patches, as pure functions on JSON values.

mod json;
pub(crate) mod list_kind;
mod merge;
mod strategic;

pub(crate) use json::JsonPatch;
pub(crate) use merge::merge;
pub(crate) use strategic::strategic_merge;

/// A patch that cannot be applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PatchError {
    /// The document is not a valid patch.
    #[error("the patch is malformed: {0}")]
    Malformed(String),
    /// The patch cannot be applied to the object.
    #[error("the patch does not apply: {0}")]
    Unfit(String),
}
