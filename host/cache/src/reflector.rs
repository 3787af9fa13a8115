//! Keeps the delta queue fed with everything that happens to one collection: list, watch, resume, relist.
//!
//! A run is one list and the watches that follow it. A watch that ends normally is reopened where it
//! ended, with no list; anything that leaves a gap, or may have, ends the run, and after a backoff the
//! next one starts with a list at the last resource version seen. Nothing here is visible to a stop:
//! whoever runs a reflector drops its future, at any await.

mod backoff;
mod consistency_check;
mod internal_error;
mod pager;
mod state;
mod streaming_list;
mod temporary_store;
mod watch;

use std::{sync::Arc, time::Duration};

use informer_types::{ObjectKey, Source, Tracer};

pub(crate) use backoff::FailureBackoff;
use consistency_check::ConsistencyCheck;
use internal_error::InternalErrorWindow;
use state::ListState;
use watch::{OpenWatch, WatchEnd};

use crate::{
    FactoryConfig, WatchListMode,
    decode::{Decoder, ListPage, Undecodable},
    delta::{Delta, DeltaKind, Replacement, Scope},
    delta_queue::DeltaSender,
    error::{ReflectorError, RequestError, chain},
    list_watch::ListWatch,
    status::{Phase, ReflectorCell},
};

/// client-go ignores shorter watches: the server pays for every reopening.
const LEAST_WATCH_TIMEOUT: Duration = Duration::from_secs(300);

/// No API server lets a watch last longer.
const MOST_WATCH_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

/// Lists and watches one collection, for as long as its future is polled.
pub(crate) struct Reflector {
    list_watch: ListWatch,
    source: Source,
    tracer: Tracer,
    decoder: Arc<Decoder>,
    deltas: DeltaSender,
    /// What came in one go and was not pushed yet; empty between watches.
    burst: Vec<Delta>,
    scope: Scope,
    cell: Arc<ReflectorCell>,
    state: ListState,
    backoff: FailureBackoff,
    internal_errors: InternalErrorWindow,
    watch_list: WatchListMode,
    check_consistency: bool,
    min_watch_timeout: Duration,
    idle_watch_timeout: Duration,
}

// === impl Reflector ===

impl Reflector {
    pub(crate) fn new(
        list_watch: ListWatch,
        decoder: Arc<Decoder>,
        deltas: DeltaSender,
        (scope, cell): (Scope, Arc<ReflectorCell>),
        config: &FactoryConfig,
    ) -> Self {
        let state = if cell.has_listed() { ListState::returning } else { ListState::new };
        Self {
            source: Source::new(list_watch.collection.gvr.clone()),
            tracer: config.tracer.clone(),
            list_watch,
            decoder,
            deltas,
            burst: Vec::new(),
            scope,
            cell,
            state: state(config.page_size),
            backoff: FailureBackoff::new(config.backoff),
            internal_errors: InternalErrorWindow::new(config.internal_error_retry),
            watch_list: config.watch_list,
            check_consistency: config.check_consistency,
            min_watch_timeout: config.min_watch_timeout.clamp(LEAST_WATCH_TIMEOUT, MOST_WATCH_TIMEOUT),
            idle_watch_timeout: config.idle_watch_timeout,
        }
    }

    /// Runs until dropped.
    ///
    /// # Cancel safety
    /// Dropping it closes the connection and loses nothing that was pushed.
    pub(crate) async fn run(mut self) {
        loop {
            let error = self.list_and_watch().await;
            self.back_off(&error).await;
        }
    }

    /// One run; returns why it ended.
    async fn list_and_watch(&mut self) -> ReflectorError {
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
                WatchEnd::ResumeLater(error) => self.back_off(&error).await,
                WatchEnd::Over(error) => return error,
            }
        }
    }

    /// Fetches the state to start from, by a streaming list if that is to be tried. The watch that it
    /// came over goes on.
    async fn first_state(&mut self) -> Result<Option<OpenWatch>, ReflectorError> {
        if self.may_stream()
            && let Some((list, watch)) = self.stream_list().await
        {
            let check = self.check_consistency.then(|| ConsistencyCheck::new(&list));
            self.replace_all(list, false).await;
            self.cell.streamed(self.state.last_version());
            if let Some(check) = check {
                self.check_consistency(&check).await?;
            }
            return Ok(Some(watch));
        }
        let full = self.list().await?;
        self.replace_all(full.list, full.paged).await;
        self.cell.listed(self.state.last_version());
        Ok(None)
    }

    /// Lists, and lists again at once where the resource version asked for is not to be had.
    async fn list(&mut self) -> Result<pager::FullList, ReflectorError> {
        self.cell.enter(Phase::Listing);
        let mut listed = self.list_once().await;
        if let Err(error) = &listed
            && error.is_version_unavailable()
        {
            tracing::debug!(resource = %self.resource(), error = %error, "resource version not available, listing the newest");
            self.state.version_unavailable();
            listed = self.list_once().await;
        }
        listed.map_err(|source| ReflectorError::List { resource: self.resource(), source })
    }

    /// Hands a whole list on; nothing of it is visible before.
    async fn replace_all(&mut self, list: ListPage, paged: bool) {
        self.state.listed(&list.resource_version, paged);
        let replacement = self.replacement(list);
        tracing::info!(
            resource = %self.resource(),
            rv = %replacement.resource_version,
            objects = replacement.objects.len(),
            "listed"
        );
        self.deltas.push(Delta::now(DeltaKind::ReplacedAll(self.scope, replacement))).await;
    }

    async fn list_once(&self) -> Result<pager::FullList, RequestError> {
        pager::list(&self.list_watch, &self.decoder, self.state.list_version(), self.state.page_limit()).await
    }

    /// Sorts out what did not decode (D-2).
    fn replacement(&self, list: ListPage) -> Replacement {
        let mut quarantined = Vec::new();
        self.cell.release_all();
        for undecodable in list.undecodable {
            quarantined.extend(self.refuse(undecodable).map(|(key, _)| key));
        }
        Replacement { resource_version: list.resource_version, objects: list.objects, quarantined }
    }

    /// Records an object that did not decode; returns its key and resource version where it belongs to this
    /// collection and says who it is.
    fn refuse(&self, undecodable: Undecodable) -> Option<(ObjectKey, String)> {
        match undecodable {
            Undecodable::Quarantined { key, resource_version, problem } => {
                let name = key.as_ref().map(ToString::to_string);
                let problem = problem.to_string();
                if self.cell.quarantine(key.clone(), problem.clone()) {
                    tracing::warn!(resource = %self.resource(), key = name, problem, "object quarantined");
                }
                key.map(|key| (key, resource_version))
            }
            foreign => {
                tracing::debug!(resource = %self.resource(), problem = %foreign, "object skipped");
                self.cell.skipped();
                None
            }
        }
    }

    /// Reports a failure and waits.
    async fn back_off(&mut self, error: &ReflectorError) {
        let delay = self.backoff.draw(error.retry_after());
        let (text, class) = (chain(error), error.class());
        tracing::warn!(
            resource = %self.resource(),
            class = class.as_str(),
            error = text,
            retry_in_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
            "reflector backs off"
        );
        self.cell.failed(text, class);
        self.cell.back_off(delay);
        tokio::time::sleep(delay).await;
    }

    fn resource(&self) -> String {
        self.list_watch.collection.name()
    }
}
