//! Answers to discovery and list requests.

use axum::{
    Json,
    body::Body,
    http::{StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures::stream;
use serde_json::{Value, json};

use super::request::{Parameters, Served};
use crate::pods::LISTED_AT;

pub(super) async fn core_versions() -> Json<Value> {
    Json(json!({"kind": "APIVersions", "versions": ["v1"]}))
}

pub(super) async fn groups() -> Json<Value> {
    Json(json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": []}))
}

pub(super) async fn resources() -> Json<Value> {
    Json(json!({
        "kind": "APIResourceList",
        "groupVersion": "v1",
        "resources": [{
            "name": "pods",
            "singularName": "pod",
            "namespaced": true,
            "kind": "Pod",
            "verbs": ["get", "list", "watch"],
            "shortNames": ["po"],
        }],
    }))
}

/// One page, or all pods in one answer if there is no limit.
pub(super) fn list(served: &Served, parameters: &Parameters) -> Response {
    let Served { pods, page_size, .. } = served;
    if parameters.limit == 0 {
        return send(pods.pages().to_vec(), None);
    }
    if parameters.limit != *page_size {
        return refuse(&format!("limit must be {page_size}, for which the pages were rendered"));
    }
    let page = match parameters.continue_token.as_str() {
        "" => 0,
        token => token.parse().unwrap_or(usize::MAX),
    };
    let Some(items) = pods.pages().get(page) else {
        return refuse(&format!("`{}` is no continue token of this server", parameters.continue_token));
    };
    let next = page + 1;
    let remaining = pods.len().saturating_sub(next * page_size);
    send(vec![items.clone()], (remaining > 0).then_some((next, remaining)))
}

/// A refusal with a `Status`, as the API server sends it.
pub(super) fn refuse(message: &str) -> Response {
    let status = json!({
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "reason": "BadRequest",
        "code": 400,
        "message": message,
    });
    (StatusCode::BAD_REQUEST, Json(status)).into_response()
}

fn send(pages: Vec<Bytes>, next: Option<(usize, usize)>) -> Response {
    let next = next.map_or_else(String::new, |(token, remaining)| {
        format!(r#","continue":"{token}","remainingItemCount":{remaining}"#)
    });
    let start = format!(
        r#"{{"kind":"PodList","apiVersion":"v1","metadata":{{"resourceVersion":"{LISTED_AT}"{next}}},"items":["#
    );
    let mut chunks = vec![Bytes::from(start)];
    for page in pages {
        if chunks.len() > 1 {
            chunks.push(Bytes::from_static(b","));
        }
        chunks.push(page);
    }
    chunks.push(Bytes::from_static(b"]}\n"));
    let body = Body::from_stream(stream::iter(chunks.into_iter().map(Ok::<_, std::convert::Infallible>)));
    ([(CONTENT_TYPE, "application/json")], body).into_response()
}
