//! Lists, complete or in pages.

use std::sync::Arc;

use axum::response::Response;

use super::{
    continue_token::ContinueToken,
    request::ApiRequest,
    version_options::{VersionMatch, VersionOptions},
};
use crate::{
    answer,
    api::Api,
    encode::{self, ListMeta},
    negotiate,
    selector::Filter,
    status::{ApiError, ApiResult},
    storage::{Stored, collection::Snapshot},
};

pub(super) async fn list(request: ApiRequest) -> ApiResult<Response> {
    let view = negotiate::view(&request.headers)?;
    let options = VersionOptions::parse(&request.query, false)?;
    let limit = request.query.number("limit")?.filter(|limit| *limit > 0);
    let limit = limit.and_then(|limit| usize::try_from(limit).ok());
    let filter = request.query.filter(&request.resource, request.namespace.as_deref())?;
    let page = match request.query.get("continue") {
        Some(token) => continued(&request, &ContinueToken::decode(token)?)?,
        None => first(&request, options, limit.is_some()).await?,
    };
    let (objects, meta) = cut(page, &filter, limit);
    let objects = objects.iter().map(|object| &**object);
    Ok(answer::json(encode::list(&request.resource, view, &meta, objects)))
}

/// Waits until the server has reached `rv`.
///
/// # Errors
/// 504 with the cause `ResourceVersionTooLarge` if the server does not reach it in time.
pub(super) async fn wait_for(api: &Api, rv: u64) -> ApiResult<()> {
    let revision = api.storage.revision();
    if revision.wait_for(rv, api.config.future_version_patience).await {
        return Ok(());
    }
    Err(ApiError::too_large_resource_version(rv, revision.current()))
}

async fn first(request: &ApiRequest, options: VersionOptions, limited: bool) -> ApiResult<Snapshot> {
    let collection = request.collection();
    let namespace = request.namespace.as_deref();
    let rv = options.rv.unwrap_or(0);
    if rv == 0 {
        return Ok(collection.snapshot(namespace));
    }
    wait_for(&request.api, rv).await?;
    // Without `resourceVersionMatch`, a limit implies an exact match, so that all pages are of one version.
    let exact = match options.version_match {
        Some(wanted) => wanted == VersionMatch::Exact,
        None => limited,
    };
    if !exact {
        return Ok(collection.snapshot(namespace));
    }
    collection.snapshot_at(rv, namespace).map_err(|forgotten| {
        ApiError::expired(format!(
            "The provided resource version is too old: {rv}, the oldest one is {}",
            forgotten.oldest
        ))
    })
}

/// The objects after the pages that the client already has.
fn continued(request: &ApiRequest, token: &ContinueToken) -> ApiResult<Snapshot> {
    if request.query.number("resourceVersion")?.is_some_and(|rv| rv != 0) {
        return Err(ApiError::bad_request("specifying resource version is not allowed when using continue"));
    }
    let collection = request.collection();
    let namespace = request.namespace.as_deref();
    let mut snapshot = match token.rv {
        None => collection.snapshot(namespace),
        Some(rv) => collection.snapshot_at(rv, namespace).map_err(|_| {
            let inconsistent = ContinueToken { rv: None, after: token.after.clone() };
            ApiError::expired_page(inconsistent.encode())
        })?,
    };
    snapshot.objects.retain(|object| object.key > token.after);
    Ok(snapshot)
}

/// At most `limit` objects that match, and the token for the next page.
fn cut(snapshot: Snapshot, filter: &Filter, limit: Option<usize>) -> (Vec<Arc<Stored>>, ListMeta) {
    let mut meta = ListMeta { rv: snapshot.rv, ..ListMeta::default() };
    let mut matching = snapshot.objects.into_iter().filter(|object| filter.matches(object));
    let Some(limit) = limit else { return (matching.collect(), meta) };
    let objects: Vec<_> = matching.by_ref().take(limit).collect();
    let left = matching.count();
    if let (1.., Some(last)) = (left, objects.last()) {
        let token = ContinueToken { rv: Some(snapshot.rv), after: last.key.clone() };
        meta.continue_token = Some(token.encode());
        // Like kube-apiserver, count the remaining objects only if there is no selector.
        meta.remaining = (!filter.is_selective()).then_some(left);
    }
    (objects, meta)
}
