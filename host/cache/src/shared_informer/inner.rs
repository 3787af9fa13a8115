//! The state that all handles of one informer share.

use std::sync::{Arc, atomic::AtomicBool};

use informer_types::{Source, Tracer};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{
    ErrorClass, InformerKey, Phase, WatchConfig, delta_queue::DeltaGauge, indexer::Indexer,
    processor::Processor, status::ReflectorCell,
};

/// The state of one informer.
pub(crate) struct Inner {
    pub(crate) key: InformerKey,
    pub(crate) config: WatchConfig,
    pub(crate) indexer: Arc<Indexer>,
    pub(crate) processor: Arc<Processor>,
    /// One for each watched namespace.
    pub(crate) cells: Vec<Arc<ReflectorCell>>,
    pub(crate) synced: watch::Sender<bool>,
    pub(crate) started: AtomicBool,
    /// True while the server does not serve the resource.
    pub(crate) unserved: watch::Sender<bool>,
    /// True if the last subscription has ended: the cache is freed at the end.
    pub(crate) abandoned: AtomicBool,
    /// Cancelled to end every task of the informer.
    pub(crate) stop: CancellationToken,
    /// Cancelled once every task has ended.
    pub(crate) ended: CancellationToken,
    /// `Some` while the resource is served and watched.
    pub(crate) queue: Mutex<Option<DeltaGauge>>,
}

// === impl Inner ===

impl Inner {
    pub(super) fn new(
        key: InformerKey,
        config: WatchConfig,
        tracer: &Tracer,
        stop: CancellationToken,
    ) -> Self {
        let indexer = Arc::new(Indexer::default());
        let scopes: Vec<Option<String>> = if key.namespaces.is_empty() {
            vec![None]
        } else {
            key.namespaces.iter().cloned().map(Some).collect()
        };
        let source = Source::new(config.gvr.clone());
        Self {
            processor: Arc::new(Processor::new(source, config.resync, tracer.clone())),
            cells: scopes.into_iter().map(|namespace| Arc::new(ReflectorCell::new(namespace))).collect(),
            key,
            config,
            indexer,
            synced: watch::Sender::new(false),
            started: AtomicBool::new(false),
            unserved: watch::Sender::new(false),
            abandoned: AtomicBool::new(false),
            stop,
            ended: CancellationToken::new(),
            queue: Mutex::default(),
        }
    }

    pub(crate) fn enter(&self, phase: Phase) {
        self.cells.iter().for_each(|cell| cell.enter(phase));
    }

    pub(crate) fn failed(&self, text: &str, class: ErrorClass) {
        self.cells.iter().for_each(|cell| cell.failed(text.to_owned(), class));
    }
}
