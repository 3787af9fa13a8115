//! The configuration of a plugin: its grants and limits. It is valid already; `host` parses and validates the TOML.

use std::{
    collections::BTreeMap,
    num::{NonZeroU32, NonZeroU64, NonZeroUsize},
    sync::Arc,
    time::Duration,
};

use informer_types::{Gvr, ReadGrants, Reads, SecretGrants, WriteGrants};

use crate::capabilities::HttpGrant;

/// The configuration of a plugin: everything but its code.
#[derive(Clone, Debug, PartialEq)]
pub struct PluginConfig {
    /// The name in the configuration.
    pub name: Arc<str>,
    /// The argument of `start`: a JSON object as text.
    pub config_json: String,
    /// What the plugin may access.
    pub grants: Grants,
    /// The parts of objects that the plugin declares to read, by resource. It reads whole objects of a resource that is not in the map.
    pub reads: BTreeMap<Gvr, Reads>,
    /// How much the plugin may use.
    pub limits: Limits,
    /// How long an instance lives.
    pub instance: InstancePolicy,
    /// The most instances, and so the most calls at a time; more calls wait. During a reload the first instance of the new
    /// version is one more.
    pub instances: NonZeroUsize,
    /// The trial of a new version.
    pub trial: TrialConfig,
}

/// The trial of a new version. The plugin goes back to the last good version if more than `share` of the first `calls` calls fail, or if
/// the first five calls all fail.
///
/// A call fails if it traps, exceeds its deadline, its memory or its number of calls to the host, or if `start` fails. A call whose handler
/// returns an error has not failed, because the error is an answer. A call that the host could not make does not count, for example
/// because the guests together use all of their memory.
///
/// If the last good version does not start, the new version stays in service, and its trial begins anew 30 seconds later.
///
/// A new configuration also applies to a trial that has begun.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrialConfig {
    /// The number of first calls that count. 0 turns the trial off, and ends a trial that has begun.
    pub calls: u32,
    /// The share of these calls that may fail, from 0 to 1. With 1 all of them may fail, and the plugin never goes back.
    pub share: f64,
}

/// What a plugin may access. The default is nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    /// The resources that it may read: from the cache through the lister, and live through the client. `None` means that it
    /// may not import the lister. An empty set grants the interface and no resource.
    pub read: Option<ReadGrants>,
    /// What it may write through the client. `None` means that it may not import the client. An empty set grants the
    /// interface, and so live reads of the resources in `read`.
    pub write: Option<WriteGrants>,
    /// The Secrets whose values it may read and write.
    pub secrets: SecretGrants,
    /// The most bytes of its keys, values and bucket names together. `None` means that it may not import `wasi:keyvalue`.
    pub keyvalue: Option<u64>,
    /// Where its HTTP requests may go. `None` means that it may not import `wasi:http`. An empty list grants the interface and
    /// no request.
    pub http: Option<Vec<HttpGrant>>,
}

/// The default of requests per second: four times the default of a client-go program.
const REQUESTS: NonZeroU32 = NonZeroU32::new(20).unwrap();

/// The default of writes per second. A disk commits some hundred times a second; writes that wait share a commit.
const KEYVALUE_WRITES: NonZeroU32 = NonZeroU32::new(1_000).unwrap();

/// The limits of a plugin, its instances and its calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Linear memory of one instance, in bytes.
    pub memory_bytes: usize,
    /// Longest time of one call, including its calls to the host. It applies to `start`, too. Waits for a turn or for the
    /// processor share do not count. At most a day.
    pub deadline: Duration,
    /// Processor time per second, all instances of the plugin together. It may be used at once; then the plugin waits.
    /// `None` means no limit.
    pub cpu: Option<Duration>,
    /// The most calls to the host that one call may make, including those of WASI. One more ends the call. `None` means no
    /// limit.
    pub host_calls: Option<NonZeroU32>,
    /// The most bytes of log per call. More bytes are dropped and counted.
    pub log_bytes: usize,
    /// The most lines of log per second, all instances of the plugin together. After a pause, the lines of one second may be
    /// written at once. More lines are left out and counted. `None` means no limit.
    pub log_lines: Option<NonZeroU32>,
    /// The most bytes that one call to the host may return. A larger result is the error `too-large`.
    pub response_bytes: usize,
    /// The most requests to the API server per second, all instances of the plugin together. After a pause, the requests of
    /// one second may be sent at once.
    pub requests: NonZeroU32,
    /// The most writes of key-values per second, all instances of the plugin together. A write counts once, and once more for
    /// each full 16 KiB of its cost: the bytes of its entries, and a kibibyte for each entry. After a pause, the writes of one
    /// second may be made at once.
    pub keyvalue_writes: NonZeroU32,
    /// The most series of the plugin's own metrics. Each is kept for good; one more is the error `limit-exceeded`.
    pub metric_series: usize,
    /// The most HTTP requests of the plugin in flight. One more is the error `connection-limit-reached`.
    pub http_requests: usize,
    /// The most bytes of the body of an HTTP request, and of the body of an answer.
    pub http_body_bytes: usize,
}

/// How long an instance lives. After a trap, a missed deadline or a refused allocation it always ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InstancePolicy {
    /// It serves one call after another.
    Warm {
        /// The most calls of one instance. `None` means no limit.
        max_calls: Option<NonZeroU64>,
        /// Time without a call after which it is stopped.
        idle_timeout: Duration,
    },
    /// It serves one call, so nothing in a guest's memory outlives a call.
    Fresh,
}

// === impl TrialConfig ===

impl Default for TrialConfig {
    fn default() -> Self {
        Self { calls: 20, share: 0.5 }
    }
}

// === impl Grants ===

impl Grants {
    /// Returns true if these grants allow everything that `other` allows. Lines of `write`, `secrets` and `http` are compared
    /// as they are written: the result is false if one wide line here covers several narrow ones of `other`.
    pub(crate) fn cover(&self, other: &Self) -> bool {
        let read = other.read.as_ref().is_none_or(|other| {
            self.read.as_ref().is_some_and(|own| {
                other.iter().all(|(gvr, subresource, there)| {
                    own.of(gvr, subresource).is_some_and(|here| here.clone().union(there.clone()) == *here)
                })
            })
        });
        let write = other.write.as_ref().is_none_or(|other| {
            self.write.as_ref().is_some_and(|own| other.iter().all(|line| own.iter().any(|own| own == line)))
        });
        let http = other.http.as_ref().is_none_or(|other| {
            self.http.as_ref().is_some_and(|own| other.iter().all(|line| own.contains(line)))
        });
        let secrets = other.secrets.iter().all(|line| self.secrets.iter().any(|own| own == line));
        read && write && http && secrets && self.keyvalue >= other.keyvalue
    }
}

// === impl PluginConfig ===

impl PluginConfig {
    /// A plugin with this name that has no grant and an empty configuration, may have one instance, and has the default limits.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self {
            name: name.into(),
            config_json: "{}".to_owned(),
            grants: Grants::default(),
            reads: BTreeMap::new(),
            limits: Limits::default(),
            instance: InstancePolicy::default(),
            instances: NonZeroUsize::MIN,
            trial: TrialConfig::default(),
        }
    }

    /// Returns true if an instance that was made for one configuration also fits the other.
    pub(crate) fn serves(&self, other: &Self) -> bool {
        let Self { instances, trial, .. } = other.clone();
        let limits = Limits { cpu: other.limits.cpu, ..self.limits.clone() };
        Self { instances, trial, limits, ..self.clone() } == *other
    }
}

// === impl Limits ===

impl Default for Limits {
    fn default() -> Self {
        Self {
            // Python's runtime alone takes about 20 MiB.
            memory_bytes: 64 << 20,
            deadline: Duration::from_secs(5),
            cpu: None,
            // Reading the largest cache takes a hundred thousand calls; a guest in an endless loop makes a million per second.
            host_calls: NonZeroU32::new(1_000_000),
            log_bytes: 64 << 10,
            // Enough for a line for each object of a large list; a guest in an endless loop writes ten times as many.
            log_lines: NonZeroU32::new(10_000),
            // The largest object of etcd has 1.5 MiB.
            response_bytes: 4 << 20,
            requests: REQUESTS,
            keyvalue_writes: KEYVALUE_WRITES,
            metric_series: 1000,
            http_requests: 8,
            http_body_bytes: 4 << 20,
        }
    }
}

// === impl InstancePolicy ===

impl Default for InstancePolicy {
    fn default() -> Self {
        Self::Warm { max_calls: None, idle_timeout: Duration::from_secs(5 * 60) }
    }
}
