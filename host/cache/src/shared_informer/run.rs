//! The life of an informer: it waits for the resource and watches it while it is served, again and again until it is
//! stopped.

use std::{
    any::Any,
    sync::{Arc, atomic::Ordering},
};

use informer_types::Cause;
use tokio::task::{JoinError, JoinSet, spawn_blocking};
use tokio_util::sync::CancellationToken;

use super::{
    Inner,
    presence::{self, Change},
};
use crate::{
    ErrorClass, FactoryConfig, Phase,
    controller::{Controller, distribute_removed},
    decode::Decoder,
    delta_queue::delta_queue,
    discovery::Resource,
    list_watch::ListWatch,
    reflector::{Reflector, Target},
    request::Collection,
    resync,
    transport::Transport,
};

/// Why the watching ended.
enum End {
    Stopped,
    /// The server does not serve the resource any more.
    Gone,
    /// The server serves another resource of this name.
    Another,
    /// A task panicked.
    Failed,
}

/// Runs an informer until it is stopped. Returns after all of its tasks have ended (C-1, P-18).
pub(crate) async fn run(inner: Arc<Inner>, transport: Transport, config: Arc<FactoryConfig>) {
    // Reports the end however this future ends.
    let ended = inner.ended.clone().drop_guard();
    let mut phase = Phase::Stopped;
    while let Some(resource) =
        inner.stop.run_until_cancelled(presence::served(&inner, &transport, &config)).await
    {
        let mut end = watch(&inner, &transport, &config, &resource).await;
        if matches!(end, End::Gone) {
            end = vanish(&inner).await;
        }
        match end {
            End::Stopped => break,
            End::Gone | End::Another => {}
            End::Failed => {
                phase = Phase::Failed;
                break;
            }
        }
    }
    inner.processor.close();
    if inner.abandoned.load(Ordering::Acquire) {
        inner.free();
    }
    inner.enter(phase);
    drop(ended);
}

/// Watches a served resource until the stop, or until the resource was removed or replaced. When it returns, every task
/// has ended, and everything that the reflectors saw is in the cache and was distributed.
async fn watch(
    inner: &Arc<Inner>,
    transport: &Transport,
    config: &FactoryConfig,
    resource: &Resource,
) -> End {
    let halt = inner.stop.child_token();
    let mut tasks = spawn(inner, transport, config, resource, &halt);
    let mut changed = std::pin::pin!(presence::changed(inner, transport, resource));
    let mut end = End::Stopped;
    loop {
        tokio::select! {
            biased;
            task = tasks.join_next() => match task {
                None => return end,
                Some(Ok(())) => {}
                Some(Err(error)) if error.is_panic() => {
                    inner.panicked(error);
                    end = End::Failed;
                    halt.cancel();
                }
                Some(Err(_)) => {}
            },
            change = &mut changed, if !halt.is_cancelled() => {
                end = inner.changed(change);
                halt.cancel();
            }
        }
    }
}

/// Empties the cache of a removed resource and distributes the deletions. The controller has ended by then.
async fn vanish(inner: &Arc<Inner>) -> End {
    let emptied = Arc::clone(inner);
    // It takes as long as a relist.
    match spawn_blocking(move || emptied.vanish()).await {
        Ok(()) => End::Gone,
        Err(error) => {
            inner.panicked(error);
            End::Failed
        }
    }
}

/// Starts the controller, the resync timer and one reflector for each namespace. A halt drops the producers, which
/// closes the queue, and the controller ends once the queue is empty.
fn spawn(
    inner: &Arc<Inner>,
    transport: &Transport,
    config: &FactoryConfig,
    resource: &Resource,
    halt: &CancellationToken,
) -> JoinSet<()> {
    let (sender, receiver) = delta_queue(config.delta_queue_capacity);
    let mut tasks = JoinSet::new();
    *inner.queue.lock() = Some(sender.gauge());
    let controller = Controller::new(
        receiver,
        Arc::clone(&inner.indexer),
        Arc::clone(&inner.processor),
        &inner.cells,
        inner.synced.clone(),
    );
    tasks.spawn(controller.run());
    let timer = resync::run(Arc::clone(&inner.processor), sender.clone(), inner.synced.subscribe());
    tasks.spawn(until(halt.clone(), timer));
    // The check compares what two lists bring, so it decodes both.
    let cached = (!config.check_consistency).then(|| Arc::clone(&inner.indexer));
    let decoder = Decoder::new(&resource.kind, &inner.config, config.max_object_bytes);
    let decoder = Arc::new(decoder.with_cache(cached, transport.ceiling));
    for (scope, cell) in inner.cells.iter().enumerate() {
        let namespace = cell.namespace().map(str::to_owned);
        let collection = Collection { informer: inner.key.clone(), namespace };
        let list_watch = ListWatch { transport: transport.clone(), collection };
        let target =
            Target::new(list_watch, Arc::clone(&decoder), sender.clone(), scope, Arc::clone(cell), config);
        let reflector = Reflector::new(target, config);
        tasks.spawn(until(halt.clone(), reflector.run()));
    }
    tasks
}

/// Runs the task until the halt, which drops it at its next await.
async fn until(halt: CancellationToken, task: impl Future<Output = ()>) {
    halt.run_until_cancelled(task).await;
}

// === impl Inner ===

impl Inner {
    fn changed(&self, change: Change) -> End {
        match change {
            Change::Gone(error) => {
                tracing::warn!(resource = %self.key, reason = %error, "the resource is not served any more");
                self.cells.iter().for_each(|cell| cell.vanished(&error.to_string()));
                End::Gone
            }
            Change::Another(found) => {
                tracing::warn!(resource = %self.key, kind = found.kind, "another resource took the name, listing it");
                End::Another
            }
        }
    }

    /// Removes all objects, as a relist without objects does (C-6).
    fn vanish(&self) {
        let observed = tokio::time::Instant::now().into_std();
        let mut listeners = self.processor.lock();
        let removed = self.indexer.replace(None, Vec::new(), &[]).deleted;
        distribute_removed(removed, Cause::Relist, observed, &mut listeners);
    }

    /// Frees the cache after the last subscription. Listers that still exist find it empty.
    fn free(&self) {
        let _listeners = self.processor.lock();
        self.synced.send_replace(false);
        self.indexer.replace(None, Vec::new(), &[]);
    }

    fn panicked(&self, error: JoinError) {
        let words = error.try_into_panic().map(|panic| words(panic.as_ref()).to_owned());
        let text =
            format!("a task of the informer panicked: {}", words.as_deref().unwrap_or("it was cancelled"));
        tracing::error!(resource = %self.key, error = text, "informer failed");
        self.failed(&text, ErrorClass::Bug);
    }
}

fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}
