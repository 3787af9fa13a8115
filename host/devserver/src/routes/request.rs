//! A request for a resource: the parsed path, query and headers, and the raw body.

use std::sync::Arc;

use axum::response::Response;
use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode, header};
use parking_lot::Mutex;

use super::{query::Query, target::Target};
use crate::{
    answer,
    api::Api,
    consequence, encode,
    negotiate::{self, View},
    object::Object,
    registry::Resource,
    selector::{FieldSelector, Filter, InvalidSelector, LabelSelector},
    status::{ApiError, ApiResult},
    storage::{Collection, ObjectKey, Stored},
    write::{self, Part, WriteOptions},
};

/// A request whose path names a served resource.
pub(super) struct ApiRequest {
    pub(super) api: Arc<Api>,
    pub(super) resource: Arc<Resource>,
    pub(super) target: Target,
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
        let (namespaced, has_namespace) = (self.resource.namespaced, self.target.namespace.is_some());
        match (namespaced, has_namespace) {
            (false, true) => Err(ApiError::unknown_path()),
            (true, false) if self.target.name.is_some() => Err(ApiError::unknown_path()),
            (true, false) if *method != Method::GET => Err(ApiError::method_not_allowed()),
            _ => Ok(()),
        }
    }

    /// The requested form of the answer, or a 406.
    pub(super) fn view(&self) -> ApiResult<View> {
        negotiate::view(&self.headers)
    }

    /// The namespace; empty for a cluster-scoped resource and for a request over all namespaces.
    pub(super) fn namespace(&self) -> &str {
        self.target.namespace.as_deref().unwrap_or_default()
    }

    /// The name; empty for a request for a collection.
    pub(super) fn name(&self) -> &str {
        self.target.name.as_deref().unwrap_or_default()
    }

    pub(super) fn key(&self) -> ObjectKey {
        ObjectKey::new(self.namespace(), self.name())
    }

    pub(super) fn collection(&self) -> Arc<Collection> {
        self.api.collection(&self.resource)
    }

    /// The object of this name, or a 404.
    pub(super) fn stored(&self) -> ApiResult<Arc<Stored>> {
        let found = self.collection().get(&self.key());
        found.ok_or_else(|| ApiError::not_found(&self.resource, self.name()))
    }

    /// The selectors of a list, a watch or a deletion of a collection.
    pub(super) fn filter(&self) -> ApiResult<Filter> {
        let refuse = |error: InvalidSelector| ApiError::bad_request(error.to_string());
        let labels = self.query.get("labelSelector").unwrap_or_default();
        let fields = self.query.get("fieldSelector").unwrap_or_default();
        let fields = FieldSelector::parse(fields, &self.resource.selectable).map_err(refuse);
        Ok(Filter {
            namespace: self.target.namespace.clone(),
            name: self.target.name.clone(),
            labels: LabelSelector::parse(labels).map_err(refuse)?,
            fields: fields?.renamed(|path| self.resource.stored_field(path)),
        })
    }

    /// The part of the object that this request may change.
    pub(super) fn part(&self) -> Part {
        match self.target.subresource.as_deref() {
            Some("status") => Part::Status,
            _ => Part::Main,
        }
    }

    /// Creates the object.
    pub(super) fn create(&self, object: Object) -> ApiResult<Arc<Stored>> {
        let dry_run = self.query.dry_run()?;
        let written = write::create(&self.api, &self.resource, self.namespace(), object, dry_run);
        Ok(consequence::settle(&self.api, written)?.object)
    }

    /// Updates the part that this request may change in the name of the client.
    pub(super) fn update(&self, change: impl FnMut(&Object) -> ApiResult<Object>) -> ApiResult<Arc<Stored>> {
        self.update_as(Some(self.manager()), change)
    }

    /// Like [`update`](Self::update) with another owner of the changed fields.
    pub(super) fn update_as(
        &self,
        manager: Option<&str>,
        change: impl FnMut(&Object) -> ApiResult<Object>,
    ) -> ApiResult<Arc<Stored>> {
        let options = WriteOptions { part: self.part(), dry_run: self.query.dry_run()?, manager };
        let written = write::update(&self.api, &self.resource, &self.key(), &options, change);
        Ok(consequence::settle(&self.api, written)?.object)
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
        answer::json_with_status(StatusCode::CREATED, encode::object(&self.resource, view, object))
    }
}
