//! The collection, object or subresource that a request is about.

use std::fmt;

use http::Method;
use informer_types::{Gvr, is_namespace, is_subresource};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::value::RawValue;

use super::{
    body::{Head, field},
    draft::Draft,
    error::shown,
};
use crate::bindings::informer::plugin::{client::ApiError, types};

/// The longest name of an object (RFC 1123 subdomain).
const NAME_BYTES: usize = 253;

/// The characters that are encoded in a segment of a path: all but the unreserved ones of RFC 3986.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A collection, an object or a subresource of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) gvr: Gvr,
    /// Empty if the path has no namespace.
    pub(super) namespace: String,
    name: Option<String>,
    pub(super) subresource: Option<String>,
}

// === impl Target ===

impl Target {
    /// An object, or its subresource unless `subresource` is empty.
    pub(super) fn object(gvr: &str, key: types::ObjectKey, subresource: String) -> Result<Self, ApiError> {
        let types::ObjectKey { namespace, name } = key;
        check_name(&name)?;
        let subresource = (!subresource.is_empty()).then_some(subresource);
        let target = Self { name: Some(name), subresource, ..Self::collection(gvr, &namespace)? };
        match target.subresource.as_deref() {
            Some(wrong) if !is_subresource(&target.gvr, wrong) => {
                let message = format!("{:?} is not a subresource of {}", shown(wrong), target.gvr);
                Err(ApiError::bad_argument(message))
            }
            _ => Ok(target),
        }
    }

    /// All objects of a namespace. An empty namespace means all namespaces, or a resource without namespaces.
    pub(super) fn collection(gvr: &str, namespace: &str) -> Result<Self, ApiError> {
        let gvr: Gvr = gvr.parse().map_err(|problem| ApiError::bad_argument(format!("{problem}")))?;
        if !namespace.is_empty() && !is_namespace(namespace) {
            return Err(ApiError::bad_argument(format!("{:?} is not a namespace", shown(namespace))));
        }
        Ok(Self { gvr, namespace: namespace.to_owned(), name: None, subresource: None })
    }

    /// The name of the object; empty for a collection.
    pub(super) fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    /// Refuses an object whose text names another object than the arguments of the call: the server would go by the path
    /// alone. The text may leave fields out, but must not differ.
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
        // The body of another subresource is of another kind, for example a `Scale`.
        if matches!(self.subresource.as_deref(), None | Some("status")) {
            agree("/apiVersion", head.api_version, &self.gvr.api_version())?;
        }
        agree("/metadata/namespace", head.metadata().namespace, &self.namespace)?;
        // A creation may have any name.
        self.name.as_ref().map_or(Ok(()), |name| agree("/metadata/name", head.metadata().name, name))
    }

    pub(super) fn request(&self, method: Method) -> Draft {
        let mut path = self.gvr.api_root();
        let mut push = |segment: &str| {
            path.push('/');
            path.extend(utf8_percent_encode(segment, SEGMENT));
        };
        if !self.namespace.is_empty() {
            push("namespaces");
            push(&self.namespace);
        }
        push(&self.gvr.resource);
        for segment in self.name.iter().chain(&self.subresource) {
            push(segment);
        }
        Draft::new(method, path)
    }
}

/// `apps/v1/deployments/status shop/web`
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.gvr)?;
        if let Some(subresource) = &self.subresource {
            write!(f, "/{subresource}")?;
        }
        match (self.namespace.as_str(), self.name()) {
            ("", "") => Ok(()),
            ("", name) => write!(f, " {name}"),
            (namespace, "") => write!(f, " in namespace {namespace}"),
            (namespace, name) => write!(f, " {namespace}/{name}"),
        }
    }
}

/// Accepts the names that the API server accepts (`IsValidPathSegmentName`), without control characters.
pub(super) fn check_name(name: &str) -> Result<(), ApiError> {
    let sound = !matches!(name, "" | "." | "..")
        && name.len() <= NAME_BYTES
        && !name.chars().any(|character| matches!(character, '/' | '%') || character.is_control());
    if sound {
        return Ok(());
    }
    Err(ApiError::bad_argument(format!("{:?} is not the name of an object", shown(name))))
}
