//! Answers to discovery and list requests.

use axum::{
    Json,
    body::Body,
    extract::State,
    http::{StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures::stream;
use serde_json::{Value, json};

use super::request::{Parameters, Served};
use crate::collection::{Kind, LISTED_AT};

pub(super) async fn core_versions() -> Json<Value> {
    Json(json!({"kind": "APIVersions", "versions": ["v1"]}))
}

pub(super) async fn groups(State(served): State<Served>) -> Json<Value> {
    let gvr = served.collection.kind().gvr();
    let groups: &[Value] = match gvr.group.as_str() {
        "" => &[],
        group => {
            let version = json!({"groupVersion": gvr.api_version(), "version": gvr.version});
            &[json!({"name": group, "versions": [version], "preferredVersion": version})]
        }
    };
    Json(json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}))
}

pub(super) async fn resources(State(served): State<Served>) -> Json<Value> {
    let kind = served.collection.kind();
    let gvr = kind.gvr();
    Json(json!({
        "kind": "APIResourceList",
        "groupVersion": gvr.api_version(),
        "resources": [{
            "name": gvr.resource,
            "singularName": kind.name().to_lowercase(),
            "namespaced": true,
            "kind": kind.name(),
            "verbs": ["get", "list", "watch"],
        }],
    }))
}

/// One page, or all objects in one answer if there is no limit.
pub(super) fn list(served: &Served, parameters: &Parameters) -> Response {
    let Served { collection, page_size, .. } = served;
    let kind = collection.kind();
    if parameters.limit == 0 {
        return send(kind, collection.pages().to_vec(), None);
    }
    if parameters.limit != *page_size {
        return refuse(&format!("limit must be {page_size}, for which the pages were rendered"));
    }
    let page = match parameters.continue_token.as_str() {
        "" => 0,
        token => token.parse().unwrap_or(usize::MAX),
    };
    let Some(items) = collection.pages().get(page) else {
        return refuse(&format!("`{}` is no continue token of this server", parameters.continue_token));
    };
    let next = page + 1;
    let remaining = collection.len().saturating_sub(next * page_size);
    send(kind, vec![items.clone()], (remaining > 0).then_some((next, remaining)))
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

fn send(kind: Kind, pages: Vec<Bytes>, next: Option<(usize, usize)>) -> Response {
    let next = next.map_or_else(String::new, |(token, remaining)| {
        format!(r#","continue":"{token}","remainingItemCount":{remaining}"#)
    });
    let (name, api_version) = (kind.name(), kind.gvr().api_version());
    let start = format!(
        r#"{{"kind":"{name}List","apiVersion":"{api_version}","metadata":{{"resourceVersion":"{LISTED_AT}"{next}}},"items":["#
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
