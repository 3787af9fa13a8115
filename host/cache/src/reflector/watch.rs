//! One watch, from its opening to its end.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use informer_types::{Object, Step, WatchVerb};
use tokio::time::Instant;

use super::Reflector;
use crate::{
    api_status::ApiStatus,
    decode::{EventError, Undecodable, WatchEvent},
    delta::{Delta, DeltaKind},
    error::{ErrorClass, Problem, ReflectorError, RequestError},
    list_watch::{Next, WatchStream},
    request::WatchOptions,
};

/// ending sooner, without an event, is an error.
const VERY_SHORT: Duration = Duration::from_secs(1);

/// A server that ends watches as soon as they are open is not asked more often than this, unless objects came
/// (weakness 22 of client-go).
const REOPEN_SPACING: Duration = Duration::from_secs(1);

/// How much later than asked a server may end a watch before the connection counts as half open.
const GRACE: Duration = Duration::from_secs(30);

/// Events that are pushed in one go where so many have come: enough that a wake-up costs each little, few enough
/// that the first does not wait a millisecond for the last.
const MAX_BURST: usize = 64;

/// What follows a watch.
pub(super) enum WatchEnd {
    /// Reopen at the last resource version.
    Resume,
    /// The same after a backoff.
    ResumeLater(ReflectorError),
    /// Relist.
    Over(ReflectorError),
}

/// A watch that the server has answered.
pub(super) struct OpenWatch {
    pub(super) stream: WatchStream,
    /// When the server must have ended it.
    pub(super) deadline: Instant,
    pub(super) tally: Tally,
}

/// What happened on one watch so far.
pub(super) struct Tally {
    pub(super) opened: Instant,
    /// Accepted events, bookmarks included.
    pub(super) accepted: u64,
    /// Those that were objects.
    pub(super) objects: u64,
    /// the watch started without a resource version, and only ADDED came since; they may be a snapshot
    /// in any order.
    pub(super) synthetic: bool,
}

// === impl Reflector ===

impl Reflector {
    /// Opens a watch at the last resource version and follows it to its end.
    pub(super) async fn watch(&mut self) -> WatchEnd {
        let version = self.state.last_version().to_owned();
        let watch = match self.open_watch(&version, false, Duration::MAX).await {
            Ok(watch) => watch,
            Err(source) => return self.not_opened(source),
        };
        self.cell.watch_opened();
        tracing::debug!(resource = %self.resource(), rv = version, "watching");
        self.run_watch(watch).await
    }

    /// Sends the request, with a streaming list first if `initial_events` says so.
    pub(super) async fn open_watch(
        &self,
        resource_version: &str,
        initial_events: bool,
        patience: Duration,
    ) -> Result<OpenWatch, RequestError> {
        let timeout = random_timeout(self.min_watch_timeout);
        let options = WatchOptions { resource_version, timeout, initial_events };
        let stream = self.list_watch.watch(options, patience).await?;
        let opened = Instant::now();
        let synthetic = matches!(resource_version, "" | "0");
        let tally = Tally { opened, accepted: 0, objects: 0, synthetic };
        Ok(OpenWatch { stream, deadline: opened + timeout + GRACE, tally })
    }

    /// Follows a watch to its end.
    pub(super) async fn run_watch(&mut self, watch: OpenWatch) -> WatchEnd {
        let OpenWatch { mut stream, deadline, mut tally } = watch;
        self.backoff.healthy();
        let end = self.follow(&mut stream, deadline, &mut tally).await;
        if matches!(end, WatchEnd::Resume) && tally.objects == 0 {
            tokio::time::sleep_until(tally.opened + REOPEN_SPACING).await;
        }
        end
    }

    /// what passes by itself leaves no gap; after anything else a list is needed.
    fn not_opened(&self, source: RequestError) -> WatchEnd {
        let resume = source.is_passing();
        let error = ReflectorError::Watch { resource: self.resource(), source };
        if resume { WatchEnd::ResumeLater(error) } else { WatchEnd::Over(error) }
    }

    async fn follow(&mut self, stream: &mut WatchStream, deadline: Instant, tally: &mut Tally) -> WatchEnd {
        loop {
            let end = match stream.next(self.idle_watch_timeout, deadline).await {
                Ok(Next::Frame(frame)) => self.burst(frame, stream, tally).await,
                Ok(Next::Ended) => Some(self.ended(tally)),
                Ok(Next::Silent) => {
                    tracing::info!(resource = %self.resource(), "watch is silent, resuming on a new connection");
                    self.cell.watch_silent();
                    Some(WatchEnd::Resume)
                }
                Err(too_long) => Some(self.over(Problem::TooLong(too_long.0))),
            };
            if let Some(end) = end {
                return end;
            }
        }
    }

    /// Takes in a frame and those that came with it; wakes the controller once for all of them.
    async fn burst(&mut self, first: Bytes, stream: &mut WatchStream, tally: &mut Tally) -> Option<WatchEnd> {
        let mut end = self.frame(&first, stream, tally);
        let mut yielded = false;
        while end.is_none() && self.burst.len() < MAX_BURST {
            match stream.ready().await {
                Ok(Some(frame)) => {
                    end = self.frame(&frame, stream, tally);
                    yielded = false;
                }
                Ok(None) if yielded => break,
                // The connection hands over one piece at a time: it may have the next one.
                Ok(None) => {
                    tokio::task::yield_now().await;
                    yielded = true;
                }
                Err(too_long) => end = Some(self.over(Problem::TooLong(too_long.0))),
            }
        }
        // Whatever ended the watch, what came before it counts.
        self.deltas.push_all(&mut self.burst).await;
        self.decoder.train().await;
        end
    }

    fn frame(&mut self, frame: &[u8], stream: &WatchStream, tally: &mut Tally) -> Option<WatchEnd> {
        match self.decoder.event(frame) {
            Ok(event) => self.accept(event, tally),
            Err(EventError::Object { deleted, source }) => {
                self.refuse_event(deleted, source, tally);
                None
            }
            // The connection broke in the middle of this frame.
            Err(_) if stream.has_ended() => Some(self.ended(tally)),
            Err(EventError::NotJson(error)) => Some(self.over(Problem::NotJson(error))),
            Err(unknown) => Some(self.over(Problem::Unexpected(unknown.to_string()))),
        }
    }

    ///
    fn ended(&self, tally: &Tally) -> WatchEnd {
        if tally.is_very_short() {
            return WatchEnd::Over(ReflectorError::VeryShortWatch { resource: self.resource() });
        }
        WatchEnd::Resume
    }

    ///
    fn accept(&mut self, event: WatchEvent, tally: &mut Tally) -> Option<WatchEnd> {
        let scope = self.scope;
        match event {
            WatchEvent::Error(status) => return Some(self.error_event(status)),
            WatchEvent::Bookmark(version) | WatchEvent::InitialEventsEnd(version) => {
                tally.accepted += 1;
                tally.synthetic = false;
                self.cell.bookmark(&version);
                self.state.observe(&version);
                self.burst.push(Delta::now(DeltaKind::Bookmark(scope, version)));
            }
            WatchEvent::Added(object) => {
                self.object(object, tally, WatchVerb::Added, |it| DeltaKind::Added(scope, it));
            }
            WatchEvent::Modified(object) => {
                tally.synthetic = false;
                self.object(object, tally, WatchVerb::Modified, |it| DeltaKind::Updated(scope, it));
            }
            WatchEvent::Deleted(object) => {
                tally.synthetic = false;
                self.object(object, tally, WatchVerb::Deleted, |it| DeltaKind::Deleted(scope, it));
            }
        }
        None
    }

    fn object(
        &mut self,
        object: Arc<Object>,
        tally: &mut Tally,
        verb: WatchVerb,
        kind: impl FnOnce(Arc<Object>) -> DeltaKind,
    ) {
        self.cell.release(|| object.key());
        self.tracer.note(&self.source, || {
            (object.key(), Step::Seen { event: verb, version: object.resource_version().into() })
        });
        tally.accepted += 1;
        tally.objects += 1;
        if tally.synthetic {
            self.cell.event("");
        } else {
            self.cell.event(object.resource_version());
            self.state.observe(object.resource_version());
        }
        self.burst.push(Delta::now(kind(object)));
    }

    /// D-2: the event is not lost silently; what the cache has of the object stays until its next event.
    fn refuse_event(&mut self, deleted: bool, undecodable: Undecodable, tally: &mut Tally) {
        let Some((key, version)) = self.refuse(undecodable) else {
            return;
        };
        self.tracer
            .note(&self.source, || (key.clone(), Step::Undecodable { version: version.as_str().into() }));
        if deleted {
            self.cell.release(|| key.clone());
            self.burst.push(Delta::now(DeltaKind::DeletedKey(self.scope, key)));
        }
        tally.accepted += 1;
        tally.objects += 1;
        if !version.is_empty() && !tally.synthetic {
            self.cell.event(&version);
            self.state.observe(&version);
            // I-11: who waits for this version would wait in vain for its object.
            self.burst.push(Delta::now(DeltaKind::Bookmark(self.scope, version)));
        }
    }

    ///
    fn error_event(&mut self, status: Box<ApiStatus>) -> WatchEnd {
        let source = self.status_error(status);
        let throttled = source.class() == ErrorClass::Throttled;
        if source.is_internal_error() && self.internal_errors.may_retry() {
            tracing::debug!(resource = %self.resource(), error = %source, "reopening the watch");
            return WatchEnd::Resume;
        }
        let error = ReflectorError::Watch { resource: self.resource(), source };
        if throttled { WatchEnd::ResumeLater(error) } else { WatchEnd::Over(error) }
    }

    pub(super) fn status_error(&self, status: Box<ApiStatus>) -> RequestError {
        let code = http::StatusCode::from_u16(status.code).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
        self.list_watch.watch_error(Problem::Status { code, status, retry_after: None })
    }

    fn over(&self, problem: Problem) -> WatchEnd {
        let source = self.list_watch.watch_error(problem);
        WatchEnd::Over(ReflectorError::Watch { resource: self.resource(), source })
    }
}

// === impl Tally ===

impl Tally {
    /// R-20, of a watch that has ended.
    pub(super) fn is_very_short(&self) -> bool {
        self.accepted == 0 && self.opened.elapsed() < VERY_SHORT
    }
}

/// spread, so that the watches of many informers do not end together.
fn random_timeout(min: Duration) -> Duration {
    let min = min.as_secs();
    Duration::from_secs(fastrand::u64(min..=min.saturating_mul(2)))
}
