//! The counters that all instances of one plugin share. Each capability defines its own counters; this module only collects them.

use std::sync::Arc;

use crate::{
    capabilities::{client::ClientCounters, http::Traffic, keyvalue::KeyValueCounters, metrics::Registry},
    counter::Counter,
    output::OutputCounters,
};

/// The counters that all instances of a plugin share, over all its versions.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) instances: InstanceCounters,
    pub(crate) output: Arc<OutputCounters>,
    pub(crate) client: ClientCounters,
    pub(crate) http: Arc<Traffic>,
    pub(crate) keyvalue: KeyValueCounters,
    pub(crate) metrics: Registry,
}

/// Counters of instances, and of their calls to the host.
#[derive(Debug, Default)]
pub(crate) struct InstanceCounters {
    pub(crate) created: Counter,
    /// Instances that were dropped because of what a call did.
    pub(crate) retired: Counter,
    /// Calls of guests to the host.
    pub(crate) host_calls: Counter,
    /// Bytes of data that guests received from the host, without the bodies of HTTP answers.
    pub(crate) received_bytes: Counter,
    /// Bytes of data that guests passed to the host, without logs and the bodies of HTTP requests.
    pub(crate) sent_bytes: Counter,
}
