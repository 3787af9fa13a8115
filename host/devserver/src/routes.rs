//! From a path and a method to what is done.

use std::sync::Arc;

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    response::{IntoResponse, Response},
    routing::get,
};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Uri, header};

use parking_lot::Mutex;

use crate::{
    api::Api,
    discovery, openapi,
    registry::Resource,
    rest::Part,
    status::{ApiError, ApiResult},
};

mod apply;
mod body;
mod continue_token;
mod create;
mod delete;
mod list;
mod patch;
mod query;
mod read;
mod review;
mod scale;
mod target;
mod update;
mod version_options;
mod watch;

use query::Query;
use target::Target;

/// A request whose path named a resource.
struct ApiRequest {
    api: Arc<Api>,
    resource: Arc<Resource>,
    namespace: Option<String>,
    name: Option<String>,
    subresource: Option<String>,
    query: Query,
    headers: HeaderMap,
    body: Bytes,
    /// What the client is told besides the answer.
    warnings: Arc<Mutex<Vec<String>>>,
}

/// Everything the server answers.
pub(crate) fn router(api: Arc<Api>) -> Router {
    let healthy = || get(|| async { "ok" });
    Router::new()
        .route("/healthz", healthy())
        .route("/livez", healthy())
        .route("/readyz", healthy())
        .route("/version", get(|| async { json(discovery::version().to_string().into()) }))
        .fallback(serve)
        .with_state(api)
}

async fn serve(State(api): State<Arc<Api>>, request: Request) -> Response {
    let method = request.method().clone();
    let uri = request.uri().clone();
    let result = route(api, request).await;
    let response = result.unwrap_or_else(IntoResponse::into_response);
    tracing::debug!(%method, %uri, status = response.status().as_u16(), "request served");
    response
}

async fn route(api: Arc<Api>, request: Request) -> ApiResult<Response> {
    let (parts, body) = request.into_parts();
    let segments = target::segments(parts.uri.path()).ok_or_else(ApiError::unknown_path)?;
    if let Some(document) = document(&api, &segments, &parts.headers, &parts.uri) {
        return if parts.method == Method::GET { document } else { Err(ApiError::method_not_allowed()) };
    }
    let target = Target::parse(&segments).ok_or_else(ApiError::unknown_path)?;
    let resource = api.registry.get(&target.group, &target.version, &target.plural);
    let resource = resource.ok_or_else(ApiError::unknown_path)?;
    let body = body::read(body).await?;
    let request = ApiRequest {
        api,
        resource,
        namespace: target.namespace,
        name: target.name,
        subresource: target.subresource,
        query: Query::parse(&parts.uri)?,
        headers: parts.headers,
        body,
        warnings: Arc::default(),
    };
    request.check_scope(&parts.method)?;
    let warnings = request.warnings.clone();
    let mut response = request.dispatch(&parts.method).await?;
    for warning in warnings.lock().iter() {
        // A field name that no header can carry goes without a warning.
        if let Ok(value) = HeaderValue::try_from(format!("299 - \"{warning}\"")) {
            response.headers_mut().append(header::WARNING, value);
        }
    }
    Ok(response)
}

/// Discovery and OpenAPI: documents about the server; `None` when the path names none.
fn document(api: &Api, segments: &[String], headers: &HeaderMap, uri: &Uri) -> Option<ApiResult<Response>> {
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    match segments.as_slice() {
        ["openapi", path @ ..] => Some(openapi::serve(api, path, headers)),
        ["api" | "apis", ..] => discovery::serve(&api.registry, &segments, headers, uri),
        _ => None,
    }
}

/// A JSON answer.
pub(crate) fn json(body: Bytes) -> Response {
    let mut response = Response::new(Body::from(body));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

// === impl ApiRequest ===

impl ApiRequest {
    /// Objects of a namespaced resource are named below their namespace, others are not.
    fn check_scope(&self, method: &Method) -> ApiResult<()> {
        let namespaced = self.resource.namespaced;
        if (self.namespace.is_some() && !namespaced)
            || (self.namespace.is_none() && namespaced && self.name.is_some())
        {
            return Err(ApiError::unknown_path());
        }
        let needs_namespace = namespaced && self.namespace.is_none() && *method != Method::GET;
        if needs_namespace { Err(ApiError::method_not_allowed()) } else { Ok(()) }
    }

    async fn dispatch(self, method: &Method) -> ApiResult<Response> {
        if self.resource.is_review {
            return match (self.name.as_deref(), method) {
                (None, &Method::POST) => review::answer(&self),
                _ => Err(ApiError::method_not_allowed()),
            };
        }
        match (self.name.as_deref(), self.subresource.as_deref()) {
            (None, _) => match *method {
                Method::GET if self.query.flag("watch")? == Some(true) => watch::watch(self).await,
                Method::GET => list::list(self).await,
                Method::POST => create::create(&self),
                Method::DELETE => delete::delete_collection(&self),
                _ => Err(ApiError::method_not_allowed()),
            },
            (Some(name), None) => match *method {
                Method::GET if self.query.flag("watch")? == Some(true) => watch::watch(self).await,
                Method::GET => read::get(&self, name).await,
                Method::PUT => update::update(&self, name),
                Method::PATCH => patch::patch(&self, name),
                Method::DELETE => delete::delete(&self, name),
                _ => Err(ApiError::method_not_allowed()),
            },
            (Some(name), Some("status")) if self.resource.status => match *method {
                Method::GET => read::get(&self, name).await,
                Method::PUT => update::update(&self, name),
                Method::PATCH => patch::patch(&self, name),
                _ => Err(ApiError::method_not_allowed()),
            },
            (Some(name), Some("scale")) => match self.resource.scale.clone() {
                Some(scale) => scale::serve(&self, method, name, &scale),
                None => Err(ApiError::unknown_path()),
            },
            (Some(name), Some("finalize")) if self.resource.is("", "namespaces") => match *method {
                Method::PUT => update::finalize(&self, name),
                _ => Err(ApiError::method_not_allowed()),
            },
            _ => Err(ApiError::unknown_path()),
        }
    }

    fn namespace(&self) -> &str {
        self.namespace.as_deref().unwrap_or_default()
    }

    fn part(&self) -> Part {
        if self.is_status() { Part::Status } else { Part::Main }
    }

    /// Who writes: the field manager, or what the client calls itself.
    fn manager(&self) -> &str {
        let agent = || self.headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok());
        let product = || agent().and_then(|agent| agent.split('/').next()).filter(|name| !name.is_empty());
        self.query.get("fieldManager").or_else(product).unwrap_or("unknown")
    }

    fn is_status(&self) -> bool {
        self.subresource.as_deref() == Some("status")
    }
}
