//! One instance: a store of its own, serving one call at a time.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use informer_types::{Delivery, Failure, FailureKind, Outcome, Reconciled, Request};
use wasmtime::{Store, StoreContextMut, UpdateDeadline};

use crate::{
    LogLevel,
    bindings::exports::informer::plugin::plugin::Info,
    call,
    exports::{Exports, Linked},
    failure::{DeadlineExceeded, HostCallsExceeded, classify},
    guest::Guest,
    schedule::{self, CallClock},
};

/// How long a healthy instance may take over `stop`.
const STOP_WITHIN: Duration = Duration::from_millis(500);

/// What a guest may hand over in one call to the host, in bytes: a list can name the same string a million times, and the host would
/// copy each, in one piece of work that nothing interrupts, at up to a millisecond for each MiB. The largest that anybody has to hand
/// over is the body of a request, of 3 MiB.
pub(crate) const HANDED_OVER_BYTES: usize = 4 << 20;

/// A living instance. Whoever makes a call owns it, so a call that is dropped drops the instance with it.
pub(crate) struct Instance {
    store: Store<Guest>,
    exports: Exports,
    /// That of the guest.
    clock: Arc<CallClock>,
    /// Deliveries made into it, and keys reconciled.
    pub(crate) calls: u64,
    pub(crate) idle_since: Instant,
    /// A call is running, or ended in a way after which nothing may run in this store any more.
    spoiled: bool,
}

// === impl Instance ===

impl Instance {
    /// Makes a store and instantiates.
    ///
    /// # Errors
    /// What the guest said, where its initialisation failed.
    pub(crate) async fn new(
        engine: &wasmtime::Engine,
        linked: &Linked,
        guest: Guest,
    ) -> Result<Self, Failure> {
        let clock = Arc::clone(&guest.call.clock);
        let allowed = guest.config.limits.deadline;
        let mut store = Store::new(engine, guest);
        store.limiter(|guest| &mut guest.memory);
        store.set_hostcall_fuel(HANDED_OVER_BYTES);
        store.epoch_deadline_callback(|context| tick(&context));
        begin(&mut store, allowed, 0, Duration::ZERO);
        let instantiated = clock.within(linked.instantiate(&mut store)).await;
        let exports = finish(&mut store, instantiated)?;
        store.data().counters.created();
        Ok(Self { store, exports, clock, calls: 0, idle_since: Instant::now(), spoiled: false })
    }

    /// Asks the guest who it is. After an error the instance is unusable.
    pub(crate) async fn describe(&mut self) -> Result<Info, Failure> {
        self.spoiled = true;
        let Self { store, exports, clock, .. } = self;
        let allowed = store.data().config.limits.deadline;
        begin(store, allowed, 0, Duration::ZERO);
        let returned = clock.within(exports.plugin.call_describe(&mut *store)).await;
        let info = finish(store, returned)?;
        self.settle();
        Ok(info)
    }

    /// Starts the guest; an error of its own is in the inner result. After either error the instance is unusable.
    pub(crate) async fn start(&mut self) -> Result<Result<(), String>, Failure> {
        self.spoiled = true;
        let Self { store, exports, clock, .. } = self;
        let allowed = store.data().config.limits.deadline;
        begin(store, allowed, 0, Duration::ZERO);
        let plugin = &exports.plugin;
        let returned = clock.within(async {
            match store.data_mut().start_config().await {
                Ok(config) => plugin.call_start(&mut *store, &config).await,
                Err(error) => Ok(Err(error.to_string())),
            }
        });
        let returned = returned.await;
        let started = finish(store, returned)?;
        if started.is_ok() {
            self.settle();
        }
        Ok(started)
    }

    /// Says goodbye. Whatever happens, the instance is gone afterwards.
    pub(crate) async fn stop(mut self) {
        let Self { store, exports, clock, .. } = &mut self;
        begin(store, STOP_WITHIN, 0, Duration::ZERO);
        let returned = clock.within(exports.plugin.call_stop(&mut *store)).await;
        if let Err(failure) = finish(store, returned) {
            let message = format!("the plugin did not stop cleanly: {}", failure.brief());
            store.data().output.afterwards(LogLevel::Warn, &message);
        }
    }

    /// Makes one delivery. Where [`Instance::usable`] says so the instance may serve again.
    pub(crate) async fn deliver(&mut self, delivery: &Delivery) -> Result<Outcome, Failure> {
        let Self { store, exports, clock, calls, spoiled, .. } = self;
        let Some(handler) = &exports.handler else {
            return Err(Failure::new(FailureKind::Host, "a notification for a component without `handler`"));
        };
        *calls += 1;
        *spoiled = true;
        let allowed = store.data().config.limits.deadline;
        begin(store, allowed, delivery.attempt, delivery.queued);
        let returned = clock.within(call::make(handler, store, delivery)).await;
        let answer = finish(store, returned)?;
        self.settle();
        Ok(call::outcome(answer))
    }

    /// Reconciles one key. Where [`Instance::usable`] says so the instance may serve again.
    pub(crate) async fn reconcile(&mut self, request: &Request) -> Result<Reconciled, Failure> {
        let Self { store, exports, clock, calls, spoiled, .. } = self;
        let Some(reconciler) = &exports.reconciler else {
            return Err(Failure::new(FailureKind::Host, "a key for a component without `reconciler`"));
        };
        *calls += 1;
        *spoiled = true;
        let allowed = store.data().config.limits.deadline;
        begin(store, allowed, request.attempt, request.queued);
        let returned = clock.within(reconciler.call_reconcile(&mut *store, &request.key)).await;
        let answer = finish(store, returned)?;
        self.settle();
        Ok(call::reconciled(answer))
    }

    /// False after a trap, a missed deadline, a refused allocation or an unfinished call.
    pub(crate) fn usable(&self) -> bool {
        !self.spoiled
    }

    /// The call returned. A guest may survive a refused allocation, but what state it is in then nobody knows; and
    /// tokens must not begin again.
    fn settle(&mut self) {
        let guest = self.store.data();
        self.spoiled = guest.memory.refused() || guest.call.objects.exhausted();
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        if self.spoiled {
            self.store.data().counters.retired();
        }
    }
}

/// The epoch advanced: the guest yields, unless it has to end.
fn tick(context: &StoreContextMut<'_, Guest>) -> wasmtime::Result<UpdateDeadline> {
    let call = &context.data().call;
    if context.data().made_too_many_calls() {
        return Err(HostCallsExceeded.into());
    }
    if Instant::now() >= call.clock.deadline() {
        return Err(DeadlineExceeded.into());
    }
    schedule::tick();
    Ok(UpdateDeadline::Yield(1))
}

fn begin(store: &mut Store<Guest>, allowed: Duration, attempt: u32, queued: Duration) {
    // The next tick from now; ticks that passed while the instance was idle do not count.
    store.set_epoch_deadline(1);
    store.data_mut().begin(allowed, attempt, queued);
}

/// Ends the call and turns a trap into a failure. A guest that returned before the tick that would have ended it has
/// failed all the same.
fn finish<T>(store: &mut Store<Guest>, returned: wasmtime::Result<T>) -> Result<T, Failure> {
    let guest = store.data_mut();
    let returned = match returned {
        Ok(_) if guest.made_too_many_calls() => Err(HostCallsExceeded.into()),
        returned => returned,
    };
    guest.end();
    returned.map_err(|error| classify(&error, guest))
}
