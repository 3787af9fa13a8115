//! One open watch: a cursor over the history of a collection.
//!
//! There is no queue between writers and watches, because the history is the buffer: each watch reads from its own
//! position, and writers never wait. If a watch is so slow that its position is forgotten, it sends a 410 and ends.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::time::{Instant, Interval, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use crate::{
    encode,
    negotiate::View,
    registry::Resource,
    selector::Filter,
    status::ApiError,
    storage::{Collection, Event, EventKind, Stored},
};

/// How many changes a watch takes from the history at once. Larger batches take the lock less often, but keep more
/// objects in memory that the history has forgotten.
const BATCH: usize = 128;

/// The parameters of a watch.
#[derive(Debug)]
pub(crate) struct WatchOptions {
    pub(crate) filter: Filter,
    pub(crate) view: View,
    /// The time between two bookmarks. `None` means that the client did not request bookmarks.
    pub(crate) bookmark_interval: Option<Duration>,
    pub(crate) timeout: Duration,
    /// Objects that are sent as ADDED before all changes.
    pub(crate) initial: VecDeque<Arc<Stored>>,
    /// If true, a bookmark marks the end of the initial objects.
    pub(crate) mark_initial_end: bool,
    /// The watch sends the changes after this version.
    pub(crate) after: u64,
}

/// An open watch. [`next`](Self::next) returns its frames one by one.
#[derive(Debug)]
pub(crate) struct Watch {
    resource: Arc<Resource>,
    collection: Arc<Collection>,
    options: WatchOptions,
    pending: VecDeque<Arc<Event>>,
    cursor: u64,
    changed: tokio::sync::watch::Receiver<u64>,
    bookmarks: Option<Interval>,
    bookmark_due: bool,
    deadline: Instant,
    ended: CancellationToken,
    failed: bool,
}

/// Why a waiting watch continues.
enum Wake {
    Ended,
    Bookmark,
    Changed,
}

// === impl Watch ===

impl Watch {
    pub(crate) fn open(
        resource: Arc<Resource>,
        collection: Arc<Collection>,
        options: WatchOptions,
        ended: CancellationToken,
    ) -> Self {
        let bookmarks = options.bookmark_interval.map(|period| {
            let mut interval = tokio::time::interval_at(Instant::now() + period, period);
            interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
            interval
        });
        Self {
            resource,
            changed: collection.subscribe(),
            collection,
            pending: VecDeque::new(),
            cursor: options.after,
            bookmarks,
            bookmark_due: false,
            deadline: Instant::now() + options.timeout,
            options,
            ended,
            failed: false,
        }
    }

    /// The next frame. Returns `None` after the timeout, at shutdown, when the resource is no longer served, and after an
    /// `ERROR` frame.
    ///
    /// # Cancel safety
    /// Dropping the future loses no frame.
    pub(crate) async fn next(&mut self) -> Option<Bytes> {
        loop {
            if self.failed || self.is_over() {
                return None;
            }
            // Check this before reading the history, so that the last changes are sent before the end.
            let closed = self.collection.closed.is_cancelled();
            if let Some(frame) = self.ready() {
                return Some(frame);
            }
            if closed {
                return None;
            }
            match self.wait().await {
                Wake::Ended => return None,
                Wake::Bookmark => self.bookmark_due = true,
                Wake::Changed => {}
            }
        }
    }

    fn is_over(&self) -> bool {
        self.ended.is_cancelled() || Instant::now() >= self.deadline
    }

    /// The next frame. Returns `None` if the watch must wait for it.
    fn ready(&mut self) -> Option<Bytes> {
        while let Some(object) = self.options.initial.pop_front() {
            if self.options.filter.matches(&object) {
                return Some(encode::initial(&self.resource, self.options.view, &object));
            }
        }
        if std::mem::take(&mut self.options.mark_initial_end) {
            return Some(encode::bookmark(&self.resource, self.options.view, self.cursor, true));
        }
        loop {
            while let Some(event) = self.pending.pop_front() {
                if let Some(frame) = self.frame(&event) {
                    return Some(frame);
                }
            }
            // Mark the version as seen before reading, so that a concurrent change wakes the watch again.
            self.changed.borrow_and_update();
            let Some((events, complete_to)) = self.collection.changes_after(self.cursor, BATCH) else {
                return Some(self.fall_behind());
            };
            if complete_to < self.cursor {
                // The client started at a future version, which no bookmark may claim yet.
                return None;
            }
            self.cursor = complete_to;
            if events.is_empty() {
                break;
            }
            self.pending = events.into();
        }
        std::mem::take(&mut self.bookmark_due)
            .then(|| encode::bookmark(&self.resource, self.options.view, self.cursor, false))
    }

    async fn wait(&mut self) -> Wake {
        let bookmark = async {
            match &mut self.bookmarks {
                Some(interval) => {
                    interval.tick().await;
                }
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.ended.cancelled() => Wake::Ended,
            () = self.collection.closed.cancelled() => Wake::Changed,
            () = tokio::time::sleep_until(self.deadline) => Wake::Ended,
            () = bookmark => Wake::Bookmark,
            changed = self.changed.changed() => if changed.is_ok() { Wake::Changed } else { Wake::Ended },
        }
    }

    /// The frame of a change: its kind depends on whether the old and the new state match the selectors.
    fn frame(&self, event: &Event) -> Option<Bytes> {
        let matches = |state: &Option<Arc<Stored>>| {
            state.as_ref().is_some_and(|object| self.options.filter.matches(object))
        };
        let kind = match (matches(&event.before), matches(&event.after)) {
            (false, true) => EventKind::Added,
            (true, true) => EventKind::Modified,
            (true, false) => EventKind::Deleted,
            (false, false) => return None,
        };
        encode::change(&self.resource, self.options.view, event, kind)
    }

    fn fall_behind(&mut self) -> Bytes {
        self.failed = true;
        let error = ApiError::expired(format!("too old resource version: {}", self.cursor));
        encode::failure(error.document())
    }
}

#[cfg(test)]
mod tests;
