//! Lists, complete or in pages.

use std::sync::Arc;

use axum::response::Response;
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};

use super::{
    query::{VersionMatch, VersionOptions},
    request::ApiRequest,
};
use crate::{
    answer,
    api::Api,
    encode::{self, ListMeta},
    selector::Filter,
    status::{ApiError, ApiResult},
    storage::{ObjectKey, Stored, collection::Snapshot},
};

/// The place at which a paged list continues.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ContinueToken {
    /// The version of the list. `None` continues with the current objects, inconsistent with earlier pages.
    rv: Option<u64>,
    /// The last object of the page before.
    after: ObjectKey,
}

pub(super) async fn list(request: ApiRequest) -> ApiResult<Response> {
    let view = request.view()?;
    let options = VersionOptions::parse(&request.query, false)?;
    let limit = request.query.number("limit")?.filter(|limit| *limit > 0);
    // Like the watch cache of kube-apiserver, answer a list of any state as a whole.
    let limit = limit.filter(|_| options.rv != Some(0)).and_then(|limit| usize::try_from(limit).ok());
    let filter = request.filter()?;
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
    let revision = &api.storage.revision;
    if revision.wait_for(rv, api.config.future_version_patience).await {
        return Ok(());
    }
    Err(ApiError::too_large_resource_version(rv, revision.current()))
}

async fn first(request: &ApiRequest, options: VersionOptions, limited: bool) -> ApiResult<Snapshot> {
    let collection = request.collection();
    let namespace = request.target.namespace.as_deref();
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
    let namespace = request.target.namespace.as_deref();
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

// === impl ContinueToken ===

impl ContinueToken {
    /// A text that is opaque to clients and safe in a URL.
    fn encode(&self) -> String {
        let rv = self.rv.map_or_else(|| "any".to_owned(), |rv| rv.to_string());
        BASE64_URL_SAFE_NO_PAD.encode(format!("{rv}/{}/{}", self.after.namespace, self.after.name))
    }

    /// # Errors
    /// 400 for a text that does not come from [`encode`](Self::encode).
    fn decode(token: &str) -> ApiResult<Self> {
        Self::read(token).ok_or_else(|| {
            ApiError::bad_request("continue key is not valid: it was not issued by this server")
        })
    }

    fn read(token: &str) -> Option<Self> {
        let text = String::from_utf8(BASE64_URL_SAFE_NO_PAD.decode(token).ok()?).ok()?;
        let (rv, place) = text.split_once('/')?;
        let rv = if rv == "any" { None } else { Some(rv.parse().ok()?) };
        let (namespace, name) = place.split_once('/')?;
        Some(Self { rv, after: ObjectKey::new(namespace, name) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_survives_the_round_trip() {
        for rv in [Some(12), None] {
            let token = ContinueToken { rv, after: ObjectKey::new("shop", "wéb") };
            assert_eq!(ContinueToken::decode(&token.encode()).unwrap(), token);
        }
    }

    #[test]
    fn a_forged_token_is_refused() {
        for bad in ["", "1", "1.6", "MQ", "eC9hL2I", "MS9h", "MS//Yg", "MS9hL2I="] {
            assert!(ContinueToken::decode(bad).is_err(), "{bad}");
        }
    }
}
