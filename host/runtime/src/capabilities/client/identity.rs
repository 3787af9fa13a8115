//! The object that a request is about, as its arguments and its body name it.

use serde_json::value::RawValue;

use super::{
    body::{Head, field},
    error::shown,
    target::Target,
};
use crate::bindings::informer::plugin::client::ApiError;

/// The identity that the arguments of a call give an object. The object's text may leave fields out, but must not differ.
pub(super) struct Identity<'a> {
    /// `None` if the body is of another kind, for example a `Scale`.
    api_version: Option<String>,
    namespace: &'a str,
    /// `None` accepts any name, as in a creation.
    name: Option<&'a str>,
}

// === impl Identity ===

impl<'a> Identity<'a> {
    /// The identity of an existing object.
    pub(super) fn of(target: &'a Target) -> Self {
        Self { name: Some(target.name()), ..Self::of_new(target) }
    }

    /// The identity of an object that does not exist yet.
    pub(super) fn of_new(target: &'a Target) -> Self {
        let api_version = target.is_whole().then(|| target.gvr.api_version());
        Self { api_version, namespace: &target.namespace, name: None }
    }

    /// Refuses an object whose text names another object than the arguments: the server would go by the path alone.
    pub(super) fn check(&self, head: &Head<'_>) -> Result<(), ApiError> {
        let agree = |pointer: &str, raw: Option<&RawValue>, expected: &str| match field(pointer, raw)? {
            Some(found) if found != expected => {
                let found = shown(&found);
                let message =
                    format!("{pointer} of the object is {found:?}, but the arguments name {expected:?}");
                Err(ApiError::bad_argument(message))
            }
            _ => Ok(()),
        };
        if let Some(api_version) = &self.api_version {
            agree("/apiVersion", head.api_version, api_version)?;
        }
        agree("/metadata/namespace", head.metadata().namespace, self.namespace)?;
        self.name.map_or(Ok(()), |name| agree("/metadata/name", head.metadata().name, name))
    }
}
