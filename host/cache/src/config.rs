//! The configuration of informers and of the factory. The values are valid already: only `host` reads TOML.

use std::{
    collections::BTreeMap,
    fmt,
    num::{NonZeroU32, NonZeroUsize},
    time::Duration,
};

use informer_types::{Backoff, Condition, Gvr, IndexPaths, LabelSelector, Part, Pointer, Tracer};

use crate::Compression;

/// A watch drops this field by default: it is 20 to 30 % of a typical object, and hardly any program reads it.
pub(crate) const MANAGED_FIELDS: &str = "/metadata/managedFields";

/// The configuration of one shared informer: the collection, the part of it to watch, and how it is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct WatchConfig {
    /// The resource.
    pub gvr: Gvr,
    /// The namespaces to watch: one reflector for each, with one cache. If empty, all namespaces.
    pub namespaces: Vec<String>,
    /// A label selector that the server applies to every list and watch (F-6). If empty, all objects.
    pub labels: LabelSelector,
    /// A field selector that the server applies. If empty, all objects.
    pub fields: String,
    /// The fields to remove from every object before it is cached. Defaults to `/metadata/managedFields`.
    pub drop: Vec<Pointer>,
    /// The only parts to keep of every object, besides the fields that identify it (apiVersion, kind, name, namespace, uid,
    /// resourceVersion, generation, timestamps, labels, owners). If empty, all fields are kept. A pointer into an array
    /// keeps the whole array. If only a digest of a value is kept, the text has [`informer_types::stand_in`] in place of the
    /// value. Fields in `drop` are removed in any case.
    pub keep: Vec<Part>,
    /// An object that meets one of these conditions is kept whole in spite of `keep`, and so is an object for which a condition
    /// cannot be evaluated. The conditions are evaluated for each object that arrives.
    pub whole_if: Vec<Condition>,
    /// If true, lists and watches request only the metadata (`PartialObjectMetadata`). Objects are delivered with the
    /// apiVersion and kind that the server then sends. If a server sends whole objects nevertheless, only their
    /// metadata is kept.
    pub metadata_only: bool,
    /// Named indexes (I-5). The index values of an object are the scalars at the paths, and the scalars of the arrays there.
    pub indexes: BTreeMap<String, IndexPaths>,
    /// How the bodies of objects are kept in memory.
    pub compression: Compression,
    /// The resync period of listeners without a period of their own. Zero means never (P-9). `None` means the factory's
    /// period (F-7).
    pub resync: Option<Duration>,
}

/// The resource, the namespaces, the selectors and the requested part of the objects. A factory has at most one current
/// informer for each key (F-1).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InformerKey {
    /// The resource.
    pub gvr: Gvr,
    /// The watched namespaces, sorted, without duplicates. If empty, all namespaces.
    pub namespaces: Vec<String>,
    /// The label selector as text. If empty, all objects.
    pub labels: String,
    /// The field selector. If empty, all objects.
    pub fields: String,
    /// True if only the metadata of the objects is requested.
    pub metadata_only: bool,
}

/// How an informer fetches the first state of a collection, and the state after a gap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WatchListMode {
    /// It requests a streaming list (KEP-3157). If that fails, it requests a plain list this time. If the failure shows
    /// that the server lacks streaming lists, all informers of this group and version request plain lists for an hour (D-3). After a
    /// list without a resource version it requests a plain list.
    #[default]
    Auto,
    /// It requests a streaming list each time. If that fails, it requests a plain list this time. After a list without a
    /// resource version it requests a plain list.
    On,
    /// It requests plain lists.
    Off,
}

/// The configuration that all informers of a factory share.
#[derive(Clone, Debug)]
pub struct FactoryConfig {
    /// The server's URL, for error texts; the client has its own.
    pub server: String,
    /// The remedy if the server does not accept the credentials (401): where they come from, and what to do there.
    pub renewal: String,
    /// The number of objects in a list page. `None` means 500 if Kubernetes' own informers would page, else one page
    ///
    pub page_size: Option<u32>,
    /// Selects streaming lists or plain lists.
    pub watch_list: WatchListMode,
    /// The sustained number of requests a second of all informers together; `burst` may exceed it briefly. A list
    /// counts as one request, even if it has several pages. If the server asks for a pause (429 with Retry-After), all
    /// informers pause.
    pub qps: NonZeroU32,
    /// The number of requests that may be sent at once after a quiet time.
    pub burst: NonZeroU32,
    /// A test mode: after each streaming list, fetch a plain list of the same resource version. If they differ,
    /// the run fails with [`ErrorClass::Inconsistent`](crate::ErrorClass::Inconsistent).
    pub check_consistency: bool,
    /// The longest silence before and in the middle of an answer.
    pub request_timeout: Duration,
    /// After this time without a byte, neither an event nor a bookmark, a watch is resumed on a new connection without
    /// a list: the old connection may be half open. Kubernetes sends a bookmark about once a minute. A server that
    /// sends none just receives more watch requests.
    pub idle_watch_timeout: Duration,
    /// The shortest time that a watch is requested to last; the request names a random time between this one and twice
    /// this one. At least five minutes and at most a day.
    pub min_watch_timeout: Duration,
    /// For this time, a watch that ends with an internal error is reopened without a list; zero turns that off.
    pub internal_error_retry: Duration,
    /// The number of threads that run nothing but informers; each informer runs on one of them. If zero, informers run
    /// on the runtime of the caller that starts them.
    pub threads: usize,
    /// The waits after failures.
    pub backoff: BackoffConfig,
    /// The resync period of informers without a period of their own. `None` or zero means never (F-7).
    pub resync: Option<Duration>,
    /// The number of deltas that may wait for the controller. If the queue is full the reflectors stop reading, and TCP
    /// carries the back pressure to the API server; no delta is lost.
    pub delta_queue_capacity: NonZeroUsize,
    /// The maximum size of an object and of a watch frame, in bytes. A larger one is an error; it does not exhaust the
    /// memory.
    pub max_object_bytes: usize,
    /// The maximum size of one list in bytes, over all pages, as the server sends it, with 512 bytes for each object. A
    /// larger one is an error with [`ErrorClass::ListTooLarge`](crate::ErrorClass::ListTooLarge), and the cache stays as it
    /// was (D-14).
    pub list_bytes: usize,
    /// The maximum memory of all objects of the process in bytes; `None` means no maximum. Near it every informer
    /// compresses its objects. Above it the first list of an informer fails with
    /// [`ErrorClass::CacheFull`](crate::ErrorClass::CacheFull). An eighth above it, a watch that brings a new or changed object
    /// fails with the same error; a quarter above it, later lists do. The caches stay as they were (D-16).
    pub cache_bytes: Option<usize>,
    /// Receives the decisions about each object.
    pub tracer: Tracer,
}

/// The waits after failures: exponential backoff with jitter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BackoffConfig {
    /// The series of waits.
    pub backoff: Backoff,
    /// If no failure follows the opening of a watch for this time, the series starts over (D-1).
    pub reset_after: Duration,
}

// === impl WatchConfig ===

impl WatchConfig {
    /// Watches all objects of one resource and drops their `managedFields`.
    pub fn new(gvr: Gvr) -> Self {
        Self {
            gvr,
            namespaces: Vec::new(),
            labels: LabelSelector::default(),
            fields: String::new(),
            drop: MANAGED_FIELDS.parse().into_iter().collect(),
            keep: Vec::new(),
            whole_if: Vec::new(),
            metadata_only: false,
            indexes: BTreeMap::new(),
            compression: Compression::Off,
            resync: None,
        }
    }
}

// === impl InformerKey ===

impl From<&WatchConfig> for InformerKey {
    fn from(config: &WatchConfig) -> Self {
        let mut namespaces: Vec<String> =
            config.namespaces.iter().filter(|namespace| !namespace.is_empty()).cloned().collect();
        namespaces.sort();
        namespaces.dedup();
        Self {
            gvr: config.gvr.clone(),
            namespaces,
            labels: config.labels.to_string(),
            fields: config.fields.clone(),
            metadata_only: config.metadata_only,
        }
    }
}

impl fmt::Display for InformerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.gvr)?;
        if !self.namespaces.is_empty() {
            write!(f, " in {}", self.namespaces.join(", "))?;
        }
        if !self.labels.is_empty() {
            write!(f, " with labels {}", self.labels)?;
        }
        if !self.fields.is_empty() {
            write!(f, " with fields {}", self.fields)?;
        }
        if self.metadata_only {
            f.write_str(", metadata only")?;
        }
        Ok(())
    }
}

// === impl FactoryConfig ===

impl Default for FactoryConfig {
    fn default() -> Self {
        Self {
            server: "the cluster's URL".to_owned(),
            renewal: "renew the credentials in the kubeconfig or the service account".to_owned(),
            page_size: None,
            watch_list: WatchListMode::default(),
            // The kubelet's numbers: they never limit normal operation, and they prevent a storm after an outage.
            qps: NonZeroU32::new(50).unwrap_or(NonZeroU32::MIN),
            burst: NonZeroU32::new(100).unwrap_or(NonZeroU32::MIN),
            check_consistency: false,
            // The API server allows itself 60 s for a list.
            request_timeout: Duration::from_secs(90),
            // Three missed bookmarks.
            idle_watch_timeout: Duration::from_secs(3 * 60),
            min_watch_timeout: Duration::from_secs(5 * 60),
            internal_error_retry: Duration::ZERO,
            threads: 0,
            backoff: BackoffConfig::default(),
            resync: None,
            // Two of client-go's batches: at 5 KiB an object, 10 MiB an informer at worst.
            delta_queue_capacity: NonZeroUsize::new(2_000).unwrap_or(NonZeroUsize::MIN),
            // etcd refuses objects over 1.5 MiB, but aggregated servers have other stores.
            max_object_bytes: 64 << 20,
            // 200,000 objects of 20 KiB, far larger than pods usually are.
            list_bytes: 4 << 30,
            cache_bytes: None,
            tracer: Tracer::default(),
        }
    }
}

// === impl BackoffConfig ===

impl Default for BackoffConfig {
    /// client-go's numbers, and a reset two minutes after a watch was opened, if no failure followed (D-1).
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
