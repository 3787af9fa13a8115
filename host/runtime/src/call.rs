//! The calls that the host makes into an instance: which export, with what, and what the result means.

use std::{future::Future, sync::Arc, time::Duration};

use informer_types::{Cause, Change, Delivery, Failure, FailureKind, Object, Outcome, Reconciled, Request};
use wasmtime::Store;

use crate::{
    Limits,
    bindings::exports::informer::plugin::{
        handler::{self, EventObject},
        plugin::Info,
        reconciler::{self, ReconcileError},
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

    /// Returns false if the instance may not serve after this answer.
    fn keeps_instance(_: &Self::Answer) -> bool {
        true
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
        exports.plugin.call_describe(store).await
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
                exports.plugin.call_start(store, &config).await
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
        exports.plugin.call_stop(store).await
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
        let answer = match &notification.change {
            Change::Added { object } => {
                let object = event(store, object);
                handler.call_on_add(store, &object, cause).await
            }
            Change::Updated { old, new } => {
                let old = hold(store, old, &masks);
                let new = event(store, new);
                handler.call_on_update(store, old, &new, cause).await
            }
            Change::Deleted { object, final_state_known } => {
                let object = event(store, object);
                handler.call_on_delete(store, &object, *final_state_known).await
            }
        };
        answer.map(outcome)
    }
}

// === impl Request ===

/// `reconciler.reconcile`.
impl Call for &Request {
    type Answer = Reconciled;

    fn attempt(&self) -> Attempt {
        Attempt { number: self.attempt, queued: self.queued, event: self.trace.clone() }
    }

    async fn run(self, exports: &Exports, store: &mut Store<Guest>) -> wasmtime::Result<Reconciled> {
        let reconciler = exports.reconciler.as_ref().ok_or(Interruption::NotExported("reconciler"))?;
        store.data_mut().receives(self.key.len());
        reconciler.call_reconcile(store, &self.key).await.map(reconciled)
    }
}

/// The outcome of a notification.
fn outcome(answer: Result<(), handler::Failure>) -> Outcome {
    match answer {
        Ok(()) => Outcome::Acknowledged,
        Err(handler::Failure::Retry(message)) => Outcome::Retry { after: None, failure: failed(message) },
        Err(handler::Failure::RetryAfter((message, millis))) => {
            Outcome::Retry { after: Some(Duration::from_millis(millis.into())), failure: failed(message) }
        }
        Err(handler::Failure::Permanent(message)) => Outcome::Permanent { failure: failed(message) },
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
        Err(ReconcileError::Retry(message)) => Reconciled::Retry { failure: failed(message) },
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
