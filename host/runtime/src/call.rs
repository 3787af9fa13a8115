//! The calls of the host into an instance: the export of each call, its arguments, and the meaning of its result.

use std::{future::Future, sync::Arc, time::Duration};

use informer_types::{
    Cause, Change, Delivery, EventTrace, Failure, FailureKind, Notification, Object, Outcome, Reconciled,
    Request, Selected, Signal, SignalCall,
};
use wasmtime::Store;

use crate::{
    Limits, Subject,
    bindings::{
        exports::informer::plugin::{
            batch_handler,
            handler::{self, EventObject},
            plugin::Info,
            reconciler::{self, ReconcileError},
        },
        informer::plugin::types,
    },
    capabilities::{
        answer::{meta, meta_bytes},
        config::start_config,
        secret::Masks,
    },
    exports::{Exports, OnBatch},
    failure::failure,
    guest::{Attempt, Guest},
    interruption::Interruption,
};

/// The time limit of `stop`.
const STOP_WITHIN: Duration = Duration::from_millis(500);

/// A call of one export.
pub(crate) trait Call: Send {
    /// The result of the export, in terms of the host.
    type Answer: Send;

    /// If true, a call that does not return makes the instance unusable. Only `stop` has false, because the instance ends after it anyway.
    const SPOILS: bool = true;

    /// The time limit.
    fn allowed(&self, limits: &Limits) -> Duration {
        limits.deadline
    }

    fn attempt(&self) -> Attempt {
        Attempt::default()
    }

    /// The object or the key of the call, for the log. `None` if it has neither.
    fn subject(&self) -> Option<Subject> {
        None
    }

    /// Returns false if the instance may not serve after this answer.
    fn keeps_instance(_: &Self::Answer) -> bool {
        true
    }

    /// The failure that the guest returned, if the answer is one.
    fn failure(_: &mut Self::Answer) -> Option<&mut Failure> {
        None
    }

    /// Makes the call.
    fn run(
        self,
        exports: &Exports,
        store: &mut Store<Guest>,
    ) -> impl Future<Output = wasmtime::Result<Self::Answer>> + Send;
}

/// `plugin.describe`: the guest's name and version.
pub(crate) struct Describe;

/// `plugin.start`. The answer is the guest's own error, if it returned one.
pub(crate) struct Start;

/// `plugin.stop`.
pub(crate) struct Stop;

/// The objects of a notification, with their tokens.
struct Shown {
    object: EventObject,
    /// The state before an update.
    old: Option<u32>,
}

/// Several notifications for one call.
pub(crate) struct Batch(pub(crate) Vec<Delivery>);

// === impl Describe ===

impl Call for Describe {
    type Answer = Info;

    async fn run(self, exports: &Exports, store: &mut Store<Guest>) -> wasmtime::Result<Info> {
        let (info,) = exports.plugin.describe.call_async(store, ()).await?;
        Ok(info)
    }
}

// === impl Start ===

impl Call for Start {
    type Answer = Result<(), String>;

    fn keeps_instance(answer: &Self::Answer) -> bool {
        answer.is_ok()
    }

    async fn run(self, exports: &Exports, store: &mut Store<Guest>) -> wasmtime::Result<Self::Answer> {
        match start_config(store.data_mut()).await {
            Ok(config) => {
                store.data_mut().receives(config.len());
                let (started,) = exports.plugin.start.call_async(store, (config,)).await?;
                Ok(started)
            }
            Err(error) => Ok(Err(error.to_string())),
        }
    }
}

// === impl Stop ===

impl Call for Stop {
    type Answer = ();

    const SPOILS: bool = false;

    fn allowed(&self, _: &Limits) -> Duration {
        STOP_WITHIN
    }

    async fn run(self, exports: &Exports, store: &mut Store<Guest>) -> wasmtime::Result<()> {
        exports.plugin.stop.call_async(store, ()).await
    }
}

// === impl Delivery ===

/// `handler.on-add`, `on-update` or `on-delete`.
impl Call for &Delivery {
    type Answer = Outcome;

    fn attempt(&self) -> Attempt {
        let event = self.notification.observed.trace.clone();
        Attempt { number: self.attempt, queued: self.queued, event }
    }

    fn subject(&self) -> Option<Subject> {
        let Notification { source, change, .. } = &self.notification;
        Some(Subject::Object { source: source.clone(), object: Arc::clone(change.object()) })
    }

    fn failure(answer: &mut Outcome) -> Option<&mut Failure> {
        answer.failure()
    }

    async fn run(self, exports: &Exports, store: &mut Store<Guest>) -> wasmtime::Result<Outcome> {
        if let Some(on_batch) = &exports.on_batch {
            let outcomes = handle_batch(on_batch, store, std::slice::from_ref(self)).await?;
            // There is one outcome for one notification.
            return Ok(match outcomes.map(|outcomes| outcomes.into_iter().next()) {
                Ok(outcome) => outcome.unwrap_or(Outcome::Acknowledged),
                Err(failure) => Outcome::Retry { after: None, failure },
            });
        }
        let handler = exports.handler.as_ref().ok_or(Interruption::NotExported("handler"))?;
        let Delivery { notification, .. } = self;
        let Shown { object, old } = shown(store, notification);
        let cause = cause(notification.cause);
        let (answer,) = match notification.change {
            Change::Added { .. } => handler.on_add.call_async(&mut *store, (object, cause)).await?,
            Change::Updated { .. } => {
                handler.on_update.call_async(&mut *store, (old.unwrap_or(object.id), object, cause)).await?
            }
            Change::Deleted { final_state_known, .. } => {
                handler.on_delete.call_async(&mut *store, (object, final_state_known)).await?
            }
        };
        let again = store.data().call.again;
        Ok(match (outcome(answer), again) {
            (Outcome::Acknowledged, Some(after)) => Outcome::Again(after),
            (outcome, _) => outcome,
        })
    }
}

// === impl Batch ===

/// `batch-handler.on-batch`.
impl Call for &Batch {
    type Answer = Result<Vec<Outcome>, Failure>;

    /// The highest attempt and the longest wait of the batch, and the trace of the first sampled event.
    fn attempt(&self) -> Attempt {
        let Batch(deliveries) = self;
        let mut traces = deliveries.iter().map(|delivery| &delivery.notification.observed.trace);
        Attempt {
            number: deliveries.iter().map(|delivery| delivery.attempt).max().unwrap_or_default(),
            queued: deliveries.iter().map(|delivery| delivery.queued).max().unwrap_or_default(),
            event: traces.find(|trace| trace.is_sampled()).cloned().unwrap_or_default(),
        }
    }

    fn failure(answer: &mut Self::Answer) -> Option<&mut Failure> {
        match answer {
            Ok(outcomes) => outcomes.iter_mut().find_map(Outcome::failure),
            Err(failure) => Some(failure),
        }
    }

    async fn run(self, exports: &Exports, store: &mut Store<Guest>) -> wasmtime::Result<Self::Answer> {
        let Batch(deliveries) = self;
        let on_batch = exports.on_batch.as_ref().ok_or(Interruption::NotExported("batch-handler"))?;
        // The call has the trace of the first sampled event; the others have a span of the call only.
        let traces = deliveries.iter().map(|delivery| &delivery.notification.observed.trace);
        for trace in traces.filter(|trace| trace.is_sampled()).skip(1) {
            trace.begin_call(&store.data().config.name);
        }
        handle_batch(on_batch, store, deliveries).await
    }
}

/// Makes one call for these notifications. The answer has one outcome for each of them, or the failure of a guest that returned
/// another number.
async fn handle_batch(
    on_batch: &OnBatch,
    store: &mut Store<Guest>,
    deliveries: &[Delivery],
) -> wasmtime::Result<Result<Vec<Outcome>, Failure>> {
    let notifications = deliveries.iter().map(|delivery| batched(store, delivery)).collect();
    // `delivery.call-again` fails in each batch, also in a batch of one notification, so a guest need not count them.
    store.data_mut().call.handles = false;
    let (answers,) = on_batch.call_async(store, (notifications,)).await?;
    let (wanted, got) = (deliveries.len(), answers.len());
    if got != wanted {
        let message = format!(
            "`on-batch` returned {got} outcomes for {wanted} notifications; return one for each, in their order"
        );
        return Ok(Err(failed(message)));
    }
    Ok(Ok(answers.into_iter().map(batch_outcome).collect()))
}

/// A notification of a batch as the guest receives it.
fn batched(
    store: &mut Store<Guest>,
    Delivery { notification, attempt, .. }: &Delivery,
) -> batch_handler::Notification {
    let Shown { object: EventObject { gvr, meta, id }, old } = shown(store, notification);
    let (verb, final_state_known) = match notification.change {
        Change::Added { .. } => (batch_handler::Verb::Added, true),
        Change::Updated { .. } => (batch_handler::Verb::Updated, true),
        Change::Deleted { final_state_known, .. } => (batch_handler::Verb::Deleted, final_state_known),
    };
    let cause = match notification.cause {
        Cause::Live => batch_handler::Cause::Live,
        Cause::Initial => batch_handler::Cause::Initial,
        Cause::Relist => batch_handler::Cause::Relist,
        Cause::Resync => batch_handler::Cause::Resync,
        Cause::Replay => batch_handler::Cause::Replay,
    };
    batch_handler::Notification { verb, gvr, meta, id, old, final_state_known, cause, attempt: *attempt }
}

/// The objects of a notification as the guest receives them. The call holds them from now on.
fn shown(store: &mut Store<Guest>, Notification { source, change, .. }: &Notification) -> Shown {
    let masks = Masks::new(&store.data().config, source.gvr());
    let guest = store.data_mut();
    let mut hold = |object: &Arc<Object>| {
        guest.call.objects.hold(source.clone(), Arc::clone(object), masks.sight(object))
    };
    let old = match change {
        Change::Updated { old, .. } => Some(hold(old)),
        Change::Added { .. } | Change::Deleted { .. } => None,
    };
    let object = change.object();
    let (gvr, meta, id) = (source.to_string(), meta(object), hold(object));
    guest.receives(gvr.len() + meta_bytes(&meta));
    Shown { object: EventObject { gvr, meta, id }, old }
}

// === impl Request ===

/// `reconciler.reconcile`.
impl Call for &Request {
    type Answer = Reconciled;

    fn attempt(&self) -> Attempt {
        Attempt { number: self.attempt, queued: self.queued, event: self.trace.clone() }
    }

    fn subject(&self) -> Option<Subject> {
        Some(Subject::Key { key: Arc::clone(&self.key), version: self.version.clone() })
    }

    fn failure(answer: &mut Reconciled) -> Option<&mut Failure> {
        answer.failure()
    }

    async fn run(self, exports: &Exports, store: &mut Store<Guest>) -> wasmtime::Result<Reconciled> {
        let reconcile = exports.reconcile.as_ref().ok_or(Interruption::NotExported("reconciler"))?;
        store.data_mut().receives(self.key.len());
        let (answer,) = reconcile.call_async(store, (self.key.to_string(),)).await?;
        Ok(reconciled(answer))
    }
}

// === impl SignalCall ===

/// `sync-handler.on-synced`, `timer-handler.on-timer` or `config-handler.on-config`.
impl Call for &SignalCall {
    type Answer = Reconciled;

    fn attempt(&self) -> Attempt {
        Attempt { number: self.attempt, queued: self.queued, event: EventTrace::default() }
    }

    fn subject(&self) -> Option<Subject> {
        Some(Subject::Key { key: self.signal.to_string().into(), version: None })
    }

    fn failure(answer: &mut Reconciled) -> Option<&mut Failure> {
        answer.failure()
    }

    async fn run(self, exports: &Exports, store: &mut Store<Guest>) -> wasmtime::Result<Reconciled> {
        let (answer,) = match &self.signal {
            Signal::Synced(gvr) => {
                let on_synced =
                    exports.on_synced.as_ref().ok_or(Interruption::NotExported("sync-handler"))?;
                let Selected { objects, resource_version } = &self.selected;
                let (gvr, version) = (gvr.to_string(), resource_version.clone());
                store.data_mut().receives(gvr.len() + version.len());
                let objects = u32::try_from(*objects).unwrap_or(u32::MAX);
                on_synced.call_async(store, (gvr, objects, version)).await?
            }
            Signal::Timer(name) => {
                let on_timer = exports.on_timer.as_ref().ok_or(Interruption::NotExported("timer-handler"))?;
                store.data_mut().receives(name.len());
                on_timer.call_async(store, (name.to_string(),)).await?
            }
            Signal::Config => {
                let on_config =
                    exports.on_config.as_ref().ok_or(Interruption::NotExported("config-handler"))?;
                match start_config(store.data_mut()).await {
                    Ok(config) => {
                        store.data_mut().receives(config.len());
                        on_config.call_async(store, (config,)).await?
                    }
                    Err(error) => (Err(types::Failure::Retry(error.to_string())),),
                }
            }
        };
        Ok(match outcome(answer) {
            Outcome::Acknowledged | Outcome::Again(_) => Reconciled::Done,
            Outcome::Retry { after, failure } => Reconciled::Retry { after, failure },
            Outcome::Permanent { failure } => Reconciled::Terminal { failure },
        })
    }
}

/// The outcome of a notification.
fn outcome(answer: Result<(), types::Failure>) -> Outcome {
    match answer {
        Ok(()) => Outcome::Acknowledged,
        Err(types::Failure::Retry(message)) => Outcome::Retry { after: None, failure: failed(message) },
        Err(types::Failure::RetryAfter((message, millis))) => {
            Outcome::Retry { after: Some(Duration::from_millis(millis.into())), failure: failed(message) }
        }
        Err(types::Failure::Permanent(message)) => Outcome::Permanent { failure: failed(message) },
    }
}

/// The outcome of a notification of a batch.
fn batch_outcome(answer: batch_handler::Outcome) -> Outcome {
    match answer {
        batch_handler::Outcome::Handled => Outcome::Acknowledged,
        batch_handler::Outcome::Again(millis) => Outcome::Again(Duration::from_millis(millis.into())),
        batch_handler::Outcome::Failed(failure) => outcome(Err(failure)),
    }
}

/// The outcome of a key.
fn reconciled(answer: Result<reconciler::Outcome, ReconcileError>) -> Reconciled {
    match answer {
        Ok(reconciler::Outcome::Done) => Reconciled::Done,
        Ok(reconciler::Outcome::Requeue) => Reconciled::Requeue,
        Ok(reconciler::Outcome::RequeueAfter(millis)) => {
            Reconciled::RequeueAfter(Duration::from_millis(millis.into()))
        }
        Err(ReconcileError::Retry(message)) => Reconciled::Retry { after: None, failure: failed(message) },
        Err(ReconcileError::Terminal(message)) => Reconciled::Terminal { failure: failed(message) },
    }
}

fn failed(message: String) -> Failure {
    failure(FailureKind::Handler, message)
}

fn cause(cause: Cause) -> handler::Cause {
    match cause {
        Cause::Live => handler::Cause::Live,
        Cause::Initial => handler::Cause::Initial,
        Cause::Relist => handler::Cause::Relist,
        Cause::Resync => handler::Cause::Resync,
        Cause::Replay => handler::Cause::Replay,
    }
}
