//! A request for a resource: the parsed path, query and headers, and the raw body.

use std::sync::Arc;

use axum::response::Response;
use bytes::Bytes;
use http::{HeaderMap, Method, header};
use parking_lot::Mutex;

use super::query::Query;
use crate::{
    answer,
    api::Api,
    encode,
    negotiate::View,
    registry::Resource,
    rest::{Part, WriteOptions},
    status::{ApiError, ApiResult},
    storage::{Collection, ObjectKey, Stored},
};

/// A request whose path names a served resource.
pub(super) struct ApiRequest {
    pub(super) api: Arc<Api>,
    pub(super) resource: Arc<Resource>,
    pub(super) namespace: Option<String>,
    pub(super) name: Option<String>,
    pub(super) subresource: Option<String>,
    pub(super) query: Query,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    /// Texts for the `Warning` headers of the answer.
    pub(super) warnings: Arc<Mutex<Vec<String>>>,
}

// === impl ApiRequest ===

impl ApiRequest {
    /// Checks that the path has a namespace if and only if the resource needs one.
    pub(super) fn check_scope(&self, method: &Method) -> ApiResult<()> {
        let namespaced = self.resource.namespaced;
        if (self.namespace.is_some() && !namespaced)
            || (self.namespace.is_none() && namespaced && self.name.is_some())
        {
            return Err(ApiError::unknown_path());
        }
        let needs_namespace = namespaced && self.namespace.is_none() && *method != Method::GET;
        if needs_namespace { Err(ApiError::method_not_allowed()) } else { Ok(()) }
    }

    /// The namespace; empty for a cluster-scoped resource and for a request over all namespaces.
    pub(super) fn namespace(&self) -> &str {
        self.namespace.as_deref().unwrap_or_default()
    }

    pub(super) fn key(&self, name: &str) -> ObjectKey {
        ObjectKey::new(self.namespace(), name)
    }

    pub(super) fn collection(&self) -> Arc<Collection> {
        self.api.collection(&self.resource)
    }

    /// The object of this name, or a 404.
    pub(super) fn stored(&self, name: &str) -> ApiResult<Arc<Stored>> {
        let found = self.collection().get(&self.key(name));
        found.ok_or_else(|| ApiError::not_found(self.resource.group_resource(), name))
    }

    pub(super) fn is_status(&self) -> bool {
        self.subresource.as_deref() == Some("status")
    }

    /// The part of the object that this request may change.
    pub(super) fn part(&self) -> Part {
        if self.is_status() { Part::Status } else { Part::Main }
    }

    /// The options of a write to `part` in the name of the client.
    pub(super) fn write_options(&self, part: Part) -> ApiResult<WriteOptions<'_>> {
        Ok(WriteOptions { part, dry_run: self.query.dry_run()?, manager: Some(self.manager()) })
    }

    /// The field manager of the request; defaults to the product in the `User-Agent`.
    fn manager(&self) -> &str {
        let agent = || self.headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok());
        let product = || agent().and_then(|agent| agent.split('/').next()).filter(|name| !name.is_empty());
        self.query.get("fieldManager").or_else(product).unwrap_or("unknown")
    }

    /// The answer with one object.
    pub(super) fn answer(&self, view: View, object: &Stored) -> Response {
        answer::json(encode::object(&self.resource, view, object))
    }

    /// The answer with an object that this request created.
    pub(super) fn answer_created(&self, view: View, object: &Stored) -> Response {
        answer::json_with_status(http::StatusCode::CREATED, encode::object(&self.resource, view, object))
    }
}
