//! Routing: finds the handler for the path and the method of a request.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Request, State},
    response::{IntoResponse, Response},
    routing::get,
};
use http::{HeaderMap, HeaderValue, Method, Uri, header};

use crate::{
    answer,
    api::Api,
    discovery, openapi,
    status::{ApiError, ApiResult},
};

mod body;
mod list;
mod objects;
mod patch;
mod query;
mod request;
mod scale;
mod target;
mod watch;

use query::Query;
use request::ApiRequest;
use target::Target;

/// The routes of the whole server.
pub(crate) fn router(api: Arc<Api>) -> Router {
    let healthy = || get(|| async { "ok" });
    Router::new()
        .route("/healthz", healthy())
        .route("/livez", healthy())
        .route("/readyz", healthy())
        .route("/version", get(|| async { answer::json(discovery::version().to_string()) }))
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
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
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
        target,
        query: Query::parse(&parts.uri)?,
        headers: parts.headers,
        body,
        warnings: Arc::default(),
    };
    request.check_scope(&parts.method)?;
    let warnings = request.warnings.clone();
    let mut response = dispatch(request, &parts.method).await?;
    for warning in warnings.lock().iter() {
        // If the field name cannot be sent in a header, the warning is left out.
        if let Ok(value) = HeaderValue::try_from(format!("299 - \"{warning}\"")) {
            response.headers_mut().append(header::WARNING, value);
        }
    }
    Ok(response)
}

/// A discovery or OpenAPI document. Returns `None` if the path belongs to neither.
fn document(api: &Api, segments: &[&str], headers: &HeaderMap, uri: &Uri) -> Option<ApiResult<Response>> {
    match segments {
        ["openapi", path @ ..] => Some(openapi::serve(api, path, headers)),
        ["api" | "apis", ..] => discovery::serve(&api.registry, segments, headers, uri),
        _ => None,
    }
}

async fn dispatch(request: ApiRequest, method: &Method) -> ApiResult<Response> {
    let resource = request.resource.clone();
    let may_watch = *method == Method::GET && request.target.subresource.is_none() && !resource.is_review;
    let is_watch = may_watch && request.query.flag("watch")? == Some(true);
    match (request.target.name.is_some(), request.target.subresource.as_deref(), method) {
        (false, _, &Method::POST) if resource.is_review => objects::review(&request),
        _ if resource.is_review => Err(ApiError::method_not_allowed()),
        _ if is_watch => watch::watch(request).await,
        (false, _, &Method::GET) => list::list(request).await,
        (false, _, &Method::POST) => objects::create(&request),
        (false, _, &Method::DELETE) => objects::delete_collection(&request),
        (true, Some("scale"), _) => match &resource.scale {
            Some(scale) => scale::serve(&request, method, scale),
            None => Err(ApiError::unknown_path()),
        },
        (true, Some("finalize"), &Method::PUT) if resource.is("", "namespaces") => {
            objects::finalize(&request)
        }
        (true, Some("finalize"), _) if resource.is("", "namespaces") => Err(ApiError::method_not_allowed()),
        (true, Some(name), _) if name != "status" || !resource.status => Err(ApiError::unknown_path()),
        (true, _, &Method::GET) => objects::get(&request).await,
        (true, _, &Method::PUT) => objects::replace(&request),
        (true, _, &Method::PATCH) => patch::patch(&request),
        (true, None, &Method::DELETE) => objects::delete(&request),
        _ => Err(ApiError::method_not_allowed()),
    }
}
