//! One delivery as a call of `handler`, one key as a call of `reconciler`, and what their answers mean.

use std::{sync::Arc, time::Duration};

use informer_types::{Cause, Change, Delivery, FailureKind, Object, Outcome, Reconciled};
use wasmtime::Store;

use crate::{
    bindings::exports::informer::plugin::{
        handler::{self, EventObject, Guest as Handler},
        reconciler::{self, ReconcileError},
    },
    capabilities::{meta, secret::Masks},
    failure::failure,
    guest::Guest,
};

/// Makes the call: `on-add`, `on-update` or `on-delete`.
pub(crate) async fn make(
    handler: &Handler,
    store: &mut Store<Guest>,
    delivery: &Delivery,
) -> wasmtime::Result<Result<(), handler::Failure>> {
    let notification = &delivery.notification;
    let cause = cause(notification.cause);
    let gvr = notification.source.to_string();
    store.data_mut().call.objects.are_of(notification.source.clone());
    let masks = Masks::new(&store.data().config, notification.source.gvr());
    let event = |store: &mut Store<Guest>, object: &Arc<Object>| EventObject {
        gvr,
        meta: meta::of(object),
        id: hold(store, object, &masks),
    };
    match &notification.change {
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
    }
}

/// What the handler's answer means for the notification.
pub(crate) fn outcome(answer: Result<(), handler::Failure>) -> Outcome {
    let failed = |message| failure(FailureKind::Handler, message);
    match answer {
        Ok(()) => Outcome::Acknowledged,
        Err(handler::Failure::Retry(message)) => Outcome::Retry { after: None, failure: failed(message) },
        Err(handler::Failure::RetryAfter((message, millis))) => {
            Outcome::Retry { after: Some(Duration::from_millis(millis.into())), failure: failed(message) }
        }
        Err(handler::Failure::Permanent(message)) => Outcome::Permanent { failure: failed(message) },
    }
}

/// What the reconciler's answer means for the key.
pub(crate) fn reconciled(answer: Result<reconciler::Outcome, ReconcileError>) -> Reconciled {
    let failed = |message| failure(FailureKind::Handler, message);
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
