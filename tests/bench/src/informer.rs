//! Ours: cache, queue and handler, put together as the host does.

mod component;
mod native;

use std::{num::NonZeroUsize, sync::Arc};

use anyhow::{Context, Result, ensure};
use http::Uri;
use informer_cache::{
    Compression, FactoryConfig, InformerFactory, ListenerConfig, SharedInformer, WatchConfig, WatchListMode,
};
use informer_dispatch::{DispatchConfig, Dispatcher, DispatcherHandle, Queue, QueueConfig, RetryConfig};
use informer_types::{Delivery, EventHandler, Gvr, Outcome};
use kube::Client;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

pub use component::{compile, load};
pub use native::Native;

use crate::client;
use crate::subject::{Counter, ManagedFields, Plan, Subject};

/// The name of the one plugin.
const PLUGIN: &str = "two-fields";

/// A shared informer of all pods, one plugin's queue and one worker that calls the handler.
pub struct Informer<H> {
    server: Uri,
    config: FactoryConfig,
    watch: WatchConfig,
    handler: Option<H>,
    running: Option<Running>,
}

/// Everything that must live as long as the measurement.
struct Running {
    informer: SharedInformer,
    _factory: InformerFactory,
    _dispatcher: DispatcherHandle,
    /// Lets the calls begin.
    _opening: JoinSet<()>,
}

/// Counts what a handler acknowledged. Anything else ends the measurement: work that was not done, or was done
/// twice, is not to be compared.
struct Counting<H> {
    handler: H,
    counter: Counter,
}

// === impl Informer ===

impl<H: EventHandler> Informer<H> {
    /// Ours, with this handler.
    pub fn new(plan: &Plan, handler: H) -> Self {
        let config = FactoryConfig {
            server: plan.server.to_string(),
            page_size: Some(plan.page_size),
            // As the host on two cores.
            threads: 1,
            // The server pages its list and does not stream it.
            watch_list: WatchListMode::Off,
            ..FactoryConfig::default()
        };
        let mut watch = WatchConfig::new(Gvr::new("", "v1", "pods"));
        // As the host does unless told otherwise.
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
        // As in the host: the informers' connections live on the informers' thread.
        let client = client::connect(&self.server)?;
        let factory = InformerFactory::new(client, self.config.clone());
        let informer = factory.informer(self.watch.clone());
        let queue = Queue::new(&QueueConfig::default());
        // As the host: calls begin once the cache is complete (W-1).
        queue.pause();
        let listener = ListenerConfig { name: PLUGIN.to_owned(), resync: None, relist_all: false };
        informer.add_listener(listener, Arc::new(queue.clone()))?;
        let dispatcher = Dispatcher::spawn(
            DispatchConfig {
                plugin: Arc::from(PLUGIN),
                workers: NonZeroUsize::MIN,
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

/// Lets the calls begin when the cache is complete.
async fn open(informer: SharedInformer, queue: Queue, counter: Counter) {
    if informer.wait_synced().await {
        queue.resume();
    } else {
        counter.fail("the informer stopped before it had synced".to_owned());
    }
}

// === impl Counting ===

impl<H: EventHandler> EventHandler for Counting<H> {
    async fn handle(&self, delivery: Delivery) -> Outcome {
        let outcome = self.handler.handle(delivery).await;
        match &outcome {
            Outcome::Acknowledged => self.counter.add(),
            Outcome::Retry { failure, .. } | Outcome::Permanent { failure } => {
                self.counter.fail(failure.to_string());
            }
            Outcome::NotCalled => {}
        }
        outcome
    }
}
