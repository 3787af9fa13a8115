//! Opening a watch: where it starts, whether it begins with the existing objects, and how it
//! fails if its version is forgotten.

use std::{collections::VecDeque, convert::Infallible, time::Duration};

use axum::{body::Body, response::Response};
use bytes::Bytes;
use futures::stream;

use super::{list, query::VersionOptions, request::ApiRequest};
use crate::{
    answer,
    config::GoneStyle,
    encode,
    status::{ApiError, ApiResult},
    watch::{Watch, WatchOptions},
};

/// Without `timeoutSeconds` a watch ends after a random time between this and twice this, as in kube-apiserver.
const MIN_TIMEOUT: Duration = Duration::from_secs(1800);

pub(super) async fn watch(request: ApiRequest) -> ApiResult<Response> {
    let view = request.view()?;
    let versions = VersionOptions::parse(&request.query, true)?;
    let filter = request.filter()?;
    let bookmarks = request.query.flag("allowWatchBookmarks")? == Some(true);
    let timeout = request.query.timeout()?.unwrap_or_else(|| MIN_TIMEOUT.mul_f64(1.0 + fastrand::f64()));

    let api = &request.api;
    // Take the token before reading the state: a later `end_watches` then ends this watch too.
    let ended = api.watches_token();
    let collection = request.collection();
    let asks_initial = versions.send_initial_events == Some(true);
    let rv = versions.rv.unwrap_or(0);
    let mut options = WatchOptions {
        filter,
        view,
        bookmark_interval: bookmarks.then_some(api.config.bookmark_interval),
        timeout,
        initial: VecDeque::new(),
        mark_initial_end: asks_initial && bookmarks,
        after: rv,
    };
    if rv == 0 || asks_initial {
        list::wait_for(api, rv).await?;
        let snapshot = collection.snapshot(request.target.namespace.as_deref());
        options.after = snapshot.rv;
        if versions.send_initial_events != Some(false) {
            options.initial = snapshot.objects.into();
        }
    } else if let Err(forgotten) = collection.check_reach(rv) {
        let error = ApiError::expired(format!("too old resource version: {rv} ({})", forgotten.oldest));
        return match api.config.gone {
            GoneStyle::HttpStatus => Err(error),
            GoneStyle::InStream => Ok(answer::json(encode::failure(error.document()))),
        };
    }
    let watch = Watch::open(request.resource.clone(), collection, options, ended);
    let frames = stream::unfold(watch, |mut watch| async {
        let frame = watch.next().await?;
        Some((Ok::<Bytes, Infallible>(frame), watch))
    });
    Ok(answer::json(Body::from_stream(frames)))
}
