//! One instance: a store of its own, serving one call at a time.

use std::{
    future::Future,
    time::{Duration, Instant},
};

use informer_types::{Cause, Change, Delivery, Failure, FailureKind, Outcome};
use tokio::time::timeout;
use wasmtime::{Store, UpdateDeadline};

use crate::{
    bindings::{
        EventHandlerWithLister,
        exports::informer::plugin::{
            handler::{self, EventObject},
            plugin::Info,
        },
    },
    capabilities::meta,
    failure::{DeadlineExceeded, classify},
    guest::Guest,
};

/// How long a healthy instance may take over `stop`.
const STOP_WITHIN: Duration = Duration::from_millis(500);

/// What the timeout around a call allows beyond the deadline: the epoch, which has better words, goes first.
const GRACE: Duration = Duration::from_millis(50);

/// A living instance. It is moved into each call, so a call that is dropped drops the instance.
pub(crate) struct Instance {
    store: Store<Guest>,
    exports: EventHandlerWithLister,
    /// Deliveries made into it.
    pub(crate) calls: u64,
    pub(crate) idle_since: Instant,
}

/// How a call into a guest ended, when the guest returned.
pub(crate) type Called<T> = Result<T, Failure>;

/// What one call left behind, for the counters.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spent {
    pub(crate) log_bytes_dropped: u64,
    pub(crate) memory_refusals: u64,
}

// === impl Instance ===

impl Instance {
    /// Makes a store, instantiates, and asks who it is.
    pub(crate) async fn new(
        engine: &wasmtime::Engine,
        linked: &crate::bindings::EventHandlerWithListerPre<Guest>,
        guest: Guest,
    ) -> Called<Self> {
        let deadline = guest.limits.deadline;
        let mut store = Store::new(engine, guest);
        store.limiter(|guest| &mut guest.memory);
        // One tick from now, and then each tick: the guest yields, and its deadline is checked.
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(|context| {
            if Instant::now() >= context.data().call.deadline {
                return Err(DeadlineExceeded.into());
            }
            Ok(UpdateDeadline::Yield(1))
        });
        begin(&mut store, deadline, 0, Duration::ZERO);
        let instantiated = timeout(deadline + GRACE, linked.instantiate_async(&mut store)).await;
        let exports = finish(&mut store, instantiated.map_err(|_| DeadlineExceeded.into()).flatten())?;
        Ok(Self { store, exports, calls: 0, idle_since: Instant::now() })
    }

    pub(crate) async fn describe(&mut self) -> Called<Info> {
        let Self { store, exports, .. } = self;
        let deadline = store.data().limits.deadline;
        begin(store, deadline, 0, Duration::ZERO);
        let result = within(deadline, exports.informer_plugin_plugin().call_describe(&mut *store)).await;
        finish(store, result)
    }

    /// An error of the guest's own is in the inner result.
    pub(crate) async fn start(&mut self, config: &str) -> Called<Result<(), String>> {
        let Self { store, exports, .. } = self;
        let deadline = store.data().limits.deadline;
        begin(store, deadline, 0, Duration::ZERO);
        let result = within(deadline, exports.informer_plugin_plugin().call_start(&mut *store, config)).await;
        finish(store, result)
    }

    /// Says goodbye. Whatever happens, the instance is gone afterwards.
    pub(crate) async fn stop(mut self) {
        let Self { store, exports, .. } = &mut self;
        begin(store, STOP_WITHIN, 0, Duration::ZERO);
        let result = within(STOP_WITHIN, exports.informer_plugin_plugin().call_stop(&mut *store)).await;
        if let Err(failure) = finish(store, result) {
            tracing::warn!(plugin = %store.data().plugin, %failure, "stop failed");
        }
    }

    /// Makes one delivery. `Err`: the instance is unusable.
    pub(crate) async fn deliver(&mut self, delivery: &Delivery) -> Called<Outcome> {
        self.calls += 1;
        let Self { store, exports, .. } = self;
        let deadline = store.data().limits.deadline;
        begin(store, deadline, delivery.attempt, delivery.queued);
        let handler = exports.informer_plugin_handler();
        let result = within(deadline, call(handler, store, delivery)).await;
        finish(store, result).map(|returned| match returned {
            Ok(()) => Outcome::Acknowledged,
            Err(failure) => outcome(failure),
        })
    }

    /// What the calls since the last time this was asked left behind.
    pub(crate) fn take_spent(&mut self) -> Spent {
        let guest = self.store.data_mut();
        Spent {
            log_bytes_dropped: std::mem::take(&mut guest.log_bytes_dropped),
            memory_refusals: guest.memory.take_refusals(),
        }
    }

    /// True where the guest was refused memory since the last [`Instance::take_spent`].
    pub(crate) fn was_refused_memory(&self) -> bool {
        self.store.data().memory.refusals() > 0
    }
}

async fn call(
    handler: &handler::Guest,
    store: &mut Store<Guest>,
    delivery: &Delivery,
) -> wasmtime::Result<Result<(), handler::Failure>> {
    let notification = &delivery.notification;
    let gvr = notification.source.to_string();
    let cause = cause(notification.cause);
    let mut hold = |object: &std::sync::Arc<informer_types::Object>| {
        store.data_mut().call.objects.hold(std::sync::Arc::clone(object))
    };
    let event =
        |object: &informer_types::Object, id| EventObject { gvr: gvr.clone(), meta: meta::of(object), id };
    match &notification.change {
        Change::Added { object } => {
            let event = event(object, hold(object));
            handler.call_on_add(store, &event, cause).await
        }
        Change::Updated { old, new } => {
            let old = hold(old);
            let event = event(new, hold(new));
            handler.call_on_update(store, old, &event, cause).await
        }
        Change::Deleted { object, final_state_known } => {
            let event = event(object, hold(object));
            handler.call_on_delete(store, &event, *final_state_known).await
        }
    }
}

fn begin(store: &mut Store<Guest>, within: Duration, attempt: u32, queued: Duration) {
    let guest = store.data_mut();
    guest.output.begin();
    guest.call.begin(Instant::now() + within, attempt, queued);
}

/// Lets go of what belonged to the call and turns a trap into a failure.
fn finish<T>(store: &mut Store<Guest>, result: wasmtime::Result<T>) -> Called<T> {
    let guest = store.data_mut();
    guest.log_bytes_dropped += guest.output.end();
    guest.call.end();
    result.map_err(|error| classify(&error, guest))
}

/// The deadline, for a guest that waits in the host instead of running.
async fn within<T>(
    deadline: Duration,
    call: impl Future<Output = wasmtime::Result<T>>,
) -> wasmtime::Result<T> {
    timeout(deadline + GRACE, call).await.unwrap_or_else(|_| Err(DeadlineExceeded.into()))
}

fn outcome(failure: handler::Failure) -> Outcome {
    let failed = |message| Failure::new(FailureKind::Handler, message);
    match failure {
        handler::Failure::Retry(message) => Outcome::Retry { after: None, failure: failed(message) },
        handler::Failure::RetryAfter((message, millis)) => {
            Outcome::Retry { after: Some(Duration::from_millis(millis.into())), failure: failed(message) }
        }
        handler::Failure::Permanent(message) => Outcome::Permanent { failure: failed(message) },
    }
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
