//! JSON patch (RFC 6902).

use serde::Deserialize;
use serde_json::Value;

use super::PatchError;

/// The largest number of operations in a patch, as in kube-apiserver.
const MAX_OPERATIONS: usize = 10_000;
/// The largest number of bytes that all copies in a patch may add, as in kube-apiserver. Without this limit a few
/// copies of copies would fill the memory.
const MAX_COPIED_BYTES: usize = 3 * 1024 * 1024;
/// The deepest nesting that an operation may create. The parser for stored objects accepts at most 128 levels.
const MAX_DEPTH: usize = 120;

/// A list of operations. Either all of them are applied or none.
#[derive(Debug, Clone)]
pub(crate) struct JsonPatch(Vec<Operation>);

#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "op", rename_all = "lowercase")]
enum Operation {
    Add {
        path: String,
        #[serde(default)]
        value: Value,
    },
    Remove {
        path: String,
    },
    Replace {
        path: String,
        #[serde(default)]
        value: Value,
    },
    Move {
        from: String,
        path: String,
    },
    Copy {
        from: String,
        path: String,
    },
    Test {
        path: String,
        #[serde(default)]
        value: Value,
    },
}

// === impl JsonPatch ===

impl JsonPatch {
    /// Parses a patch.
    ///
    /// # Errors
    /// [`PatchError::Malformed`] if the document is not a list of operations or has too many of them.
    pub(crate) fn parse(document: Value) -> Result<Self, PatchError> {
        let operations: Vec<Operation> =
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
            if let Operation::Copy { from, .. } = operation {
                copied += patched.pointer(from).map_or(0, |value| value.to_string().len());
            }
            if copied > MAX_COPIED_BYTES {
                return Err(PatchError::Unfit(format!("it copies more than {MAX_COPIED_BYTES} bytes")));
            }
            operation.apply(&mut patched)?;
        }
        Ok(patched)
    }
}

// === impl Operation ===

impl Operation {
    fn apply(&self, document: &mut Value) -> Result<(), PatchError> {
        match self {
            Self::Add { path, value } => add(document, path, value.clone()),
            Self::Remove { path } => remove(document, path).map(drop),
            Self::Replace { path, value } => {
                check_depth(path, value)?;
                *document.pointer_mut(path).ok_or_else(|| missing(path))? = value.clone();
                Ok(())
            }
            Self::Move { from, path } => {
                if path.strip_prefix(from.as_str()).is_some_and(|below| below.starts_with('/')) {
                    return Err(PatchError::Unfit(format!("cannot move {from:?} into itself")));
                }
                let value = remove(document, from)?;
                add(document, path, value)
            }
            Self::Copy { from, path } => {
                let value = document.pointer(from).cloned().ok_or_else(|| missing(from))?;
                add(document, path, value)
            }
            Self::Test { path, value } => match document.pointer(path) {
                Some(found) if found == value => Ok(()),
                None if value.is_null() => Ok(()),
                _ => Err(PatchError::Unfit(format!("testing value {path:?} failed"))),
            },
        }
    }
}

fn missing(path: &str) -> PatchError {
    PatchError::Unfit(format!("there is nothing at {path:?}"))
}

/// The parent of the value at a path, and the last step of the path, unescaped.
fn parent<'a>(document: &'a mut Value, path: &str) -> Result<(&'a mut Value, String), PatchError> {
    let (parent, step) = path.rsplit_once('/').ok_or_else(|| missing(path))?;
    let parent = document.pointer_mut(parent).ok_or_else(|| missing(path))?;
    Ok((parent, step.replace("~1", "/").replace("~0", "~")))
}

fn index(step: &str, path: &str) -> Result<usize, PatchError> {
    let plain = !step.starts_with('+') && (step == "0" || !step.starts_with('0'));
    step.parse().ok().filter(|_| plain).ok_or_else(|| missing(path))
}

fn check_depth(path: &str, value: &Value) -> Result<(), PatchError> {
    if path.matches('/').count() + depth(value) > MAX_DEPTH {
        return Err(PatchError::Unfit(format!("it nests deeper than {MAX_DEPTH} levels")));
    }
    Ok(())
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

fn add(document: &mut Value, path: &str, value: Value) -> Result<(), PatchError> {
    check_depth(path, &value)?;
    if path.is_empty() {
        *document = value;
        return Ok(());
    }
    match parent(document, path)? {
        (Value::Object(fields), step) => {
            fields.insert(step, value);
            Ok(())
        }
        (Value::Array(items), step) => {
            let at = if step == "-" { items.len() } else { index(&step, path)? };
            if at > items.len() {
                return Err(missing(path));
            }
            items.insert(at, value);
            Ok(())
        }
        _ => Err(missing(path)),
    }
}

fn remove(document: &mut Value, path: &str) -> Result<Value, PatchError> {
    match parent(document, path)? {
        (Value::Object(fields), step) => fields.remove(&step).ok_or_else(|| missing(path)),
        (Value::Array(items), step) => {
            let at = index(&step, path)?;
            if at < items.len() { Ok(items.remove(at)) } else { Err(missing(path)) }
        }
        _ => Err(missing(path)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn apply(target: &Value, patch: Value) -> Result<Value, PatchError> {
        JsonPatch::parse(patch)?.apply(target)
    }

    #[test]
    fn every_operation_follows_rfc_6902() {
        for (target, operation, result) in [
            (json!({"a":1}), json!({"op":"add","path":"/b","value":2}), json!({"a":1,"b":2})),
            (json!({"a":[1,3]}), json!({"op":"add","path":"/a/1","value":2}), json!({"a":[1,2,3]})),
            (json!({"a":[1]}), json!({"op":"add","path":"/a/-","value":2}), json!({"a":[1,2]})),
            (json!({"a":1,"b":2}), json!({"op":"remove","path":"/a"}), json!({"b":2})),
            (json!({"a":1}), json!({"op":"replace","path":"/a","value":2}), json!({"a":2})),
            (json!({"a":1}), json!({"op":"move","from":"/a","path":"/b"}), json!({"b":1})),
            (json!({"a":1}), json!({"op":"copy","from":"/a","path":"/b"}), json!({"a":1,"b":1})),
            (json!({"a/b":1}), json!({"op":"replace","path":"/a~1b","value":2}), json!({"a/b":2})),
            (json!({"a":1}), json!({"op":"add","path":"","value":[1]}), json!([1])),
            (json!({"a":1}), json!({"op":"test","path":"/a","value":1}), json!({"a":1})),
        ] {
            assert_eq!(apply(&target, json!([operation])), Ok(result));
        }
    }

    #[test]
    fn copies_of_copies_are_bounded_in_size_and_depth() {
        let wide = json!({"op": "copy", "from": "/a", "path": "/a/-"});
        let error = apply(&json!({"a": ["x".repeat(1000)]}), Value::Array(vec![wide; 40])).unwrap_err();
        assert!(matches!(error, PatchError::Unfit(_)), "{error}");

        let mut path = String::new();
        let deeper = std::iter::repeat_with(|| {
            path.push_str("/a");
            json!({"op": "add", "path": path, "value": {}})
        });
        let error = apply(&json!({}), deeper.take(200).collect()).unwrap_err();
        assert!(error.to_string().contains("nests deeper"), "{error}");
    }

    #[test]
    fn operations_that_cannot_be_applied_are_refused() {
        for operation in [
            json!({"op":"remove","path":"/x"}),
            json!({"op":"replace","path":"/x/y","value":1}),
            json!({"op":"add","path":"/x/y","value":1}),
            json!({"op":"add","path":"/list/9","value":1}),
            json!({"op":"add","path":"/list/01","value":1}),
            json!({"op":"remove","path":"/list/-"}),
            json!({"op":"test","path":"/a","value":2}),
            json!({"op":"move","from":"/a","path":"/a/b"}),
            json!({"op":"remove","path":""}),
        ] {
            let target = json!({"a":1,"list":[0]});
            assert!(matches!(apply(&target, json!([operation])), Err(PatchError::Unfit(_))), "{operation}");
        }
        for document in [json!({}), json!([{"op":"explode","path":"/"}]), json!([{"op":"add"}]), json!("x")] {
            assert!(matches!(JsonPatch::parse(document), Err(PatchError::Malformed(_))));
        }
    }
}
