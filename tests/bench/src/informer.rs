//! Our informer: cache, queue and handler, wired as in the host.

mod component;
mod native;

use std::{num::NonZeroUsize, sync::Arc};

use anyhow::{Context, Result, ensure};
use http::Uri;
use informer_cache::{
    Compression, FactoryConfig, InformerFactory, ListenerConfig, SharedInformer, WatchConfig, WatchListMode,
};
use informer_dispatch::{DispatchConfig, Dispatcher, Queue, QueueConfig, RetryConfig};
use informer_types::{Delivery, EventHandler, Failure, Outcome};
use kube::Client;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

pub use component::{compile, load};
pub use native::Native;

use crate::client;
use crate::subject::{Counter, ManagedFields, Plan, Subject};

/// The name of the only plugin.
const PLUGIN: &str = "two-fields";

/// The most notifications in one call, if the handler takes several: the host's default.
const BATCH: NonZeroUsize = NonZeroUsize::new(100).unwrap();

/// A shared informer for all objects, the queue of one plugin, and one worker that calls the handler.
pub struct Informer<H> {
    server: Uri,
    config: FactoryConfig,
    watch: WatchConfig,
    handler: Option<H>,
    running: Option<Running>,
}

/// The parts that must live as long as the measurement.
struct Running {
    informer: SharedInformer,
    _factory: InformerFactory,
    _dispatcher: Dispatcher,
    /// The task that starts the calls.
    _opening: JoinSet<()>,
}

/// Counts acknowledged notifications. Any other outcome ends the measurement, because failed or repeated work cannot be
/// compared.
struct Counting<H> {
    handler: H,
    counter: Counter,
}

// === impl Informer ===

impl<H: EventHandler> Informer<H> {
    /// Our informer with this handler.
    pub fn new(plan: &Plan, handler: H) -> Self {
        let config = FactoryConfig {
            server: plan.server.to_string(),
            page_size: Some(plan.page_size),
            // The host has one informer thread on two cores.
            threads: 1,
            // The server has no streaming lists.
            watch_list: WatchListMode::Off,
            ..FactoryConfig::default()
        };
        let mut watch = WatchConfig::new(plan.kind.gvr());
        // This is the host's default.
        watch.compression = Compression::Zstd;
        if plan.managed_fields == ManagedFields::Keep {
            watch.drop.clear();
        }
        Self { server: plan.server.clone(), config, watch, handler: Some(handler), running: None }
    }
}

impl<H: EventHandler> Subject for Informer<H> {
    fn start(&mut self, _: &Client, counter: &Counter) -> Result<()> {
        let handler = self.handler.take().context("started twice")?;
        // Like in the host, the connections of the informers are on the informer thread.
        let client = client::connect(&self.server)?;
        let factory = InformerFactory::new(client, self.config.clone());
        let informer = factory.informer(self.watch.clone());
        let queue = Queue::new(&QueueConfig::default());
        // Like in the host, calls start when the cache is complete (W-1).
        queue.pause();
        let listener = ListenerConfig { name: PLUGIN.to_owned(), resync: None, relist_all: false };
        informer.add_listener(listener, Arc::new(queue.clone()))?;
        let dispatcher = Dispatcher::spawn(
            DispatchConfig {
                plugin: Arc::from(PLUGIN),
                workers: NonZeroUsize::MIN,
                batch: BATCH,
                retry: RetryConfig::default(),
            },
            queue.clone(),
            Arc::new(Counting { handler, counter: counter.clone() }),
            &CancellationToken::new(),
        );
        factory.start();
        let mut opening = JoinSet::new();
        opening.spawn(open(informer.clone(), queue, counter.clone()));
        self.running =
            Some(Running { informer, _factory: factory, _dispatcher: dispatcher, _opening: opening });
        Ok(())
    }

    async fn cached(&self) -> Result<()> {
        let running = self.running.as_ref().context("not started")?;
        ensure!(running.informer.wait_synced().await, "the informer stopped");
        Ok(())
    }

    fn objects(&self) -> usize {
        self.running.as_ref().map_or(0, |running| running.informer.status().objects)
    }
}

/// Starts the calls when the cache is complete.
async fn open(informer: SharedInformer, queue: Queue, counter: Counter) {
    if informer.wait_synced().await {
        queue.resume();
    } else {
        counter.fail("the informer stopped before it had synced".to_owned());
    }
}

// === impl Counting ===

impl<H> Counting<H> {
    fn count(&self, outcome: &Outcome) {
        match outcome {
            Outcome::Acknowledged | Outcome::Again(_) => self.counter.add(),
            Outcome::Retry { failure, .. } | Outcome::Permanent { failure } => {
                self.counter.fail(failure.to_string());
            }
        }
    }
}

impl<H: EventHandler> EventHandler for Counting<H> {
    fn takes_batches(&self) -> bool {
        self.handler.takes_batches()
    }

    async fn handle(&self, delivery: Delivery) -> Option<Outcome> {
        let outcome = self.handler.handle(delivery).await;
        outcome.iter().for_each(|outcome| self.count(outcome));
        outcome
    }

    async fn handle_batch(&self, deliveries: Vec<Delivery>) -> Option<Result<Vec<Outcome>, Failure>> {
        let ended = self.handler.handle_batch(deliveries).await;
        match &ended {
            Some(Ok(outcomes)) => outcomes.iter().for_each(|outcome| self.count(outcome)),
            Some(Err(failure)) => self.counter.fail(failure.to_string()),
            None => {}
        }
        ended
    }
}
