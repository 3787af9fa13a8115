//! OpenAPI documents, as much of them as clients use.
//!
//! kubectl looks up two things: whether a PATCH of a kind accepts `fieldValidation` (then kubectl leaves
//! validation to the server), and the merge keys of a custom resource (without them kubectl uses a JSON merge
//! patch, which custom resources accept). Neither needs schemas, so the documents have none.

use std::{collections::BTreeMap, sync::Arc};

use axum::response::Response;
use http::{HeaderMap, HeaderValue, header};
use serde_json::{Value, json};

use crate::{
    answer,
    api::Api,
    registry::Resource,
    status::{ApiError, ApiResult},
};

/// The media type that kubectl accepts for `/openapi/v2`.
const V2_PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
/// The media type of the answer, as in kube-apiserver. A media type must not contain `@`: Go refuses to parse it.
const V2_PROTOBUF_ANSWER: HeaderValue =
    HeaderValue::from_static("application/com.github.proto-openapi.spec.v2.v1.0+protobuf");
/// The smallest valid document in gnostic's protobuf: `swagger: "2.0"` and an empty `info`.
const V2_DOCUMENT: &[u8] = b"\x0a\x032.0\x12\x00";

/// Answers `/openapi/v2`, `/openapi/v3` and the paths below `/openapi/v3`.
pub(crate) fn serve(api: &Api, path: &[&str], headers: &HeaderMap) -> ApiResult<Response> {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    let document = match path {
        ["v2"] if accept.contains(V2_PROTOBUF) => {
            return Ok(answer::with_media_type(V2_DOCUMENT, V2_PROTOBUF_ANSWER));
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
    Ok(answer::json(document.to_string()))
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
