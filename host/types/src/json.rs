//! JSON pointers into JSON text: finds the value at `/spec/replicas` without building a tree.

mod locate;
mod pointer;
mod scan;

use std::ops::Range;

pub use locate::locate;
pub use pointer::{InvalidPointer, Pointer};
pub use scan::{NotJson, RawString, Scanner};

/// The text is not JSON.
#[derive(Debug, thiserror::Error)]
#[error("not JSON: {0}")]
pub struct InvalidJson(#[from] serde_json::Error);

/// Returns the JSON text of the value at a pointer, or `None` if there is no value.
///
/// # Errors
/// The errors of [`locate()`].
pub fn lookup<'a>(json: &'a str, pointer: &Pointer) -> Result<Option<&'a str>, InvalidJson> {
    let found = locate(json, std::slice::from_ref(pointer))?;
    Ok(found.into_iter().next().flatten().and_then(|range: Range<usize>| json.get(range)))
}

/// Returns true if the value at any of the pointers differs between two texts. Values are compared as JSON: white space
/// and the order of keys make no difference, but an absent value and `null` differ.
///
/// # Errors
/// The errors of [`locate()`].
pub fn differs(old: &str, new: &str, pointers: &[Pointer]) -> Result<bool, InvalidJson> {
    let (in_old, in_new) = (locate(old, pointers)?, locate(new, pointers)?);
    for (left, right) in in_old.into_iter().zip(in_new) {
        let left = left.and_then(|range| old.get(range));
        let right = right.and_then(|range| new.get(range));
        if !same(left, right)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Compares two values. A tree is built only if their texts differ.
fn same(left: Option<&str>, right: Option<&str>) -> Result<bool, InvalidJson> {
    match (left, right) {
        (Some(left), Some(right)) if left != right => {
            let left: serde_json::Value = serde_json::from_str(left)?;
            Ok(left == serde_json::from_str::<serde_json::Value>(right)?)
        }
        (left, right) => Ok(left.is_some() == right.is_some()),
    }
}

#[cfg(test)]
mod tests;
