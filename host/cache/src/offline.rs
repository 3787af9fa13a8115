//! Reads answers of an API server without a connection to it: bytes that were recorded, or made by a test.

use std::sync::Arc;

use bytes::Bytes;
use informer_types::{Object, ObjectKey};

use crate::{
    WatchConfig,
    decode::{Decoder, EventError, ListDecoder, Undecodable, WatchEvent},
    error::Problem,
    watch_stream::FrameBuffer,
};

/// Reads answers as the informer of one watch does.
pub struct OfflineReader(Decoder);

/// The bytes are not an answer of an API server. The text describes the first problem.
#[derive(Debug, thiserror::Error)]
#[error("the server {0}")]
pub struct UnreadableAnswer(#[source] Problem);

/// One answer to a list request.
#[derive(Debug)]
pub struct OfflineList {
    /// The resource version of the list.
    pub resource_version: String,
    /// The continue token; empty on the last page.
    pub continue_token: String,
    /// The objects, in the order of the answer.
    pub objects: Vec<Arc<Object>>,
    /// The items that are no objects of the resource, by their key if it can be read.
    pub undecodable: Vec<Option<ObjectKey>>,
}

/// One event of a watch.
#[derive(Debug)]
pub enum OfflineEvent {
    /// An object was added.
    Added(Arc<Object>),
    /// An object was modified.
    Modified(Arc<Object>),
    /// An object was deleted; this is its last state.
    Deleted(Arc<Object>),
    /// A bookmark, with its resource version.
    Bookmark(String),
    /// The bookmark that ends the initial events of a streaming list, with its resource version.
    InitialEventsEnd(String),
    /// An error of the server, which ends the watch.
    Error,
    /// The object of an event is no object of the resource. It has this key if it can be read.
    Undecodable(Option<ObjectKey>),
}

// === impl OfflineReader ===

impl OfflineReader {
    /// Reads objects of this kind, and keeps of them what the watch keeps. A list fails if more than `max_object_bytes` of an
    /// object have arrived and the object is not complete.
    pub fn new(kind: &str, watch: &WatchConfig, max_object_bytes: usize) -> Self {
        Self(Decoder::new(kind, watch, max_object_bytes))
    }

    /// Reads one answer to a list request. It may be cut into chunks at any byte.
    ///
    /// # Errors
    /// [`UnreadableAnswer`] if it is not a whole list.
    pub fn list<'c>(
        &self,
        chunks: impl IntoIterator<Item = &'c [u8]>,
    ) -> Result<OfflineList, UnreadableAnswer> {
        let mut list = ListDecoder::new(&self.0);
        chunks.into_iter().try_for_each(|chunk| list.push(chunk)).map_err(UnreadableAnswer)?;
        let page = list.finish().map_err(UnreadableAnswer)?;
        Ok(OfflineList {
            resource_version: page.resource_version,
            continue_token: page.continue_token,
            objects: page.objects,
            undecodable: page.undecodable.into_iter().map(key).collect(),
        })
    }

    /// Reads one frame of a watch.
    ///
    /// # Errors
    /// [`UnreadableAnswer`] if it is no event.
    pub fn event(&self, frame: &[u8]) -> Result<OfflineEvent, UnreadableAnswer> {
        Ok(match self.0.event(frame) {
            Ok(WatchEvent::Added(object)) => OfflineEvent::Added(object),
            Ok(WatchEvent::Modified(object)) => OfflineEvent::Modified(object),
            Ok(WatchEvent::Deleted(object)) => OfflineEvent::Deleted(object),
            Ok(WatchEvent::Bookmark(version)) => OfflineEvent::Bookmark(version),
            Ok(WatchEvent::InitialEventsEnd(version)) => OfflineEvent::InitialEventsEnd(version),
            Ok(WatchEvent::Error(_)) => OfflineEvent::Error,
            Err(EventError::Object { source, .. }) => OfflineEvent::Undecodable(key(source)),
            Err(EventError::Frame(problem)) => return Err(UnreadableAnswer(problem)),
        })
    }
}

/// Splits the body of a watch into its frames. Returns those before the first frame of more than `max_bytes`, and an error if
/// there is such a frame. The last frame may be truncated.
pub fn frames(
    chunks: impl IntoIterator<Item = Bytes>,
    max_bytes: usize,
) -> (Vec<Bytes>, Result<(), UnreadableAnswer>) {
    let mut buffer = FrameBuffer::new(max_bytes);
    let mut found = Vec::new();
    for chunk in chunks {
        buffer.push(chunk);
        loop {
            match buffer.next_frame() {
                Ok(Some(frame)) => found.push(frame),
                Ok(None) => break,
                Err(problem) => return (found, Err(UnreadableAnswer(problem))),
            }
        }
    }
    found.extend(buffer.rest());
    (found, Ok(()))
}

fn key(undecodable: Undecodable) -> Option<ObjectKey> {
    match undecodable {
        Undecodable::Quarantined { key, .. } => key,
        Undecodable::NotJson(_) | Undecodable::Foreign(_) => None,
    }
}
