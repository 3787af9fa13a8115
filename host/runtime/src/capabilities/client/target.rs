//! What a request is about, as a path that cannot mean anything else.

use std::fmt;

use bytes::Bytes;
use form_urlencoded::Serializer;
use http::Method;
use informer_types::{Gvr, is_namespace, is_subresource};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::{body, error::shown};
use crate::bindings::informer::plugin::{
    client::{ApiError, WriteOptions},
    types,
};

/// Longer names no resource has (RFC 1123 subdomains).
const NAME_BYTES: usize = 253;

/// What stays as it is in a segment of a path (RFC 3986, unreserved).
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Of the path and query of a request: room for a prefix of the server's own is left in what a URI may have.
const PATH_BYTES: usize = 60 << 10;

/// A collection, an object or a subresource of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) gvr: Gvr,
    /// Empty: no namespace in the path.
    pub(super) namespace: String,
    name: Option<String>,
    pub(super) subresource: Option<String>,
}

/// A request without what only the sender knows.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub(super) method: Method,
    path: String,
    query: Vec<(&'static str, String)>,
    pub(super) content_type: Option<&'static str>,
    pub(super) body: Bytes,
}

// === impl Target ===

impl Target {
    /// One object, or its subresource unless that is empty.
    pub(super) fn object(gvr: &str, key: types::ObjectKey, subresource: String) -> Result<Self, ApiError> {
        let types::ObjectKey { namespace, name } = key;
        check_name(&name)?;
        let subresource = (!subresource.is_empty()).then_some(subresource);
        if let Some(wrong) = subresource.as_deref().filter(|name| !is_subresource(name)) {
            return Err(ApiError::bad_argument(format!("{:?} is not a subresource", shown(wrong))));
        }
        Ok(Self { name: Some(name), subresource, ..Self::collection(gvr, &namespace)? })
    }

    /// All objects of a namespace; empty: of all namespaces, or of none.
    pub(super) fn collection(gvr: &str, namespace: &str) -> Result<Self, ApiError> {
        let gvr: Gvr = gvr.parse().map_err(|problem| ApiError::bad_argument(format!("{problem}")))?;
        if !namespace.is_empty() && !is_namespace(namespace) {
            return Err(ApiError::bad_argument(format!("{:?} is not a namespace", shown(namespace))));
        }
        Ok(Self { gvr, namespace: namespace.to_owned(), name: None, subresource: None })
    }

    /// Of the object; empty for a collection.
    pub(super) fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    /// True where what is sent or comes back is the object itself.
    pub(super) fn is_whole(&self) -> bool {
        matches!(self.subresource.as_deref(), None | Some("status"))
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
        Draft { method, path, query: Vec::new(), content_type: None, body: Bytes::new() }
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

// === impl Draft ===

impl Draft {
    pub(super) fn query(mut self, key: &'static str, value: impl Into<String>) -> Self {
        self.query.push((key, value.into()));
        self
    }

    /// What every write of a plugin has: its own field manager.
    pub(super) fn write(self, plugin: &str, options: &WriteOptions) -> Self {
        let mut draft = self.query("fieldManager", format!("informer/{plugin}"));
        if options.dry_run {
            draft = draft.query("dryRun", "All");
        }
        if options.force { draft.query("force", "true") } else { draft }
    }

    /// JSON of the host's own making.
    pub(super) fn body(mut self, content_type: &'static str, json: String) -> Result<Self, ApiError> {
        body::check_size(json.len())?;
        self.content_type = Some(content_type);
        self.body = json.into();
        Ok(self)
    }

    /// Path and query, as long as a URI may be.
    pub(super) fn path(&self) -> Result<String, ApiError> {
        let mut path = self.path.clone();
        if !self.query.is_empty() {
            path.push('?');
            path.push_str(&Serializer::new(String::new()).extend_pairs(&self.query).finish());
        }
        if path.len() > PATH_BYTES {
            let message = format!(
                "the URL of the request has {} bytes, and {PATH_BYTES} are allowed: select by less",
                path.len()
            );
            return Err(ApiError::bad_argument(message));
        }
        Ok(path)
    }
}

/// What the API server takes as a segment of a path (`IsValidPathSegmentName`), and no control characters.
pub(super) fn check_name(name: &str) -> Result<(), ApiError> {
    let sound = !matches!(name, "" | "." | "..")
        && name.len() <= NAME_BYTES
        && !name.chars().any(|character| matches!(character, '/' | '%') || character.is_control());
    if sound {
        return Ok(());
    }
    Err(ApiError::bad_argument(format!("{:?} is not the name of an object", shown(name))))
}
