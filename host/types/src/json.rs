//! JSON pointers into raw text: what is at `/spec/replicas`, without building a tree.

mod locate;
mod pointer;

use std::ops::Range;

use serde_json::value::RawValue;

pub use locate::locate;
pub use pointer::{InvalidPointer, Pointer};

/// A text that is not JSON.
#[derive(Debug, thiserror::Error)]
#[error("not JSON: {0}")]
pub struct InvalidJson(#[from] serde_json::Error);

/// The JSON text of the value at a pointer, or none where there is nothing.
///
/// # Errors
/// [`InvalidJson`] where the text is not JSON; the whole text is checked.
pub fn lookup<'a>(json: &'a str, pointer: &Pointer) -> Result<Option<&'a str>, InvalidJson> {
    let found = locate(json, std::slice::from_ref(pointer))?;
    Ok(found.into_iter().next().flatten().and_then(|range: Range<usize>| json.get(range)))
}

/// True where the value at any of the pointers differs between two texts. Values are compared as JSON:
/// white space and the order of keys make no difference; absent and `null` do.
///
/// # Errors
/// [`InvalidJson`] where one of the texts is not JSON.
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

/// The same text is the same value; only where the texts differ is a tree built to be sure.
fn same(left: Option<&str>, right: Option<&str>) -> Result<bool, InvalidJson> {
    match (left, right) {
        (Some(left), Some(right)) if left != right => {
            let left: serde_json::Value = serde_json::from_str(left)?;
            Ok(left == serde_json::from_str::<serde_json::Value>(right)?)
        }
        (left, right) => Ok(left.is_some() == right.is_some()),
    }
}

/// Where `part` lies in `whole`; `part` must be borrowed from it.
fn range_in(whole: &str, part: &RawValue) -> Range<usize> {
    let start = part.get().as_ptr().addr().saturating_sub(whole.as_ptr().addr());
    start..start + part.get().len()
}

#[cfg(test)]
mod tests;
