//! The life of an informer: discovery, then its tasks, then their end.

use std::{any::Any, sync::Arc};

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::Inner;
use crate::{
    ErrorClass, FactoryConfig, Phase, ReflectorError,
    controller::Controller,
    decode::Decoder,
    delta_queue::delta_queue,
    discovery::{Resource, discover},
    error::chain,
    list_watch::{ListWatch, Transport},
    reflector::{Backoff, Reflector},
    request::Collection,
    resync,
};

/// Runs an informer until it is asked to stop; returns after every one of its tasks has ended (C-1, P-18).
pub(crate) async fn run(inner: Arc<Inner>, transport: Transport, config: Arc<FactoryConfig>) {
    // Says "ended" however this future ends.
    let ended = inner.ended.clone().drop_guard();
    let stop = inner.stop.clone();
    let mut phase = Phase::Stopped;
    if let Some(resource) = stop.run_until_cancelled(find_resource(&inner, &transport, &config)).await {
        let mut tasks = spawn(&inner, &transport, &config, &resource);
        while let Some(task) = tasks.join_next().await {
            if let Err(error) = task
                && error.is_panic()
            {
                let text = format!("a task of the informer panicked: {}", words(error.into_panic().as_ref()));
                tracing::error!(resource = %inner.key, error = text, "informer failed");
                inner.failed(&text, ErrorClass::Bug);
                phase = Phase::Failed;
                stop.cancel();
            }
        }
    }
    inner.processor.close();
    inner.enter(phase);
    drop(ended);
}

/// Asks until the server knows the resource: a CRD may come later.
async fn find_resource(inner: &Inner, transport: &Transport, config: &FactoryConfig) -> Resource {
    let mut backoff = Backoff::new(config.backoff);
    loop {
        inner.enter(Phase::Discovering);
        match discover(transport, &inner.key.gvr, !inner.key.namespaces.is_empty()).await {
            Ok(resource) => return resource,
            Err(error) => {
                let error = ReflectorError::from(error);
                let delay = backoff.draw(error.retry_after());
                let (text, class) = (chain(&error), error.class());
                tracing::warn!(resource = %inner.key, class = class.as_str(), error = text, "discovery backs off");
                inner.failed(&text, class);
                inner.enter(Phase::BackingOff);
                tokio::time::sleep(delay).await;
            }
        }
    }
}

/// Starts the controller, the resync timer and a reflector for each namespace. When the stop comes the
/// producers are dropped, which closes the queue, and the controller ends once it is empty.
fn spawn(
    inner: &Arc<Inner>,
    transport: &Transport,
    config: &FactoryConfig,
    resource: &Resource,
) -> JoinSet<()> {
    let (sender, receiver) = delta_queue(config.delta_queue_capacity);
    let mut tasks = JoinSet::new();
    let synced = inner.synced.clone();
    // Only this task starts the informer, and it does so once.
    let _ = inner.queue.set(sender.gauge());
    let controller = Controller::new(
        receiver,
        Arc::clone(&inner.indexer),
        Arc::clone(&inner.processor),
        &inner.cells,
        synced,
    );
    tasks.spawn(controller.run());
    let timer = resync::run(Arc::clone(&inner.processor), sender.clone(), inner.synced.subscribe());
    tasks.spawn(until_stopped(inner.stop.clone(), timer));
    let decoder = Arc::new(Decoder::new(&resource.kind, &inner.config, config.max_object_bytes));
    for (scope, cell) in inner.cells.iter().enumerate() {
        let collection = Collection {
            gvr: inner.key.gvr.clone(),
            namespace: cell.namespace().map(str::to_owned),
            labels: inner.key.labels.clone(),
            fields: inner.key.fields.clone(),
        };
        let list_watch = ListWatch::new(transport.clone(), collection);
        let scope = (scope, Arc::clone(cell));
        let reflector = Reflector::new(list_watch, Arc::clone(&decoder), sender.clone(), scope, config);
        tasks.spawn(until_stopped(inner.stop.clone(), reflector.run()));
    }
    tasks
}

/// The task, dropped at its next await once the informer is asked to stop.
async fn until_stopped(stop: CancellationToken, task: impl Future<Output = ()>) {
    stop.run_until_cancelled(task).await;
}

fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}
