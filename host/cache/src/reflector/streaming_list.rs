//! A list that comes over a watch: the server sends what there is as ADDED, marks the end, and the same
//! connection goes on as the watch (KEP-3157; ).
//!
//! Against a plain list it saves the server the whole answer in memory, and us the second request. Where it
//! does not work, a plain list stands in, in the same run. Not every server says that it does not: one
//! that does not know `sendInitialEvents` just never marks the end. So patience has a bound, and with
//! [`WatchListMode::Auto`] what was found out is remembered for every informer of the factory (D-3).

use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use super::{
    Reflector,
    temporary_store::TemporaryStore,
    watch::{OpenWatch, Tally},
};
use crate::{
    WatchListMode,
    decode::{EventError, ListPage, Undecodable, WatchEvent},
    error::{Problem, ReflectorError, RequestError, chain},
    list_watch::Next,
    status::{Phase, counted},
};

/// So long a streaming list may take without having brought much.
const PATIENCE: Duration = Duration::from_secs(30);

/// How much longer for each event: a long list is no reason for a plain one, which costs the server more. A
/// server without end marks would have to send 100 changes a second to be waited for.
const PATIENCE_PER_EVENT: Duration = Duration::from_millis(10);

///
const WARN_AFTER: Duration = Duration::from_secs(10);

/// so many streaming lists may end early before a plain one takes their place (D-3).
const UNFINISHED_ALLOWED: u32 = 2;

/// Why there is no list.
#[derive(Debug, thiserror::Error)]
enum StreamError {
    /// Not opened, an ERROR event, or a frame that makes no sense.
    #[error(transparent)]
    Request(#[from] RequestError),
    ///
    #[error("it ended within a second and without an event")]
    VeryShort,
    ///
    #[error("the server ended it before marking the end of the initial events")]
    Unfinished,
    /// D-3.
    #[error("the server did not mark the end of the initial events within {} s", .0.as_secs())]
    Overdue(Duration),
}

// === impl Reflector ===

impl Reflector {
    ///
    pub(super) fn may_stream(&self) -> bool {
        match self.watch_list {
            WatchListMode::Off => false,
            WatchListMode::On => true,
            WatchListMode::Auto => {
                let api_root = self.list_watch.collection.gvr.api_root();
                let reason = self.list_watch.transport.watch_list_support.reason(&api_root);
                reason.map(|reason| self.cell.plain_lists_because(reason)).is_none()
            }
        }
    }

    /// Streams a list, with as many tries as make sense; none where a plain list has to do.
    pub(super) async fn stream_list(&mut self) -> Option<(ListPage, OpenWatch)> {
        let mut unfinished = 0;
        loop {
            let error = match self.stream_once().await {
                Ok(streamed) => return Some(streamed),
                Err(error) => error,
            };
            unfinished += u32::from(matches!(error, StreamError::Unfinished));
            match error {
                // at once, at the newest version.
                StreamError::Request(source)
                    if source.is_version_unavailable() && self.state.version_unavailable() =>
                {
                    tracing::debug!(resource = %self.resource(), error = %source, "resource version not available, streaming the newest");
                }
                //
                StreamError::Request(source) if source.is_passing() => {
                    self.back_off(&ReflectorError::List { resource: self.resource(), source }).await;
                }
                StreamError::Unfinished if unfinished < UNFINISHED_ALLOWED => {
                    self.back_off(&ReflectorError::UnfinishedList { resource: self.resource() }).await;
                }
                error => {
                    self.give_up_streaming(&error);
                    return None;
                }
            }
        }
    }

    /// R-45, and D-3 where the failure says something about the server.
    fn give_up_streaming(&self, error: &StreamError) {
        let reason = format!("the streaming list failed: {}", chain(error));
        let lacking = match error {
            StreamError::Unfinished | StreamError::Overdue(_) => true,
            StreamError::Request(source) => source.is_unsupported(),
            StreamError::VeryShort => false,
        };
        self.cell.fell_back(format!("{reason}; waiting for a plain list"));
        if !lacking {
            // If it is not over, the plain list will say so.
            tracing::info!(resource = %self.resource(), reason, "falling back to a plain list");
            return;
        }
        tracing::warn!(resource = %self.resource(), reason, "falling back to a plain list");
        if self.watch_list == WatchListMode::Auto {
            let api_root = self.list_watch.collection.gvr.api_root();
            self.list_watch.transport.watch_list_support.lacks(api_root, reason.clone());
        }
        self.cell.plain_lists_because(reason);
    }

    /// One streaming list, from nothing.
    async fn stream_once(&mut self) -> Result<(ListPage, OpenWatch), StreamError> {
        self.cell.enter(Phase::Listing);
        let version = self.state.stream_version().to_owned();
        let mut watch = self.open_watch(&version, true, PATIENCE).await?;
        tracing::debug!(resource = %self.resource(), rv = version, "streaming the list");
        let mut store = TemporaryStore::default();
        loop {
            let frame = self.next_frame(&mut watch).await?;
            let event = match self.decoder.event(&frame) {
                Ok(event) => event,
                Err(EventError::Object { deleted, source }) => {
                    self.refuse_initial(&mut store, &mut watch.tally, deleted, source);
                    continue;
                }
                // The connection broke in the middle of this frame.
                Err(_) if watch.stream.has_ended() => return Err(ended(&watch.tally)),
                Err(EventError::NotJson(error)) => return Err(self.stream_error(Problem::NotJson(error))),
                Err(unknown) => return Err(self.stream_error(Problem::Unexpected(unknown.to_string()))),
            };
            self.decoder.train().await;
            watch.tally.accepted += 1;
            match event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => store.set(object),
                WatchEvent::Deleted(object) => store.remove(&object.key()),
                WatchEvent::Bookmark(_) => {}
                WatchEvent::Error(status) => return Err(self.status_error(status).into()),
                WatchEvent::InitialEventsEnd(version) => {
                    watch.tally.synthetic = false;
                    return Ok((store.into_list(version), watch));
                }
            }
        }
    }

    /// The next frame, if it comes within reason; warns while none comes.
    async fn next_frame(&self, watch: &mut OpenWatch) -> Result<Bytes, StreamError> {
        let events = u32::try_from(watch.tally.accepted).unwrap_or(u32::MAX);
        let patience = PATIENCE.saturating_add(PATIENCE_PER_EVENT.saturating_mul(events));
        let deadline = watch.deadline.min(watch.tally.opened + patience);
        loop {
            let next = watch.stream.next(WARN_AFTER, deadline).await;
            let next = next.map_err(|too_long| self.stream_error(Problem::TooLong(too_long.0)))?;
            match next {
                Next::Ended => return Err(ended(&watch.tally)),
                _ if Instant::now() >= deadline => return Err(StreamError::Overdue(patience)),
                Next::Frame(frame) => return Ok(frame),
                Next::Silent => {
                    let reason = format!(
                        "the streaming list has not ended: {} so far, and none for {} s",
                        counted(watch.tally.accepted, "event"),
                        WARN_AFTER.as_secs()
                    );
                    tracing::warn!(resource = %self.resource(), reason, "unsynced");
                    self.cell.unsynced_because(reason);
                }
            }
        }
    }

    /// D-2: what cannot be told by its key is reported now, the rest with the list.
    fn refuse_initial(
        &self,
        store: &mut TemporaryStore,
        tally: &mut Tally,
        deleted: bool,
        undecodable: Undecodable,
    ) {
        let Undecodable::Quarantined { key: Some(key), .. } = &undecodable else {
            self.refuse(undecodable);
            return;
        };
        tally.accepted += 1;
        if deleted {
            store.remove(key);
        } else {
            store.refuse(key.clone(), undecodable);
        }
    }

    fn stream_error(&self, problem: Problem) -> StreamError {
        self.list_watch.watch_error(problem).into()
    }
}

/// A streaming list ended without its mark.
fn ended(tally: &Tally) -> StreamError {
    if tally.is_very_short() { StreamError::VeryShort } else { StreamError::Unfinished }
}
