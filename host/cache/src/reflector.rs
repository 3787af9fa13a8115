//! Feeds the delta queue with all changes of one collection: lists, watches, resumes and relists.
//!
//! A run is one list and the watches that follow it. A watch that ends normally is reopened where it ended,
//! without a list. If the server sends no versions, a list precedes each watch. Anything that leaves a gap, or may
//! leave one, ends the run; after a backoff the next run starts with a list at the last resource version seen. A
//! reflector is stopped by dropping its future, at any await.

mod backoff;
mod consistency_check;
mod state;
mod streaming_list;
mod target;
mod watch;

use std::time::Duration;

pub(crate) use backoff::FailureBackoff;
pub(crate) use target::{ReflectorError, Target};

use backoff::InternalErrorWindow;
use consistency_check::ConsistencyCheck;
use state::ListState;
use streaming_list::StreamingList;
use watch::{Follower, OpenWatch, WatchEnd};

use crate::{
    FactoryConfig, WatchListMode,
    decode::ListPage,
    delta_queue::{Delta, DeltaKind, Replacement},
    error::RequestError,
    status::Phase,
};

/// Lists and watches one collection while its future is polled.
pub(crate) struct Reflector {
    target: Target,
    state: ListState,
    backoff: FailureBackoff,
    internal_errors: InternalErrorWindow,
    watch_list: WatchListMode,
    check_consistency: bool,
}

// === impl Reflector ===

impl Reflector {
    pub(crate) fn new(target: Target, config: &FactoryConfig) -> Self {
        let state = if target.cell.has_listed() { ListState::returning } else { ListState::new };
        Self {
            target,
            state: state(config.page_size),
            backoff: FailureBackoff::new(config.backoff),
            internal_errors: InternalErrorWindow::new(config.internal_error_retry),
            watch_list: config.watch_list,
            check_consistency: config.check_consistency,
        }
    }

    /// Runs until dropped.
    ///
    /// # Cancel safety
    /// If the future is dropped, the connection is closed, and no delta that was pushed is lost.
    pub(crate) async fn run(mut self) {
        loop {
            let error = self.list_and_watch().await;
            self.backoff.wait_after(&error, &self.target).await;
        }
    }

    /// One run. Returns the reason for its end.
    async fn list_and_watch(&mut self) -> ReflectorError {
        loop {
            let mut streamed = match self.first_state().await {
                Ok(streamed) => streamed,
                Err(error) => return error,
            };
            loop {
                let end = match streamed.take() {
                    Some(watch) => self.run_watch(watch).await,
                    None => self.watch().await,
                };
                match end {
                    WatchEnd::Resume => {}
                    WatchEnd::ResumeLater(error) => self.backoff.wait_after(&error, &self.target).await,
                    WatchEnd::Over(error) => return error,
                }
                // Some aggregated API servers send no versions. Only a list finds what was deleted between two watches.
                if !self.state.can_resume() {
                    break;
                }
            }
        }
    }

    /// Fetches the state to start from, with a streaming list if possible. The connection of a streaming list
    /// continues as the watch, which is returned.
    async fn first_state(&mut self) -> Result<Option<OpenWatch>, ReflectorError> {
        let mut streaming = StreamingList {
            target: &self.target,
            state: &mut self.state,
            backoff: &mut self.backoff,
            mode: self.watch_list,
        };
        if streaming.is_wanted()
            && let Some((list, watch)) = streaming.fetch().await
        {
            let check = self.check_consistency.then(|| ConsistencyCheck::new(&list));
            self.replace_all(list, false).await;
            self.target.cell.streamed(self.state.last_version());
            if let Some(check) = check {
                check.run(&self.target).await?;
            }
            return Ok(Some(watch));
        }
        let (list, paged) = self.list().await?;
        self.replace_all(list, paged).await;
        self.target.cell.listed(self.state.last_version());
        Ok(None)
    }

    /// Lists. If the requested resource version is not available, lists the newest state at once.
    async fn list(&mut self) -> Result<(ListPage, bool), ReflectorError> {
        self.target.cell.enter(Phase::Listing);
        let mut listed = self.list_once().await;
        if let Err(error) = &listed
            && error.is_version_unavailable()
        {
            tracing::debug!(resource = %self.target.resource(), error = %error, "resource version not available, listing the newest");
            self.state.version_unavailable();
            listed = self.list_once().await;
        }
        listed.map_err(|source| self.target.failed("list", source))
    }

    /// Pushes a whole list. No part of it is visible before.
    async fn replace_all(&mut self, list: ListPage, paged: bool) {
        self.state.listed(&list.resource_version, paged);
        let replacement = self.replacement(list);
        self.target.decoder.listed(&replacement.objects);
        tracing::info!(
            resource = %self.target.resource(),
            rv = %replacement.resource_version,
            objects = replacement.objects.len(),
            "listed"
        );
        self.target.deltas.push(Delta::now(DeltaKind::ReplacedAll(self.target.scope, replacement))).await;
    }

    async fn list_once(&self) -> Result<(ListPage, bool), RequestError> {
        let Target { list_watch, decoder, .. } = &self.target;
        list_watch.list(decoder, self.state.list_version(), self.state.page_limit()).await
    }

    /// Separates the objects that did not decode (D-2).
    fn replacement(&self, list: ListPage) -> Replacement {
        let refused = list.undecodable.into_iter().filter_map(|undecodable| self.target.refuse(undecodable));
        let quarantined = refused.map(|(quarantined, _)| quarantined).collect();
        Replacement { resource_version: list.resource_version, objects: list.objects, quarantined }
    }

    /// Opens a watch at the last resource version and follows it to its end.
    async fn watch(&mut self) -> WatchEnd {
        let version = self.state.last_version().to_owned();
        let watch = match OpenWatch::open(&self.target, &version, false, Duration::MAX).await {
            Ok(watch) => watch,
            Err(source) => return self.not_opened(source),
        };
        self.target.cell.watch_opened();
        tracing::debug!(resource = %self.target.resource(), rv = version, "watching");
        self.run_watch(watch).await
    }

    async fn run_watch(&mut self, watch: OpenWatch) -> WatchEnd {
        self.backoff.healthy();
        Follower::run(watch, &self.target, &mut self.state, &mut self.internal_errors).await
    }

    /// After a failure that passes by itself there is no gap, so the watch is resumed; after any other a list is needed
    ///
    fn not_opened(&self, source: RequestError) -> WatchEnd {
        let resume = source.is_passing();
        let error = self.target.failed("watch", source);
        if resume { WatchEnd::ResumeLater(error) } else { WatchEnd::Over(error) }
    }
}
