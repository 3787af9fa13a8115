//! Opening a watch.

use std::{convert::Infallible, time::Duration};

use axum::{body::Body, response::Response};
use bytes::Bytes;
use futures::stream;
use http::{HeaderValue, header};

use super::{ApiRequest, list, version_options::VersionOptions};
use crate::{
    config::GoneStyle,
    encode, negotiate,
    selector::FieldSelector,
    status::{ApiError, ApiResult},
    watch::{Watch, WatchOptions},
};

/// Without `timeoutSeconds` a watch lasts between this and twice as long, as with kube-apiserver.
const MIN_TIMEOUT: Duration = Duration::from_secs(1800);

pub(super) async fn watch(request: ApiRequest) -> ApiResult<Response> {
    let view = negotiate::view(&request.headers)?;
    let versions = VersionOptions::parse(&request.query, true)?;
    let mut filter = request.query.filter(&request.resource, request.namespace.as_deref())?;
    if let Some(name) = &request.name {
        filter.fields = filter.fields.and(FieldSelector::named(name));
    }
    let bookmarks = request.query.flag("allowWatchBookmarks")? == Some(true);
    let timeout = request.query.timeout()?.unwrap_or_else(|| MIN_TIMEOUT.mul_f64(1.0 + fastrand::f64()));

    let api = &request.api;
    // Taken before the state is looked at: what ends watches from here on ends this one too.
    let ended = api.watches_token();
    let collection = api.collection(&request.resource);
    let asks_initial = versions.send_initial_events == Some(true);
    let rv = versions.rv.unwrap_or(0);
    let mut options = WatchOptions {
        filter,
        view,
        bookmark_interval: bookmarks.then_some(api.config.bookmark_interval),
        timeout,
        initial: Vec::new(),
        mark_initial_end: asks_initial && bookmarks,
        after: rv,
    };
    if rv == 0 || asks_initial {
        list::wait_for(api, rv).await?;
        let snapshot = collection.snapshot(request.namespace.as_deref());
        options.after = snapshot.rv;
        if versions.send_initial_events != Some(false) {
            options.initial = snapshot.objects;
        }
    } else if let Err(forgotten) = collection.check_reach(rv) {
        let error = ApiError::expired(format!("too old resource version: {rv} ({})", forgotten.oldest));
        return match api.config.gone {
            GoneStyle::HttpStatus => Err(error),
            GoneStyle::InStream => Ok(stream_of(Body::from(encode::failure(&error.to_json())))),
        };
    }
    let watch = Watch::open(request.resource.clone(), collection, options, ended);
    let frames = stream::unfold(watch, |mut watch| async {
        let frame = watch.next().await?;
        Some((Ok::<Bytes, Infallible>(frame), watch))
    });
    Ok(stream_of(Body::from_stream(frames)))
}

fn stream_of(body: Body) -> Response {
    let mut response = Response::new(body);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
