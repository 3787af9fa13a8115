//! A request under construction.

use bytes::Bytes;
use form_urlencoded::Serializer;
use http::Method;

use super::body::check_size;
use crate::bindings::informer::plugin::client::{ApiError, WriteOptions};

/// The content type of objects.
pub(super) const JSON: &str = "application/json";

/// The most bytes of path and query. It leaves room for a path prefix of the server in the 64 KiB of a URI.
const PATH_BYTES: usize = 60 << 10;

/// A request before it is sent: without the plugin and its limits.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub(super) method: Method,
    path: String,
    query: Vec<(&'static str, String)>,
    pub(super) content_type: Option<&'static str>,
    pub(super) body: Bytes,
}

// === impl Draft ===

impl Draft {
    pub(super) fn new(method: Method, path: String) -> Self {
        Self { method, path, query: Vec::new(), content_type: None, body: Bytes::new() }
    }

    pub(super) fn query(mut self, key: &'static str, value: impl Into<String>) -> Self {
        self.query.push((key, value.into()));
        self
    }

    /// Adds the options of a write and the plugin's field manager.
    pub(super) fn write(self, plugin: &str, options: &WriteOptions) -> Self {
        let mut draft = self.query("fieldManager", format!("informer/{plugin}"));
        if options.dry_run {
            draft = draft.query("dryRun", "All");
        }
        if options.force { draft.query("force", "true") } else { draft }
    }

    /// Adds a body of JSON that the host wrote.
    pub(super) fn body(mut self, content_type: &'static str, json: String) -> Result<Self, ApiError> {
        check_size(json.len())?;
        self.content_type = Some(content_type);
        self.body = json.into();
        Ok(self)
    }

    /// Path and query.
    ///
    /// # Errors
    /// If they are too long together.
    pub(super) fn path(&self) -> Result<String, ApiError> {
        let mut path = self.path.clone();
        if !self.query.is_empty() {
            path.push('?');
            path.push_str(&Serializer::new(String::new()).extend_pairs(&self.query).finish());
        }
        if path.len() > PATH_BYTES {
            let message = format!(
                "the URL of the request has {} bytes, and {PATH_BYTES} are allowed: use shorter selectors",
                path.len()
            );
            return Err(ApiError::bad_argument(message));
        }
        Ok(path)
    }
}
