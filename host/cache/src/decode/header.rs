//! The few fields of an object that are parsed.

mod outline;
mod plain;

pub(super) use outline::{KeyText, ObjectText};

/// Reads the outline of an object and validates its whole text, except for managed fields that will be dropped.
///
/// # Errors
/// The text is not JSON, or a field of the outline is of another type.
pub(super) fn parse(text: &str, drop_managed_fields: bool) -> Result<ObjectText<'_>, serde_json::Error> {
    plain::parse(text, drop_managed_fields).map_or_else(|_| serde_json::from_str(text), Ok)
}
