//! The collection that a reflector follows, and where it reports.

use std::{sync::Arc, time::Duration};

use informer_types::{ObjectKey, Source, Tracer};

use super::error::ReflectorError;
use crate::{
    FactoryConfig,
    api_status::ApiStatus,
    decode::{Decoder, Undecodable},
    delta::Scope,
    delta_queue::DeltaSender,
    error::{Problem, RequestError},
    list_watch::ListWatch,
    status::ReflectorCell,
};

/// client-go ignores shorter timeouts too, because the server pays for every reopening.
const SHORTEST_WATCH_TIMEOUT: Duration = Duration::from_secs(300);

/// No API server lets a watch last longer.
const LONGEST_WATCH_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

/// One collection, the queue for its deltas, and the cell for its status.
pub(crate) struct Target {
    pub(super) list_watch: ListWatch,
    pub(super) source: Source,
    pub(super) tracer: Tracer,
    pub(super) decoder: Arc<Decoder>,
    pub(super) deltas: DeltaSender,
    pub(super) scope: Scope,
    pub(super) cell: Arc<ReflectorCell>,
    pub(super) min_watch_timeout: Duration,
    pub(super) idle_watch_timeout: Duration,
}

// === impl Target ===

impl Target {
    pub(crate) fn new(
        list_watch: ListWatch,
        decoder: Arc<Decoder>,
        deltas: DeltaSender,
        scope: Scope,
        cell: Arc<ReflectorCell>,
        config: &FactoryConfig,
    ) -> Self {
        Self {
            source: Source::new(list_watch.collection.gvr.clone()),
            tracer: config.tracer.clone(),
            list_watch,
            decoder,
            deltas,
            scope,
            cell,
            min_watch_timeout: config.min_watch_timeout.clamp(SHORTEST_WATCH_TIMEOUT, LONGEST_WATCH_TIMEOUT),
            idle_watch_timeout: config.idle_watch_timeout,
        }
    }

    /// The name of the collection in logs and error texts.
    pub(super) fn resource(&self) -> String {
        self.list_watch.collection.name()
    }

    /// Records an object that did not decode. Returns its key and resource version if it belongs to this collection and
    /// its key is readable.
    pub(super) fn refuse(&self, undecodable: Undecodable) -> Option<(ObjectKey, String)> {
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

    /// The error of an ERROR event.
    pub(super) fn status_error(&self, status: Box<ApiStatus>) -> RequestError {
        self.list_watch.watch_error(Problem::of_status(status))
    }

    /// The end of a run because the watch failed.
    pub(super) fn watch_failed(&self, source: RequestError) -> ReflectorError {
        ReflectorError::Watch { resource: self.resource(), source }
    }
}
