//! What a plugin may have and do. Plain and already valid: only `host` reads TOML.

use std::{
    num::{NonZeroU32, NonZeroU64, NonZeroUsize},
    sync::Arc,
    time::Duration,
};

use informer_types::{ReadGrants, SecretGrants, WriteGrants};

use crate::capabilities::HttpGrant;

/// Everything about a plugin but its code.
#[derive(Clone, Debug, PartialEq)]
pub struct PluginConfig {
    /// The name in the configuration.
    pub name: Arc<str>,
    /// Handed to `start`: a JSON object as text.
    pub config_json: String,
    /// What it may reach.
    pub grants: Grants,
    /// What it may use.
    pub limits: Limits,
    /// How long an instance lives.
    pub instance: InstancePolicy,
    /// Instances at most, and so calls at a time; more calls wait. While a version takes over from another, the new one's
    /// first instance is one more.
    pub instances: NonZeroUsize,
    /// How a version that takes over from another is judged.
    pub trial: TrialConfig,
}

/// When a plugin goes back to the version it had: when more than this share of the new one's first calls fail with a
/// trap, at the deadline, for memory or in `start`; or each of the first five. An error that the handler returns is
/// its answer and does not count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrialConfig {
    /// The calls that count; 0: there is no going back.
    pub calls: u32,
    /// Of those, the share that may fail: 0 to 1; 1: all may.
    pub share: f64,
}

/// What a plugin may reach. The default is nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    /// The resources it may read through the lister, and live through the client; none: it may not even import the
    /// lister. An empty set grants the interface and no resource.
    pub read: Option<ReadGrants>,
    /// What it may write through the client; none: it may not even import the client. An empty set grants the
    /// interface, and so live reads of what `read` says.
    pub write: Option<WriteGrants>,
    /// The Secrets whose values it may see and write.
    pub secrets: SecretGrants,
    /// What it may keep, in bytes of keys, values and names of buckets together; none: it may not even import
    /// `wasi:keyvalue`.
    pub keyvalue: Option<u64>,
    /// Where its HTTP requests may go; none: it may not even import `wasi:http`. An empty list grants the interface
    /// and no request.
    pub http: Option<Vec<HttpGrant>>,
}

/// Four times what client-go allows a whole program.
const REQUESTS: NonZeroU32 = NonZeroU32::new(20).unwrap();

/// What a call, or an instance, may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Linear memory of one instance, in bytes.
    pub memory_bytes: usize,
    /// Of one call, calls to the host included; also of `start`. What the host lets the call wait, for its turn or for
    /// its share of the processors, does not count. A day at most.
    pub deadline: Duration,
    /// Processor time a second, all instances of the plugin together; none: no limit. What one second gives may be
    /// used at once; a plugin that has used it up waits.
    pub cpu: Option<Duration>,
    /// Calls to the host that one call may make, those of WASI included; more end it. None: no limit.
    pub host_calls: Option<NonZeroU32>,
    /// Of the log, in bytes a call; what is more is dropped and counted.
    pub log_bytes: usize,
    /// Of the log, in lines a second, all instances of the plugin together; as many at once after a pause. More are left out and
    /// counted. None: no limit.
    pub log_lines: Option<NonZeroU32>,
    /// Of what one call to the host may return, in bytes; more is the error `too-large`.
    pub response_bytes: usize,
    /// To the API server, a second and in all calls of all instances together; as many at once after a pause.
    pub requests: NonZeroU32,
    /// Series of its own metrics, each kept for good; one more is `limit-exceeded`.
    pub metric_series: usize,
    /// HTTP requests of the plugin under way at a time; one more is `connection-limit-reached`.
    pub http_requests: usize,
    /// Of the body of an HTTP request, and of that of an answer, in bytes.
    pub http_body_bytes: usize,
}

/// How long an instance lives. After a trap, a missed deadline or a refused allocation it never does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InstancePolicy {
    /// It serves one call after the other.
    Warm {
        /// At most so many; none: no limit.
        max_calls: Option<NonZeroU64>,
        /// It is dropped after so long without a call.
        idle_timeout: Duration,
    },
    /// One call, then it is dropped: nothing a guest keeps in its memory outlives a call.
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
    /// True where all that `other` allows is allowed here too. Where that takes more than a look at what is written,
    /// as with one wide line for two narrow ones of `write`, `secrets` or `http`, it says no.
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
    /// True where an instance made for one of them serves the other as well.
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
            // A walk over the largest cache makes a hundred thousand; a guest in an endless loop ten times as many a second.
            host_calls: NonZeroU32::new(1_000_000),
            log_bytes: 64 << 10,
            // A line for each object of a large list as fast as it comes; a guest in an endless loop writes ten times as many.
            log_lines: NonZeroU32::new(10_000),
            // The largest object etcd takes is 1.5 MiB.
            response_bytes: 4 << 20,
            requests: REQUESTS,
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
