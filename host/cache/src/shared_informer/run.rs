//! The life of an informer: it waits for the resource and watches it while it is served, again and again until it is
//! stopped. If a bug of this crate ends it, it starts again after a wait, with the same cache and the same listeners.

use std::{
    any::Any,
    panic::AssertUnwindSafe,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use futures::FutureExt;
use informer_types::Cause;
use tokio::{
    task::{JoinError, JoinSet, spawn_blocking},
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;

use super::{
    Inner,
    presence::{self, ResourceChange},
};
use crate::{
    ErrorClass, FactoryConfig, Phase,
    controller::{Controller, distribute_removed},
    decode::Decoder,
    delta_queue::delta_queue,
    discovery::Resource,
    in_doubt::InDoubt,
    list_watch::ListWatch,
    reflector::{Reflector, Target},
    request::Collection,
    resync,
    transport::Transport,
};

/// Why the watching ended.
enum End {
    Stopped,
    /// The server does not serve the resource any more; why.
    Gone(String),
    /// The server serves another resource of this name.
    Another,
    /// The server does not serve the resource in this version, and its objects may exist in another version.
    Unserved,
}

/// A task panicked, or returned although nothing stopped it.
struct Bug(String);

/// Runs an informer until it is stopped. Returns after all of its tasks have ended (C-1, P-18). If a bug ends it, its
/// listeners stay, its cache stays readable, and it starts again. The list at the start delivers what changed meanwhile (C-14).
pub(crate) fn run(
    inner: Arc<Inner>,
    transport: Transport,
    config: Arc<FactoryConfig>,
) -> impl Future<Output = ()> + Send + 'static {
    // Reports the end however this future ends, even if its runtime ends before the first poll.
    let ended = inner.ended.clone().drop_guard();
    async move {
        loop {
            let life = AssertUnwindSafe(live(&inner, &transport, &config)).catch_unwind().await;
            let Err(bug) = life.unwrap_or_else(|panic| Err(Bug::panicked(panic.as_ref()))) else { break };
            let delay = config.backoff.backoff.delay(inner.endings.lock().note(), fastrand::f64());
            inner.ended_by(&bug, delay);
            if inner.stop.run_until_cancelled(sleep(delay)).await.is_none() {
                break;
            }
        }
        distribute_rest(&inner).await;
        inner.processor.close();
        if inner.abandoned.load(Ordering::Acquire) {
            inner.free();
        }
        inner.enter(Phase::Stopped);
        drop(ended);
    }
}

/// Notifies the listeners of changes that a bug kept from them. If an informer is stopped while it waits for its restart, its cache may
/// be ahead of its listeners. A caller that replaces the informer assumes that the listeners have received the state of the cache.
async fn distribute_rest(inner: &Arc<Inner>) {
    let is_in_doubt = inner.processor.lock().in_doubt.is_some();
    if is_in_doubt && let Err(Bug(text)) = in_background(inner, Inner::distribute_in_doubt).await {
        tracing::error!(resource = %inner.key, error = text, "a bug kept the last changes of a stopped informer from its listeners");
    }
}

/// Runs an informer until it is stopped, or ended by a bug.
async fn live(inner: &Arc<Inner>, transport: &Transport, config: &FactoryConfig) -> Result<(), Bug> {
    in_background(inner, Inner::distribute_in_doubt).await?;
    while let Some(found) = inner.stop.run_until_cancelled(presence::served(inner, transport, config)).await {
        let end = match found {
            Ok(resource) => watch(inner, transport, config, &resource).await?,
            Err(gone) => inner.changed(ResourceChange::Gone(gone)),
        };
        match end {
            End::Stopped => break,
            // The controller has ended by then.
            End::Gone(reason) => {
                in_background(inner, Inner::vanish).await?;
                // The phase changes only after the deletions are distributed. From then on the host may end a subscription to this
                // kind, and the subscription has to receive its deletions first (D-22).
                inner.cells.iter().for_each(|cell| cell.vanished(&reason));
            }
            // The next lookup reports an unserved resource.
            End::Another | End::Unserved => {}
        }
    }
    Ok(())
}

/// Watches a served resource until the stop, or until the server does not serve it any more. When it returns, every task
/// has ended, and every delta that the reflectors pushed is in the cache and was distributed, unless a bug ended the controller.
async fn watch(
    inner: &Arc<Inner>,
    transport: &Transport,
    config: &FactoryConfig,
    resource: &Resource,
) -> Result<End, Bug> {
    let halt = inner.stop.child_token();
    let mut tasks = spawn(inner, transport, config, resource, &halt);
    let mut changed = std::pin::pin!(presence::changed(inner, transport, resource));
    let mut end = Ok(End::Stopped);
    loop {
        tokio::select! {
            biased;
            task = tasks.join_next() => match task {
                None => return end,
                Some(task) => if let Some(bug) = Bug::in_task(task, halt.is_cancelled()) {
                    end = Err(bug);
                    halt.cancel();
                }
            },
            change = &mut changed, if !halt.is_cancelled() => {
                end = Ok(inner.changed(change));
                halt.cancel();
            }
        }
    }
}

/// Does work that takes as long as a relist.
async fn in_background(inner: &Arc<Inner>, work: fn(&Inner)) -> Result<(), Bug> {
    let inner = Arc::clone(inner);
    let done = spawn_blocking(move || work(&inner)).await;
    Bug::in_task(done, true).map_or(Ok(()), Err)
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
    // The consistency check compares two lists, so neither may share the objects of the cache.
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
    fn changed(&self, change: ResourceChange) -> End {
        match change {
            ResourceChange::Gone(error) => {
                tracing::warn!(resource = %self.key, reason = %error, "the resource is not served any more");
                End::Gone(error.to_string())
            }
            ResourceChange::Another(found) => {
                tracing::warn!(resource = %self.key, kind = found.kind, "another resource took the name, listing it");
                End::Another
            }
            ResourceChange::Unserved => End::Unserved,
        }
    }

    /// Removes all objects, as a relist without objects does (C-6).
    fn vanish(&self) {
        let observed = Instant::now().into_std();
        let mut listeners = self.processor.lock();
        // If a bug ends the distribution of the deletions, no list finds these objects again.
        listeners.in_doubt = Some(InDoubt::List { namespace: None, before: self.indexer.list(None) });
        let removed = self.indexer.replace(None, Vec::new(), &[]).deleted;
        distribute_removed(removed, Cause::Relist, &observed.into(), &mut listeners);
        listeners.in_doubt = None;
    }

    /// Frees the cache after the last subscription. Listers that still exist find it empty.
    fn free(&self) {
        let _listeners = self.processor.lock();
        self.synced.send_replace(false);
        self.indexer.replace(None, Vec::new(), &[]);
    }

    /// Notifies the listeners of changes that the last controller may not have distributed.
    fn distribute_in_doubt(&self) {
        let mut listeners = self.processor.lock();
        let Some(in_doubt) = listeners.in_doubt.clone() else { return };
        let present = match &in_doubt {
            InDoubt::Object { object, .. } => {
                self.indexer.get(object.namespace(), object.name()).into_iter().collect()
            }
            InDoubt::List { namespace, .. } => self.indexer.list(namespace.as_deref()),
        };
        let observed = Instant::now().into_std();
        for change in in_doubt.changes(present) {
            listeners.distribute(&change, Cause::Replay, &observed.into());
        }
        listeners.in_doubt = None;
    }

    fn ended_by(&self, Bug(text): &Bug, delay: Duration) {
        let retry_in_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
        tracing::error!(resource = %self.key, error = text, retry_in_ms, "a bug ended an informer, which starts again");
        self.failed(text, ErrorClass::Bug);
        for cell in &self.cells {
            cell.restarts();
            cell.back_off(delay);
        }
    }
}

// === impl Bug ===

impl Bug {
    /// Returns `None` if the task ended as it should. A task that was not halted must not return.
    fn in_task(ended: Result<(), JoinError>, halted: bool) -> Option<Self> {
        match ended {
            Ok(()) if halted => None,
            Ok(()) => Some(Self("a task of the informer returned although nothing stopped it".to_owned())),
            // Otherwise the runtime is shutting down.
            Err(error) => error.try_into_panic().ok().map(|panic| Self::panicked(panic.as_ref())),
        }
    }

    fn panicked(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<&str>().copied();
        let words = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        Self(format!("a task of the informer panicked: {}", words.unwrap_or("no message")))
    }
}
