//! Patches, as pure functions on JSON values.

use json_patch::{PatchErrorKind, PatchOperation, patch_unsafe};
use serde_json::Value;

pub(crate) mod list_kind;
mod strategic;

pub(crate) use json_patch::merge;
pub(crate) use strategic::strategic_merge;

/// The largest number of operations in a patch, as in kube-apiserver.
const MAX_OPERATIONS: usize = 10_000;
/// The largest number of bytes that all copies in a patch may add, as in kube-apiserver. Without this limit a few
/// copies of copies would fill the memory.
const MAX_COPIED_BYTES: usize = 3 * 1024 * 1024;
/// The deepest nesting that an operation may create. The parser for stored objects accepts at most 128 levels.
const MAX_DEPTH: usize = 120;

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

/// A JSON patch (RFC 6902): a list of operations. Either all of them are applied or none.
#[derive(Debug, Clone)]
pub(crate) struct JsonPatch(Vec<PatchOperation>);

// === impl JsonPatch ===

impl JsonPatch {
    /// Parses a patch. As in kube-apiserver, a missing value is `null`.
    ///
    /// # Errors
    /// [`PatchError::Malformed`] if the document is not a list of operations or has too many of them.
    pub(crate) fn parse(mut document: Value) -> Result<Self, PatchError> {
        for operation in document.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
            operation.entry("value").or_insert(Value::Null);
        }
        let operations: Vec<PatchOperation> =
            serde_json::from_value(document).map_err(|error| PatchError::Malformed(error.to_string()))?;
        if operations.len() > MAX_OPERATIONS {
            let found = operations.len();
            let problem = format!("{found} operations, at most {MAX_OPERATIONS} are allowed");
            return Err(PatchError::Malformed(problem));
        }
        Ok(Self(operations))
    }

    /// A copy of `target` with all operations applied.
    ///
    /// # Errors
    /// [`PatchError::Unfit`] for a path that does not exist or a test that fails.
    pub(crate) fn apply(&self, target: &Value) -> Result<Value, PatchError> {
        let mut patched = target.clone();
        let mut copied = 0;
        for operation in &self.0 {
            let path = operation.path().as_str();
            let added = match operation {
                PatchOperation::Add(add) => Some(&add.value),
                PatchOperation::Replace(replace) => Some(&replace.value),
                PatchOperation::Move(moved) => patched.pointer(moved.from.as_str()),
                PatchOperation::Copy(copy) => {
                    let value = patched.pointer(copy.from.as_str());
                    copied += value.map_or(0, |value| value.to_string().len());
                    value
                }
                // As in kube-apiserver, a missing value equals `null`.
                PatchOperation::Test(test) if test.value.is_null() && patched.pointer(path).is_none() => {
                    continue;
                }
                PatchOperation::Remove(_) | PatchOperation::Test(_) => None,
            };
            if copied > MAX_COPIED_BYTES {
                return Err(PatchError::Unfit(format!("it copies more than {MAX_COPIED_BYTES} bytes")));
            }
            if added.is_some_and(|value| path.matches('/').count() + depth(value) > MAX_DEPTH) {
                return Err(PatchError::Unfit(format!("it nests deeper than {MAX_DEPTH} levels")));
            }
            patch_unsafe(&mut patched, std::slice::from_ref(operation))
                .map_err(|error| PatchError::Unfit(problem(operation, &error.kind)))?;
        }
        Ok(patched)
    }
}

/// Why an operation cannot be applied.
fn problem(operation: &PatchOperation, kind: &PatchErrorKind) -> String {
    let path = operation.path().as_str();
    let from = match operation {
        PatchOperation::Test(_) => return format!("testing value {path:?} failed"),
        PatchOperation::Move(moved) => moved.from.as_str(),
        PatchOperation::Copy(copy) => copy.from.as_str(),
        _ => path,
    };
    match kind {
        PatchErrorKind::CannotMoveInsideItself => format!("cannot move {from:?} into itself"),
        PatchErrorKind::InvalidFromPointer => format!("there is nothing at {from:?}"),
        _ => format!("there is nothing at {path:?}"),
    }
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

#[cfg(test)]
mod tests;
