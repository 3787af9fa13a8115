//! The collection that a reflector follows, where it reports, and why a run of it ends.

use std::{sync::Arc, time::Duration};

use informer_types::{Source, Tracer, excerpt};

use crate::{
    ErrorClass, FactoryConfig,
    api_status::ApiStatus,
    decode::{Decoder, Undecodable},
    delta_queue::{DeltaSender, Quarantined, Scope},
    discovery::DiscoveryError,
    error::{Problem, RequestError, SHOWN_BYTES},
    list_watch::ListWatch,
    status::ReflectorCell,
};

/// client-go ignores shorter timeouts too, because the server pays for every reopening.
const SHORTEST_WATCH_TIMEOUT: Duration = Duration::from_secs(300);

/// A longer timeout has no use. The limit keeps the deadline of a watch far from an overflow.
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

/// Why a run of the reflector ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReflectorError {
    /// The list failed, or the watch was not opened or ended with an error after which it cannot be resumed.
    #[error("cannot {verb} {resource}")]
    Request { verb: &'static str, resource: String, source: RequestError },
    /// The watch ended within a second and without an event.
    #[error(
        "the watch of {0} ended within a second and without an event; a proxy that cuts off long answers may be the cause"
    )]
    VeryShortWatch(String),
    /// The streaming list ended before its end mark.
    #[error("the streaming list of {0} ended before the server marked its end")]
    UnfinishedList(String),
    /// The streaming list and a plain list of the same resource version differ.
    #[error(
        "the streaming list of {resource} and a plain one, both at {resource_version}, differ: {difference}"
    )]
    Inconsistent { resource: String, resource_version: String, difference: String },
    /// The lookup of the resource failed, or the resource cannot be watched.
    #[error(transparent)]
    Discovery(#[from] DiscoveryError),
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
            source: Source::new(list_watch.collection.informer.gvr.clone()),
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

    /// Counts and logs an object that did not decode. Returns the object, which the controller puts in quarantine, and its resource
    /// version. Returns `None` if the object does not belong to this collection.
    pub(super) fn refuse(&self, undecodable: Undecodable) -> Option<(Quarantined, String)> {
        match undecodable {
            Undecodable::Quarantined { key, resource_version, problem } => {
                // The error of a parser may quote a string of any length, and the status keeps the text of the error.
                let problem = excerpt(&problem.to_string(), SHOWN_BYTES).to_string();
                if self.cell.refused(key.as_ref()) {
                    let name = key.as_ref().map(ToString::to_string);
                    tracing::warn!(resource = %self.resource(), key = name, problem, "object quarantined");
                }
                Some((Quarantined { key, problem }, resource_version))
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

    /// The end of a run because a request failed.
    pub(super) fn failed(&self, verb: &'static str, source: RequestError) -> ReflectorError {
        ReflectorError::Request { verb, resource: self.resource(), source }
    }
}

// === impl ReflectorError ===

impl ReflectorError {
    pub(crate) fn class(&self) -> ErrorClass {
        match self {
            Self::Request { source, .. } => source.class(),
            Self::VeryShortWatch(_) => ErrorClass::VeryShortWatch,
            Self::UnfinishedList(_) => ErrorClass::UnfinishedList,
            Self::Inconsistent { .. } => ErrorClass::Inconsistent,
            Self::Discovery(source) => source.class(),
        }
    }

    /// The pause that the server asked for.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Request { source, .. } => source.retry_after(),
            Self::Discovery(source) => source.retry_after(),
            Self::VeryShortWatch(_) | Self::UnfinishedList(_) | Self::Inconsistent { .. } => None,
        }
    }
}
