//! A list over a watch: the server sends the existing objects as ADDED, marks their end, and the same connection
//! continues as the watch (KEP-3157; ).
//!
//! Compared with a plain list, the server does not hold the whole answer in memory, and the second request is saved. If
//! a streaming list fails, a plain list replaces it in the same run. Some servers do not report that they lack
//! streaming lists: a server that ignores `sendInitialEvents` just never sends the end mark. So the wait is bounded,
//! and with [`WatchListMode::Auto`] the result is remembered for all informers of the factory (D-3).

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use bytes::Bytes;
use informer_types::{Object, ObjectKey, counted};
use tokio::time::Instant;

use super::{
    backoff::FailureBackoff,
    state::ListState,
    target::{ReflectorError, Target},
    watch::OpenWatch,
};
use crate::{
    WatchListMode,
    decode::{EventError, ListPage, Undecodable, WatchEvent},
    error::{Problem, RequestError, chain},
    indexer::ObjectSet,
    status::Phase,
    watch_stream::Next,
};

/// The time that a streaming list may take in addition to the time for its events.
const PATIENCE: Duration = Duration::from_secs(30);

/// The time for each event: a long list should not fail over to a plain list, which costs the server more. A list without an
/// end mark still fails in the end, unless the server sends 100 changes a second.
const PATIENCE_PER_EVENT: Duration = Duration::from_millis(10);

/// After this time without an event a warning is logged.
const WARN_AFTER: Duration = Duration::from_secs(10);

/// After this number of streaming lists that ended before their mark, a plain list is used (D-3).
const UNFINISHED_ALLOWED: u32 = 2;

/// Why a streaming list failed.
#[derive(Debug, thiserror::Error)]
enum StreamError {
    /// It was not opened, or the server sent an ERROR event or an invalid frame.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// It ended within a second and without an event.
    #[error("it ended within a second and without an event")]
    VeryShort,
    /// It ended before its end mark.
    #[error("the server ended it before marking the end of the initial events")]
    Unfinished,
    /// The end mark did not arrive in time (D-3).
    #[error("the server did not mark the end of the initial events within {} s", .0.as_secs())]
    Overdue(Duration),
}

/// The streaming lists of one reflector.
pub(super) struct StreamingList<'a> {
    pub(super) target: &'a Target,
    pub(super) state: &'a mut ListState,
    pub(super) backoff: &'a mut FailureBackoff,
    pub(super) mode: WatchListMode,
}

/// The objects of an unfinished streaming list by key, in the form in which the cache keeps them: at the end
/// only pointers move.
#[derive(Default)]
struct TemporaryStore {
    objects: ObjectSet,
    /// The objects whose latest state did not decode (D-2).
    undecodable: BTreeMap<ObjectKey, Undecodable>,
    /// The first object whose key is unreadable.
    unreadable: Option<Undecodable>,
}

// === impl StreamingList ===

impl StreamingList<'_> {
    /// Returns true if a streaming list should be tried.
    pub(super) fn is_wanted(&self) -> bool {
        match self.mode {
            WatchListMode::Off => false,
            // A list precedes each watch of a server without versions. A streaming list would wait for its end mark in vain each time.
            WatchListMode::Auto | WatchListMode::On if self.state.is_unversioned() => {
                let reason =
                    "the server sends no resource versions, so it cannot mark the end of a streaming list";
                self.target.cell.plain_lists_because(reason.to_owned());
                false
            }
            WatchListMode::On => true,
            WatchListMode::Auto => {
                let api_root = self.target.list_watch.collection.informer.gvr.api_root();
                let reason = self.target.list_watch.transport.watch_list_support.reason(&api_root);
                reason.map(|reason| self.target.cell.plain_lists_because(reason)).is_none()
            }
        }
    }

    /// Fetches a streaming list, with retries. Returns `None` if a plain list is needed.
    pub(super) async fn fetch(&mut self) -> Option<(ListPage, OpenWatch)> {
        let mut unfinished = 0;
        loop {
            let error = match self.stream_once().await {
                Ok(streamed) => return Some(streamed),
                Err(error) => error,
            };
            unfinished += u32::from(matches!(error, StreamError::Unfinished));
            match error {
                // Try again at once, at the newest version.
                StreamError::Request(source)
                    if source.is_version_unavailable() && self.state.version_unavailable() =>
                {
                    tracing::debug!(resource = %self.target.resource(), error = %source, "resource version not available, streaming the newest");
                }
                // The failure passes by itself: try again after a backoff.
                StreamError::Request(source) if source.is_passing() => {
                    self.backoff.wait_after(&self.target.failed("list", source), self.target).await;
                }
                StreamError::Unfinished if unfinished < UNFINISHED_ALLOWED => {
                    let error = ReflectorError::UnfinishedList(self.target.resource());
                    self.backoff.wait_after(&error, self.target).await;
                }
                error => {
                    self.give_up_streaming(&error);
                    return None;
                }
            }
        }
    }

    /// Reports that a plain list is needed. If the failure shows that the server lacks streaming lists,
    /// remembers it (D-3).
    fn give_up_streaming(&self, error: &StreamError) {
        let reason = format!("the streaming list failed: {}", chain(error));
        let lacking = match error {
            StreamError::Unfinished | StreamError::Overdue(_) => true,
            StreamError::Request(source) => source.is_unsupported(),
            StreamError::VeryShort => false,
        };
        self.target.cell.fell_back(format!("{reason}; waiting for a plain list"));
        if !lacking {
            // If the problem persists, the plain list reports it.
            tracing::info!(resource = %self.target.resource(), reason, "falling back to a plain list");
            return;
        }
        tracing::warn!(resource = %self.target.resource(), reason, "falling back to a plain list");
        if self.mode == WatchListMode::Auto {
            let api_root = self.target.list_watch.collection.informer.gvr.api_root();
            self.target.list_watch.transport.watch_list_support.lacks(api_root, reason.clone());
        }
        self.target.cell.plain_lists_because(reason);
    }

    /// One attempt at a streaming list.
    async fn stream_once(&mut self) -> Result<(ListPage, OpenWatch), StreamError> {
        self.target.cell.enter(Phase::Listing);
        let version = self.state.stream_version().to_owned();
        let mut watch = OpenWatch::open(self.target, &version, true, PATIENCE).await?;
        tracing::debug!(resource = %self.target.resource(), rv = version, "streaming the list");
        let mut store = TemporaryStore::default();
        let mut extent = self.target.list_watch.extent(&self.target.decoder);
        loop {
            let frame = self.next_frame(&mut watch).await?;
            extent.add(frame.len() as u64, 1).map_err(|problem| self.stream_error(problem))?;
            let event = match self.target.decoder.event(&frame) {
                Ok(event) => event,
                Err(EventError::Object { deleted, source }) => {
                    self.refuse_initial(&mut store, &mut watch, deleted, source);
                    continue;
                }
                // The connection broke in the middle of this frame.
                Err(_) if watch.stream.has_ended() => return Err(ended(&watch)),
                Err(EventError::Frame(problem)) => return Err(self.stream_error(problem)),
            };
            self.target.decoder.tend().await;
            watch.accepted += 1;
            match event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                    store.set(self.target.decoder.shared(object));
                }
                WatchEvent::Deleted(object) => store.remove(&object.key()),
                WatchEvent::Bookmark(_) => {}
                WatchEvent::Error(status) => return Err(self.target.status_error(status).into()),
                WatchEvent::InitialEventsEnd(version) => {
                    watch.synthetic = false;
                    return Ok((store.into_list(version), watch));
                }
            }
        }
    }

    /// Returns the next frame. Gives up after a bounded time, and warns while no event arrives.
    async fn next_frame(&self, watch: &mut OpenWatch) -> Result<Bytes, StreamError> {
        let events = u32::try_from(watch.accepted).unwrap_or(u32::MAX);
        let patience = PATIENCE.saturating_add(PATIENCE_PER_EVENT.saturating_mul(events));
        let deadline = watch.deadline.min(watch.opened + patience);
        loop {
            let next = watch.stream.next(WARN_AFTER, deadline).await;
            match next.map_err(|problem| self.stream_error(problem))? {
                Next::Ended => return Err(ended(watch)),
                _ if Instant::now() >= deadline => return Err(StreamError::Overdue(patience)),
                Next::Frame(frame) => return Ok(frame),
                Next::Silent => {
                    let reason = format!(
                        "the streaming list has not ended: {} so far, and none for {} s",
                        counted(watch.accepted, "event"),
                        WARN_AFTER.as_secs()
                    );
                    tracing::warn!(resource = %self.target.resource(), reason, "streaming list not complete yet");
                    self.target.cell.unsynced_because(reason);
                }
            }
        }
    }

    /// Records an object that did not decode (D-2). The complete list replaces the quarantine, so the object is kept until the list ends.
    /// If several objects have an unreadable key, only the first is kept, and the others are counted at once.
    fn refuse_initial(
        &self,
        store: &mut TemporaryStore,
        watch: &mut OpenWatch,
        deleted: bool,
        undecodable: Undecodable,
    ) {
        match &undecodable {
            Undecodable::Quarantined { key: Some(key), .. } => {
                watch.accepted += 1;
                if deleted {
                    store.remove(key);
                } else {
                    store.refuse(key.clone(), undecodable);
                }
            }
            Undecodable::Quarantined { key: None, .. } if store.unreadable.is_none() => {
                store.unreadable = Some(undecodable);
            }
            _ => {
                self.target.refuse(undecodable);
            }
        }
    }

    fn stream_error(&self, problem: Problem) -> StreamError {
        self.target.list_watch.watch_error(problem).into()
    }
}

// === impl TemporaryStore ===

impl TemporaryStore {
    /// Stores an object. As in the store, ADDED and MODIFIED have the same effect (C-3).
    fn set(&mut self, object: Arc<Object>) {
        if !self.undecodable.is_empty() {
            self.undecodable.remove(&object.key());
        }
        self.objects.insert(object);
    }

    fn remove(&mut self, key: &ObjectKey) {
        self.undecodable.remove(key);
        self.objects.remove(&key.namespace, &key.name);
    }

    /// Records that the object's latest state did not decode. An earlier state that decoded stays (D-2).
    fn refuse(&mut self, key: ObjectKey, undecodable: Undecodable) {
        self.undecodable.insert(key, undecodable);
    }

    /// Returns the finished list, in the order of a plain list.
    fn into_list(self, resource_version: String) -> ListPage {
        let mut objects: Vec<Arc<Object>> = self.objects.iter().cloned().collect();
        objects.sort_unstable_by(|one, other| {
            (one.namespace(), one.name()).cmp(&(other.namespace(), other.name()))
        });
        ListPage {
            resource_version,
            continue_token: String::new(),
            objects,
            undecodable: self.undecodable.into_values().chain(self.unreadable).collect(),
        }
    }
}

/// The error of a streaming list that ended without its mark.
fn ended(watch: &OpenWatch) -> StreamError {
    if watch.is_very_short() { StreamError::VeryShort } else { StreamError::Unfinished }
}
