//! One frame of a watch.

use std::{borrow::Cow, collections::HashMap, sync::Arc};

use informer_types::Object;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Decoder, Undecodable, header::ObjectText};
use crate::{api_status::ApiStatus, error::Problem};

/// A decoded watch event (R-25).
#[derive(Debug)]
pub(crate) enum WatchEvent {
    Added(Arc<Object>),
    Modified(Arc<Object>),
    /// The last state, with the resource version of the deletion (C-4).
    Deleted(Arc<Object>),
    /// A bookmark: only its resource version has a meaning (R-30).
    Bookmark(String),
    /// The bookmark that ends the initial events of a streaming list (R-43).
    InitialEventsEnd(String),
    /// An error; it ends the watch (R-22).
    Error(Box<ApiStatus>),
}

/// Why a frame gave no event.
#[derive(Debug)]
pub(crate) enum EventError {
    /// The frame is no event, so the rest of the stream cannot be trusted (A-11).
    Frame(Problem),
    /// Only the object is bad. `deleted` is true if the event is a deletion.
    Object { deleted: bool, source: Undecodable },
}

/// The annotation that marks the end of a streaming list.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(rename = "type")]
    kind: String,
    #[serde(borrow)]
    object: &'a RawValue,
}

/// The fields that the decoder reads of a bookmark and of no other object.
#[derive(Deserialize)]
struct Mark<'a> {
    #[serde(borrow)]
    metadata: MarkMetadata<'a>,
}

#[derive(Deserialize)]
struct MarkMetadata<'a> {
    #[serde(borrow)]
    annotations: Option<HashMap<Cow<'a, str>, Option<Cow<'a, str>>>>,
}

// === impl Decoder ===

impl Decoder {
    /// Decodes one frame.
    pub(crate) fn event(&self, frame: &[u8]) -> Result<WatchEvent, EventError> {
        // A frame that is not UTF-8 still has an envelope and usually a readable key.
        let text = match std::str::from_utf8(frame) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => String::from_utf8_lossy(frame),
        };
        let repaired = matches!(text, Cow::Owned(_));
        if let Some((kind, object)) = split_plain(&text) {
            match self.event_of(kind, object, repaired) {
                // The object may end earlier, because another field follows.
                Err(EventError::Frame(Problem::NotJson(_))) => {}
                event => return event,
            }
        }
        let envelope: Envelope<'_> = serde_json::from_str(&text).map_err(not_json)?;
        self.event_of(&envelope.kind, envelope.object.get(), repaired)
    }

    fn event_of(&self, kind: &str, object: &str, repaired: bool) -> Result<WatchEvent, EventError> {
        let decode = |deleted| {
            let decoded = if repaired { Err(super::not_utf8(object)) } else { self.object_of(object) };
            decoded.map_err(|source| match source {
                Undecodable::NotJson(source) => not_json(source),
                source => EventError::Object { deleted, source },
            })
        };
        match kind {
            "ADDED" => decode(false).map(WatchEvent::Added),
            "MODIFIED" => decode(false).map(WatchEvent::Modified),
            "DELETED" => decode(true).map(WatchEvent::Deleted),
            "BOOKMARK" => self.bookmark(object),
            "ERROR" => error_event(object),
            other => {
                let word: String = other.chars().take(32).collect();
                let problem = format!("a watch event is of the unknown type `{word}`");
                Err(EventError::Frame(Problem::Unexpected(problem)))
            }
        }
    }

    /// Decodes a bookmark. A bookmark of another type is refused like any object (R-26).
    fn bookmark(&self, object: &str) -> Result<WatchEvent, EventError> {
        let parsed: ObjectText<'_> = serde_json::from_str(object).map_err(not_json)?;
        self.check_type(&parsed).map_err(|source| EventError::Object { deleted: false, source })?;
        if parsed.resource_version().is_empty() {
            let source = Undecodable::Foreign("a bookmark has no resourceVersion".to_owned());
            return Err(EventError::Object { deleted: false, source });
        }
        let version = parsed.resource_version().to_owned();
        Ok(if ends_initial_events(object) {
            WatchEvent::InitialEventsEnd(version)
        } else {
            WatchEvent::Bookmark(version)
        })
    }
}

fn not_json(error: serde_json::Error) -> EventError {
    EventError::Frame(Problem::NotJson(error))
}

/// Returns true if the annotation has the value "true" (R-43). Annotations of another form are ignored.
fn ends_initial_events(bookmark: &str) -> bool {
    let mark: Result<Mark<'_>, _> = serde_json::from_str(bookmark);
    mark.ok()
        .and_then(|mark| mark.metadata.annotations)
        .is_some_and(|all| all.get(INITIAL_EVENTS_END).is_some_and(|value| value.as_deref() == Some("true")))
}

/// An ERROR event without a `Status` is an error nevertheless (R-22).
fn error_event(object: &str) -> Result<WatchEvent, EventError> {
    // Distinguishes bad JSON from a payload of another kind.
    serde_json::from_str::<&RawValue>(object).map_err(not_json)?;
    let status = ApiStatus::parse(object.as_bytes()).unwrap_or_else(|| ApiStatus {
        message: "an ERROR event without a Status".to_owned(),
        ..ApiStatus::default()
    });
    Ok(WatchEvent::Error(Box::new(status)))
}

/// Splits the form that every API server writes, `{"type":"X","object":Y}`, without parsing `Y` twice: if `Y` is one
/// JSON value, the whole frame was one too. Otherwise the frame may have another form.
fn split_plain(frame: &str) -> Option<(&str, &str)> {
    let rest = frame.strip_prefix(r#"{"type":""#)?.strip_suffix('}')?;
    let (kind, rest) = rest.split_once('"')?;
    let object = rest.strip_prefix(r#","object":"#)?;
    kind.bytes().all(|byte| byte.is_ascii_uppercase()).then_some((kind, object))
}
