//! What a plugin sends: JSON, and about the object that the arguments name.

use informer_types::{Pointer, locate};
use serde_json::{Map, Value};

use super::target::Target;
use crate::bindings::informer::plugin::client::ApiError;

/// What an object must say of itself, where it says it.
pub(super) struct Identity<'a> {
    /// None: the body is of another kind, as a `Scale` is.
    api_version: Option<String>,
    namespace: &'a str,
    /// None: any, as in a creation.
    name: Option<&'a str>,
}

/// Reads an object.
pub(super) fn object(text: &str) -> Result<Value, ApiError> {
    match serde_json::from_str(text) {
        Ok(object @ Value::Object(_)) => Ok(object),
        Ok(_) => Err(ApiError::bad_argument("the body is no JSON object")),
        Err(error) => Err(ApiError::bad_argument(format!("the body is no JSON: {error}"))),
    }
}

/// Reads the operations of a JSON patch (RFC 6902).
pub(super) fn operations(text: &str) -> Result<Value, ApiError> {
    match serde_json::from_str(text) {
        Ok(operations @ Value::Array(_)) => Ok(operations),
        Ok(_) => Err(ApiError::bad_argument("a JSON patch is an array of operations")),
        Err(error) => Err(ApiError::bad_argument(format!("the body is no JSON: {error}"))),
    }
}

/// The object's own name; empty: it leaves it to the server.
pub(super) fn name(object: &Value) -> String {
    object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// The body of a deletion. Where there is one, the server looks for no option in the query, not even for `dryRun`.
pub(super) fn delete_options(
    dry_run: bool,
    uid: Option<&str>,
    resource_version: Option<&str>,
    propagation: Option<&str>,
) -> Value {
    let given = |fields: [(&str, Option<&str>); 2]| -> Map<String, Value> {
        let given =
            fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), Value::from(value?))));
        given.collect()
    };
    let mut options = Map::new();
    options.extend(given([("apiVersion", Some("v1")), ("kind", Some("DeleteOptions"))]));
    let preconditions = given([("uid", uid), ("resourceVersion", resource_version)]);
    if !preconditions.is_empty() {
        options.insert("preconditions".to_owned(), preconditions.into());
    }
    if let Some(propagation) = propagation {
        options.insert("propagationPolicy".to_owned(), propagation.into());
    }
    if dry_run {
        options.insert("dryRun".to_owned(), vec!["All"].into());
    }
    options.into()
}

/// The text at the pointer of what the server sent, or has sent; empty where there is none.
pub(super) fn text(json: &[u8], pointer: &str) -> String {
    let find = || {
        let json = std::str::from_utf8(json).ok()?;
        let pointer: Pointer = pointer.parse().ok()?;
        let range = locate(json, std::slice::from_ref(&pointer)).ok()?.into_iter().next()??;
        serde_json::from_str::<String>(json.get(range)?).ok()
    };
    find().unwrap_or_default()
}

// === impl Identity ===

impl<'a> Identity<'a> {
    /// Of an object that is there.
    pub(super) fn of(target: &'a Target) -> Self {
        Self { name: Some(target.name()), ..Self::of_new(target) }
    }

    /// Of one that is not there yet.
    pub(super) fn of_new(target: &'a Target) -> Self {
        let api_version = target.is_whole().then(|| target.gvr.api_version());
        Self { api_version, namespace: &target.namespace, name: None }
    }

    /// The server looks at the path; whoever wrote another name into the object meant another object.
    pub(super) fn check(&self, object: &Value) -> Result<(), ApiError> {
        let agree = |pointer: &str, expected: &str| match object.pointer(pointer) {
            None | Some(Value::Null) => Ok(()),
            Some(Value::String(found)) if found == expected => Ok(()),
            Some(found) => {
                let message = format!(
                    "{pointer} of the object is {found}, and the arguments of the call say {expected:?}"
                );
                Err(ApiError::bad_argument(message))
            }
        };
        if let Some(api_version) = &self.api_version {
            agree("/apiVersion", api_version)?;
        }
        agree("/metadata/namespace", self.namespace)?;
        self.name.map_or(Ok(()), |name| agree("/metadata/name", name))
    }
}
