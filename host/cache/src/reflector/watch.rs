//! One watch, from its opening to its end.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use informer_types::{Object, SeenEvent, Step, WatchVerb};
use tokio::time::Instant;

use super::{
    backoff::InternalErrorWindow,
    state::ListState,
    target::{ReflectorError, Target},
};
use crate::{
    api_status::ApiStatus,
    decode::{EventError, Undecodable, WatchEvent},
    delta_queue::{Delta, DeltaKind},
    error::{Problem, RequestError},
    request::WatchOptions,
    watch_stream::{Next, WatchStream},
};

/// A watch that ends sooner than this and without an event is an error.
const VERY_SHORT: Duration = Duration::from_secs(1);

/// The shortest time from the opening of a watch to the next request, if the watch delivered no object or the server sends no
/// versions. A server may end every watch as soon as it is open. client-go has no such limit.
const REOPEN_SPACING: Duration = Duration::from_secs(1);

/// A server may end a watch this much later than requested. After that the connection counts as half open.
const GRACE: Duration = Duration::from_secs(30);

/// The maximum number of events that are pushed together: enough that the cost of a wake-up is shared, and few enough
/// that the first event waits less than a millisecond for the last.
const MAX_BURST: usize = 64;

/// The next action after a watch.
pub(super) enum WatchEnd {
    /// Reopen at the last resource version.
    Resume,
    /// Reopen at the last resource version after a backoff.
    ResumeLater(ReflectorError),
    /// Relist.
    Over(ReflectorError),
}

/// A watch that the server has accepted, and what has happened on it.
pub(super) struct OpenWatch {
    pub(super) stream: WatchStream,
    /// The time by which the server must have ended the watch.
    pub(super) deadline: Instant,
    pub(super) opened: Instant,
    /// The number of accepted events, including bookmarks.
    pub(super) accepted: u64,
    /// The number of accepted events that were objects.
    objects: u64,
    /// True while a watch that started without a resource version has sent only ADDED. These events may be a snapshot
    /// in any order, so their versions are not recorded.
    pub(super) synthetic: bool,
}

/// Follows one watch to its end.
pub(super) struct Follower<'a> {
    target: &'a Target,
    state: &'a mut ListState,
    internal_errors: &'a mut InternalErrorWindow,
    watch: OpenWatch,
    /// Deltas that arrived together and were not pushed yet.
    burst: Vec<Delta>,
}

// === impl OpenWatch ===

impl OpenWatch {
    /// Sends the request. If `initial_events` is true, a streaming list comes first.
    pub(super) async fn open(
        target: &Target,
        resource_version: &str,
        initial_events: bool,
        patience: Duration,
    ) -> Result<Self, RequestError> {
        let timeout = random_timeout(target.min_watch_timeout);
        let options = WatchOptions { resource_version, timeout, initial_events };
        let stream = target.list_watch.watch(options, patience).await?;
        let opened = Instant::now();
        let synthetic = matches!(resource_version, "" | "0");
        Ok(Self { stream, deadline: opened + timeout + GRACE, opened, accepted: 0, objects: 0, synthetic })
    }

    /// Returns true for a watch that ended within a second and without an event.
    pub(super) fn is_very_short(&self) -> bool {
        self.accepted == 0 && self.opened.elapsed() < VERY_SHORT
    }
}

// === impl Follower ===

impl<'a> Follower<'a> {
    /// Follows a watch to its end.
    pub(super) async fn run(
        watch: OpenWatch,
        target: &'a Target,
        state: &'a mut ListState,
        internal_errors: &'a mut InternalErrorWindow,
    ) -> WatchEnd {
        let mut follower = Self { target, state, internal_errors, watch, burst: Vec::new() };
        let end = follower.follow().await;
        // Without a version, each watch delivers all objects again.
        let delivered = follower.watch.objects > 0 && follower.state.can_resume();
        if matches!(end, WatchEnd::Resume) && !delivered {
            tokio::time::sleep_until(follower.watch.opened + REOPEN_SPACING).await;
        }
        end
    }

    async fn follow(&mut self) -> WatchEnd {
        loop {
            let OpenWatch { stream, deadline, .. } = &mut self.watch;
            let end = match stream.next(self.target.idle_watch_timeout, *deadline).await {
                Ok(Next::Frame(frame)) => self.burst(frame).await,
                Ok(Next::Ended) => Some(self.ended()),
                Ok(Next::Silent) => {
                    tracing::info!(resource = %self.target.resource(), "watch is silent, resuming on a new connection");
                    self.target.cell.watch_silent();
                    Some(WatchEnd::Resume)
                }
                Err(problem) => Some(self.over(problem)),
            };
            if let Some(end) = end {
                return end;
            }
        }
    }

    /// Handles a frame and the frames that arrived with it, and wakes the controller once for all of them.
    async fn burst(&mut self, first: Bytes) -> Option<WatchEnd> {
        let mut end = self.frame(&first);
        let mut yielded = false;
        while end.is_none() && self.burst.len() < MAX_BURST {
            match self.watch.stream.ready().await {
                Ok(Some(frame)) => {
                    end = self.frame(&frame);
                    yielded = false;
                }
                Ok(None) if yielded => break,
                // The connection passes on one chunk at a time and may already have the next one.
                Ok(None) => {
                    tokio::task::yield_now().await;
                    yielded = true;
                }
                Err(problem) => end = Some(self.over(problem)),
            }
        }
        // Events that came before the end of the watch are applied, however it ended.
        self.target.deltas.push_all(&mut self.burst).await;
        self.target.decoder.tend().await;
        end
    }

    fn frame(&mut self, frame: &[u8]) -> Option<WatchEnd> {
        match self.target.decoder.event(frame) {
            Ok(event) => self.accept(event),
            Err(EventError::Object { deleted, source }) => {
                self.refuse_event(deleted, source);
                None
            }
            // The connection broke in the middle of this frame.
            Err(_) if self.watch.stream.has_ended() => Some(self.ended()),
            Err(EventError::Frame(problem)) => Some(self.over(problem)),
        }
    }

    /// A watch that ended normally is resumed, unless it was very short.
    fn ended(&self) -> WatchEnd {
        if self.watch.is_very_short() {
            return WatchEnd::Over(ReflectorError::VeryShortWatch(self.target.resource()));
        }
        WatchEnd::Resume
    }

    /// Handles a decoded event. Returns `Some` if it ends the watch.
    fn accept(&mut self, event: WatchEvent) -> Option<WatchEnd> {
        let scope = self.target.scope;
        let ceiling = self.target.decoder.ceiling().for_watches();
        if matches!(event, WatchEvent::Added(_) | WatchEvent::Modified(_)) && ceiling.is_reached() {
            return Some(self.over(Problem::CacheFull(ceiling.bytes())));
        }
        match event {
            WatchEvent::Error(status) => return Some(self.error_event(status)),
            WatchEvent::Bookmark(version) | WatchEvent::InitialEventsEnd(version) => {
                self.watch.accepted += 1;
                self.watch.synthetic = false;
                self.target.cell.bookmark(&version);
                self.state.observe(&version);
                self.burst.push(Delta::now(DeltaKind::Bookmark(scope, version)));
            }
            WatchEvent::Added(object) => {
                self.object(object, WatchVerb::Added, |it| DeltaKind::Added(scope, it));
            }
            WatchEvent::Modified(object) => {
                self.watch.synthetic = false;
                self.object(object, WatchVerb::Modified, |it| DeltaKind::Updated(scope, it));
            }
            WatchEvent::Deleted(object) => {
                self.watch.synthetic = false;
                self.object(object, WatchVerb::Deleted, |it| DeltaKind::Deleted(scope, it));
            }
        }
        None
    }

    fn object(&mut self, object: Arc<Object>, verb: WatchVerb, kind: impl FnOnce(Arc<Object>) -> DeltaKind) {
        let (tracer, source) = (&self.target.tracer, &self.target.source);
        let trace = tracer.begin_event(source, || SeenEvent {
            namespace: object.namespace(),
            name: object.name(),
            verb,
            version: object.resource_version(),
        });
        tracer.note_of(source, &trace, None, || {
            (object.key(), Step::Seen { event: verb, version: object.resource_version().into() })
        });
        self.watch.accepted += 1;
        self.watch.objects += 1;
        let version = if self.watch.synthetic { "" } else { object.resource_version() };
        self.target.cell.event(version);
        // A watch from no version would begin anew and miss the deletions in between.
        if !version.is_empty() {
            self.state.observe(version);
        }
        self.burst.push(Delta::of_event(kind(object), trace));
    }

    /// Records an event whose object did not decode. The cache keeps the object's last good state until its next event
    /// (D-2).
    fn refuse_event(&mut self, deleted: bool, undecodable: Undecodable) {
        let Some((quarantined, version)) = self.target.refuse(undecodable) else {
            return;
        };
        let scope = self.target.scope;
        let Some(key) = quarantined.key.clone() else {
            self.burst.push(Delta::now(DeltaKind::Undecoded(scope, quarantined)));
            return;
        };
        self.target.tracer.note(&self.target.source, || {
            (key.clone(), Step::Undecodable { version: version.as_str().into() })
        });
        let kind = match deleted {
            true => DeltaKind::DeletedKey(scope, key),
            false => DeltaKind::Undecoded(scope, quarantined),
        };
        self.burst.push(Delta::now(kind));
        self.watch.accepted += 1;
        self.watch.objects += 1;
        if !version.is_empty() && !self.watch.synthetic {
            self.target.cell.event(&version);
            self.state.observe(&version);
            // Without this, a caller that waits for this version would wait until the next event or bookmark (I-11).
            self.burst.push(Delta::now(DeltaKind::Bookmark(scope, version)));
        }
    }

    /// Handles an ERROR event: it ends the watch, and mostly the run.
    fn error_event(&mut self, status: Box<ApiStatus>) -> WatchEnd {
        let source = self.target.status_error(status);
        let throttled = source.class().asks_for_a_pause();
        if source.is_internal_error() && self.internal_errors.may_retry() {
            tracing::debug!(resource = %self.target.resource(), error = %source, "reopening the watch");
            return WatchEnd::Resume;
        }
        let error = self.target.failed("watch", source);
        if throttled { WatchEnd::ResumeLater(error) } else { WatchEnd::Over(error) }
    }

    fn over(&self, problem: Problem) -> WatchEnd {
        WatchEnd::Over(self.target.failed("watch", self.target.list_watch.watch_error(problem)))
    }
}

/// A random watch timeout, so that the watches of many informers do not end together.
fn random_timeout(min: Duration) -> Duration {
    let min = min.as_secs();
    Duration::from_secs(fastrand::u64(min..=min.saturating_mul(2)))
}
