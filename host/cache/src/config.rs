//! What an informer and a factory are told. Plain and already valid: only `host` reads TOML.

use std::{
    collections::BTreeMap,
    num::{NonZeroU32, NonZeroUsize},
    time::Duration,
};

use informer_types::{Backoff, Gvr, LabelSelector, Pointer, Tracer};

use crate::Compression;

/// What a watch keeps out of its objects unless told otherwise: 20 to 30 % of a typical object, and nobody
/// reads it.
const MANAGED_FIELDS: &str = "/metadata/managedFields";

/// One shared informer: which collection, how much of it, and how it is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct WatchConfig {
    /// The resource.
    pub gvr: Gvr,
    /// None: all namespaces. Several: one reflector each, one cache.
    pub namespaces: Vec<String>,
    /// Applied by the server to every list and watch (F-6).
    pub labels: LabelSelector,
    /// A field selector, applied by the server; empty selects everything.
    pub fields: String,
    /// What is cut out of every object before it is kept. `/metadata/managedFields` by default.
    pub drop: Vec<Pointer>,
    /// What alone is kept of every object, besides what identifies it (apiVersion, kind, name, namespace, uid,
    /// resourceVersion, generation, timestamps, labels, owners); none: everything. A pointer into an array keeps the
    /// whole array. `drop` holds within it.
    pub keep: Vec<Pointer>,
    /// True: the server is asked for the metadata alone (`PartialObjectMetadata`), in lists and in watches. Objects
    /// are delivered with the apiVersion and kind that the server gives them then. A server that sends all of an
    /// object nevertheless is taken at its metadata.
    pub metadata_only: bool,
    /// Named indexes (I-5): the scalar at the pointer, or each scalar of the array there, is a value.
    pub indexes: BTreeMap<String, Pointer>,
    /// How bodies are kept in memory.
    pub compression: Compression,
    /// The resync period of listeners that do not say their own; zero: never (P-9); none: the factory's (F-7).
    pub resync: Option<Duration>,
}

/// How the first state of a collection, and each one after a gap, is fetched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WatchListMode {
    /// By a streaming list (KEP-3157), and by plain lists for an hour where that turned out not to work.
    #[default]
    Auto,
    /// By a streaming list, tried anew each time; a plain list stands in where it fails.
    On,
    /// By plain lists.
    Off,
}

/// How every informer of a factory talks to the API server.
#[derive(Clone, Debug)]
pub struct FactoryConfig {
    /// The server's URL, for error texts; the client knows where to connect.
    pub server: String,
    /// Objects a list page; none: 500 where Kubernetes' own informers page, else one page.
    pub page_size: Option<u32>,
    /// Streaming lists or plain ones.
    pub watch_list: WatchListMode,
    /// Requests a second that all informers together send at most, once `burst` is spent. A list counts once,
    /// however many pages it has. Where the server asks to be left alone (429 with Retry-After), all do.
    pub qps: NonZeroU32,
    /// Requests that may be sent at once after a while without.
    pub burst: NonZeroU32,
    /// A test mode: after each streaming list a plain one at its resource version, and a failure of the
    /// run, [`ErrorClass::Inconsistent`](crate::ErrorClass::Inconsistent), where they differ.
    pub check_consistency: bool,
    /// How long a server may keep silent in the middle of an answer, or before it.
    pub request_timeout: Duration,
    /// A watch on which no byte arrived for so long, no event and no bookmark, is given up and resumed where it
    /// was, without a list: the connection may be half open (weakness 23). Kubernetes sends a bookmark about
    /// once a minute; a server that sends none is only asked more often.
    pub idle_watch_timeout: Duration,
    /// The least time a watch is asked to last; the request says a random number up to twice that. Less than
    /// five minutes counts as five minutes, more than a day as a day.
    pub min_watch_timeout: Duration,
    /// For how long a watch that ends in an internal error is simply reopened; zero: not at all.
    pub internal_error_retry: Duration,
    /// Threads that only informers run on, each informer on one of them; zero: informers run on the runtime of whoever
    /// starts them.
    pub threads: usize,
    /// The waits after failures.
    pub backoff: BackoffConfig,
    /// The resync period of informers that do not say their own; none or zero: never (F-7).
    pub resync: Option<Duration>,
    /// Deltas that may wait for the controller. When it is full the reflectors wait and stop reading, and
    /// TCP carries the pressure to the API server; nothing is lost.
    pub delta_queue_capacity: NonZeroUsize,
    /// The longest object, and the longest watch frame, in bytes; a longer one is an error, not an exhausted
    /// memory.
    pub max_object_bytes: usize,
    /// Where it is written what was decided about each object.
    pub tracer: Tracer,
}

/// The waits after failures: exponential backoff with jitter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BackoffConfig {
    /// The series of waits.
    pub backoff: Backoff,
    /// After this time without a failure the series starts over (D-1).
    pub reset_after: Duration,
}

// === impl WatchConfig ===

impl WatchConfig {
    /// Everything of one resource, `managedFields` dropped.
    pub fn new(gvr: Gvr) -> Self {
        Self {
            gvr,
            namespaces: Vec::new(),
            labels: LabelSelector::default(),
            fields: String::new(),
            drop: MANAGED_FIELDS.parse().into_iter().collect(),
            keep: Vec::new(),
            metadata_only: false,
            indexes: BTreeMap::new(),
            compression: Compression::Off,
            resync: None,
        }
    }
}

// === impl FactoryConfig ===

impl Default for FactoryConfig {
    fn default() -> Self {
        Self {
            server: "the cluster's URL".to_owned(),
            page_size: None,
            watch_list: WatchListMode::default(),
            // The kubelet's numbers: no brake in ordinary life, and no storm after trouble.
            qps: NonZeroU32::new(50).unwrap_or(NonZeroU32::MIN),
            burst: NonZeroU32::new(100).unwrap_or(NonZeroU32::MIN),
            check_consistency: false,
            // The API server gives itself 60 s for a list; more than that is silence.
            request_timeout: Duration::from_secs(90),
            // Three bookmarks missed.
            idle_watch_timeout: Duration::from_secs(3 * 60),
            min_watch_timeout: Duration::from_secs(5 * 60),
            internal_error_retry: Duration::ZERO,
            threads: 0,
            backoff: BackoffConfig::default(),
            resync: None,
            // Two of client-go's batches: at 5 KiB an object, 10 MiB an informer at worst.
            delta_queue_capacity: NonZeroUsize::new(2_000).unwrap_or(NonZeroUsize::MIN),
            // etcd refuses objects over 1.5 MiB; aggregated servers have other stores.
            max_object_bytes: 64 << 20,
            tracer: Tracer::default(),
        }
    }
}

// === impl BackoffConfig ===

impl Default for BackoffConfig {
    /// client-go's numbers, and a reset after two minutes without a failure (D-1).
    fn default() -> Self {
        let backoff = Backoff {
            min: Duration::from_millis(800),
            max: Duration::from_secs(30),
            factor: 2.0,
            jitter: 1.0,
        };
        Self { backoff, reset_after: Duration::from_secs(120) }
    }
}
