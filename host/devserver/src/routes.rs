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

mod apply;
mod body;
mod continue_token;
mod create;
mod delete;
mod list;
mod patch;
mod query;
mod read;
mod request;
mod review;
mod scale;
mod target;
mod update;
mod version_options;
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
fn document(api: &Api, segments: &[String], headers: &HeaderMap, uri: &Uri) -> Option<ApiResult<Response>> {
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    match segments.as_slice() {
        ["openapi", path @ ..] => Some(openapi::serve(api, path, headers)),
        ["api" | "apis", ..] => discovery::serve(&api.registry, &segments, headers, uri),
        _ => None,
    }
}

async fn dispatch(request: ApiRequest, method: &Method) -> ApiResult<Response> {
    if request.resource.is_review {
        return match (request.name.as_deref(), method) {
            (None, &Method::POST) => review::answer(&request),
            _ => Err(ApiError::method_not_allowed()),
        };
    }
    match (request.name.as_deref(), request.subresource.as_deref()) {
        (None, _) => match *method {
            Method::GET if request.query.flag("watch")? == Some(true) => watch::watch(request).await,
            Method::GET => list::list(request).await,
            Method::POST => create::create(&request),
            Method::DELETE => delete::delete_collection(&request),
            _ => Err(ApiError::method_not_allowed()),
        },
        (Some(name), None) => match *method {
            Method::GET if request.query.flag("watch")? == Some(true) => watch::watch(request).await,
            Method::GET => read::get(&request, name).await,
            Method::PUT => update::update(&request, name),
            Method::PATCH => patch::patch(&request, name),
            Method::DELETE => delete::delete(&request, name),
            _ => Err(ApiError::method_not_allowed()),
        },
        (Some(name), Some("status")) if request.resource.status => match *method {
            Method::GET => read::get(&request, name).await,
            Method::PUT => update::update(&request, name),
            Method::PATCH => patch::patch(&request, name),
            _ => Err(ApiError::method_not_allowed()),
        },
        (Some(name), Some("scale")) => match &request.resource.scale {
            Some(scale) => scale::serve(&request, method, name, scale),
            None => Err(ApiError::unknown_path()),
        },
        (Some(name), Some("finalize")) if request.resource.is("", "namespaces") => match *method {
            Method::PUT => update::finalize(&request, name),
            _ => Err(ApiError::method_not_allowed()),
        },
        _ => Err(ApiError::unknown_path()),
    }
}
