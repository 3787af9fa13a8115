//! The answers of a server without faults.

use bytes::Bytes;
use serde_json::{Value, json};

use crate::{Call, Change, Collection, Request, Status, continue_token::ContinueToken};

/// The discovery document of the core group.
pub(crate) fn discovery() -> Bytes {
    let pods = json!({
        "name": "pods", "singularName": "pod", "namespaced": true, "kind": "Pod",
        "verbs": ["create", "delete", "get", "list", "update", "watch"],
    });
    let list = json!({
        "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "v1", "resources": [pods],
    });
    list.to_string().into()
}

/// One page of a list, at the version that `resourceVersion`, `resourceVersionMatch` and `continue` select (A-2,
/// A limit applies at every version, as on a server without a watch cache.
pub(crate) fn list(collection: &Collection, request: &Request) -> Result<Bytes, Status> {
    let refused = |code, message: &str| Status::of(code).with_message(message);
    if request.call == Call::List && request.get("sendInitialEvents") == "true" {
        return Err(refused(422, "sendInitialEvents is forbidden for list"));
    }
    let token = match request.get("continue") {
        "" => None,
        text => Some(ContinueToken::parse(text).ok_or_else(|| refused(400, "continue key is not valid"))?),
    };
    let version = match &token {
        Some(token) if collection.is_expired(token.version) => {
            return Err(refused(
                410,
                "The provided continue parameter is too old to display a consistent list result.",
            ));
        }
        Some(token) => token.version,
        None => version(collection, request)?,
    };
    let objects = collection.state_at(version).into_iter().filter(|change| is_about(request, change));
    let after = token.as_ref().map_or("", |token| &token.after);
    let mut rest: Vec<Change> = objects.filter(|change| change.key.as_str() > after).collect();
    let mut next = String::new();
    if let Ok(limit) = request.get("limit").parse::<usize>()
        && rest.len() > limit.max(1)
    {
        rest.truncate(limit.max(1));
        let after = rest.last().map(|change| change.key.clone()).unwrap_or_default();
        next = ContinueToken { version, page: request.page() + 1, after }.to_string();
    }
    let items: Vec<&Value> = rest.iter().map(|change| &*change.object).collect();
    let list = json!({
        "kind": "PodList", "apiVersion": "v1",
        "metadata": {"resourceVersion": version.to_string(), "continue": next},
        "items": items,
    });
    Ok(list.to_string().into())
}

/// A `Table`, as a server sends it to kubectl.
pub(crate) fn table(collection: &Collection) -> Value {
    let rows: Vec<Value> = collection
        .state_at(u64::MAX)
        .iter()
        .map(|change| json!({"cells": [change.key], "object": *change.object}))
        .collect();
    json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1",
        "metadata": {"resourceVersion": collection.version().to_string()},
        "columnDefinitions": [{"name": "Name", "type": "string"}],
        "rows": rows,
    })
}

fn version(collection: &Collection, request: &Request) -> Result<u64, Status> {
    let current = collection.version();
    let requested = match request.resource_version() {
        "" | "0" => return Ok(current),
        requested => {
            requested.parse::<u64>().map_err(|_| Status::of(400).with_message("invalid resource version"))?
        }
    };
    if requested > current {
        return Err(Status::too_large(requested, current));
    }
    if request.get("resourceVersionMatch") != "Exact" {
        return Ok(current);
    }
    if collection.is_expired(requested) { Err(Status::of(410)) } else { Ok(requested) }
}

fn is_about(request: &Request, change: &Change) -> bool {
    let namespace = change.key.split_once('/').map(|(namespace, _)| namespace);
    request.namespace().is_none() || request.namespace() == namespace
}
