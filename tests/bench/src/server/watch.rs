//! Answers to watch requests.

use std::{convert::Infallible, sync::Arc};

use axum::{
    body::Body,
    http::header::CONTENT_TYPE,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures::stream;
use tokio::sync::watch::Receiver;

use super::{
    answer::refuse,
    pace::Pace,
    request::{Parameters, Served},
};
use crate::collection::{Collection, Kind, LISTED_AT};

/// One open watch.
struct Watch {
    collection: Arc<Collection>,
    emitted: Receiver<u64>,
    pace: Arc<Pace>,
    /// The index of the next event to send.
    next: u64,
    /// If true, the bookmark after the last event was sent, or no event was sent yet.
    bookmarked: bool,
}

pub(super) fn answer(served: &Served, parameters: &Parameters) -> Response {
    let version: Option<u64> = parameters.resource_version.parse().ok();
    let Some(next) = version.and_then(|version| version.checked_sub(LISTED_AT)) else {
        let version = &parameters.resource_version;
        return refuse(&format!("resourceVersion must be that of the list, or newer, not `{version}`"));
    };
    let watch = Watch {
        collection: Arc::clone(&served.collection),
        emitted: served.emitted.subscribe(),
        pace: Arc::clone(&served.pace),
        next,
        bookmarked: true,
    };
    let frames = stream::unfold(watch, |mut watch| async {
        let frame = watch.next().await?;
        Some((Ok::<_, Infallible>(frame), watch))
    });
    ([(CONTENT_TYPE, "application/json")], Body::from_stream(frames)).into_response()
}

// === impl Watch ===

impl Watch {
    /// Waits for the next frame. Returns `None` only when the server ends.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if self.next < *self.emitted.borrow_and_update() {
                let frame = self.collection.frame(self.next);
                self.pace.record(self.next);
                self.next += 1;
                self.bookmarked = false;
                return frame;
            }
            if !self.bookmarked {
                self.bookmarked = true;
                return Some(bookmark(self.collection.kind(), LISTED_AT + self.next));
            }
            self.emitted.changed().await.ok()?;
        }
    }
}

/// A bookmark in the form of the API server.
fn bookmark(kind: Kind, resource_version: u64) -> Bytes {
    let (name, api_version) = (kind.name(), kind.gvr().api_version());
    let rest = if name == "Pod" { r#","spec":{"containers":null},"status":{}"# } else { "" };
    Bytes::from(format!(
        "{{\"type\":\"BOOKMARK\",\"object\":{{\"kind\":\"{name}\",\"apiVersion\":\"{api_version}\",\"metadata\":{{\"resourceVersion\":\"{resource_version}\"}}{rest}}}}}\n"
    ))
}
