//! The calls that the host makes into an instance: which export, with what, and what the result means.

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
    exports::Exports,
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

    /// False if the instance ends after the call in any case.
    const SPOILS: bool = true;

    /// The time limit.
    fn allowed(&self, limits: &Limits) -> Duration {
        limits.deadline
    }

    fn attempt(&self) -> Attempt {
        Attempt::default()
    }

    /// What the call is for, for the log. `None` if it is for no object and no key.
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
        let handler = exports.handler.as_ref().ok_or(Interruption::NotExported("handler"))?;
        let notification = &self.notification;
        let cause = cause(notification.cause);
        let gvr = notification.source.to_string();
        store.data_mut().call.objects.are_of(notification.source.clone());
        let masks = Masks::new(&store.data().config, notification.source.gvr());
        let event = |store: &mut Store<Guest>, object: &Arc<Object>| {
            let meta = meta(object);
            store.data_mut().receives(gvr.len() + meta_bytes(&meta));
            EventObject { gvr, meta, id: hold(store, object, &masks) }
        };
        let (answer,) = match &notification.change {
            Change::Added { object } => {
                let object = event(store, object);
                handler.on_add.call_async(&mut *store, (object, cause)).await?
            }
            Change::Updated { old, new } => {
                let old = hold(store, old, &masks);
                let new = event(store, new);
                handler.on_update.call_async(&mut *store, (old, new, cause)).await?
            }
            Change::Deleted { object, final_state_known } => {
                let object = event(store, object);
                handler.on_delete.call_async(&mut *store, (object, *final_state_known)).await?
            }
        };
        let again = store.data().call.again;
        Ok(match (outcome(answer), again) {
            (Outcome::Acknowledged, Some(after)) => Outcome::Again(after),
            (outcome, _) => outcome,
        })
    }
}

// === impl Request ===

/// `reconciler.reconcile`.
impl Call for &Request {
    type Answer = Reconciled;

    fn attempt(&self) -> Attempt {
        Attempt { number: self.attempt, queued: self.queued, event: self.trace.clone() }
    }

    fn subject(&self) -> Option<Subject> {
        Some(Subject::Key(Arc::clone(&self.key)))
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
        Some(Subject::Key(self.signal.to_string().into()))
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

fn hold(store: &mut Store<Guest>, object: &Arc<Object>, masks: &Masks) -> u32 {
    store.data_mut().call.objects.hold(Arc::clone(object), masks.hide(object))
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
