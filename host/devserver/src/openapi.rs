//! OpenAPI documents, as far as clients look at them.
//!
//! kubectl asks two things: does a PATCH of this kind take `fieldValidation` (then it leaves
//! validation to the server), and what are the merge keys of a custom resource (then it falls back
//! to JSON merge patch, which is what those take). Neither needs schemas, so there are none.

use std::{collections::BTreeMap, sync::Arc};

use axum::{body::Body, response::Response};
use http::{HeaderMap, HeaderValue, header};
use serde_json::{Value, json};

use crate::{
    api::Api,
    registry::Resource,
    routes,
    status::{ApiError, ApiResult},
};

/// The media type in which kubectl asks for `/openapi/v2`.
const V2_PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
/// The one it is answered in, as by kube-apiserver: with an `@` it is no media type, and Go refuses to read it.
const V2_PROTOBUF_ANSWER: HeaderValue =
    HeaderValue::from_static("application/com.github.proto-openapi.spec.v2.v1.0+protobuf");
/// `swagger: "2.0"` and an empty `info`, in gnostic's protobuf: the least that is a document.
const V2_DOCUMENT: &[u8] = b"\x0a\x032.0\x12\x00";

/// `/openapi/v3` and what is below it; `/openapi/v2`.
pub(crate) fn serve(api: &Api, path: &[&str], headers: &HeaderMap) -> ApiResult<Response> {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    let document = match path {
        ["v2"] if accept.contains(V2_PROTOBUF) => {
            let mut response = Response::new(Body::from(V2_DOCUMENT));
            response.headers_mut().insert(header::CONTENT_TYPE, V2_PROTOBUF_ANSWER);
            return Ok(response);
        }
        ["v2"] => {
            let info = json!({"title": "informer development server", "version": "v1"});
            Some(json!({"swagger": "2.0", "info": info, "paths": {}}))
        }
        ["v3"] => index(api),
        ["v3", "api", version] => group_version(&api.registry.in_group_version("", version)),
        ["v3", "apis", group, version] => group_version(&api.registry.in_group_version(group, version)),
        _ => None,
    };
    let document = document.ok_or_else(ApiError::unknown_path)?;
    Ok(routes::json(document.to_string().into()))
}

fn index(api: &Api) -> Option<Value> {
    let mut paths = BTreeMap::new();
    for (group, versions) in api.registry.groups() {
        for version in versions {
            let path = match group.as_str() {
                "" => format!("api/{version}"),
                group => format!("apis/{group}/{version}"),
            };
            let url = json!({"serverRelativeURL": format!("/openapi/v3/{path}")});
            paths.insert(path, url);
        }
    }
    Some(json!({"paths": paths}))
}

fn group_version(resources: &[Arc<Resource>]) -> Option<Value> {
    let first = resources.first()?;
    let paths: BTreeMap<String, Value> = resources.iter().map(|resource| path_item(resource)).collect();
    Some(json!({
        "openapi": "3.0.0",
        "info": {"title": "informer development server", "version": first.version},
        "paths": paths,
        "components": {"schemas": {}},
    }))
}

fn path_item(resource: &Resource) -> (String, Value) {
    let root = if resource.group.is_empty() { "/api" } else { "/apis" };
    let scope = if resource.namespaced { "/namespaces/{namespace}" } else { "" };
    let path = format!("{root}/{}{scope}/{}/{{name}}", resource.api_version(), resource.plural);
    let parameter =
        |name: &str| json!({"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": true}});
    let parameters = ["dryRun", "fieldManager", "fieldValidation", "force"].map(parameter);
    let patch = json!({
        "operationId": format!("patch{}", resource.kind),
        "parameters": parameters,
        "responses": {"200": {"description": "OK"}},
        "x-kubernetes-action": "patch",
        "x-kubernetes-group-version-kind":
            {"group": resource.group, "version": resource.version, "kind": resource.kind},
    });
    (path, json!({"patch": patch}))
}
