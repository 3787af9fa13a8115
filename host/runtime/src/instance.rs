//! One instance: a store of its own, which serves one call at a time.

use std::{pin::pin, sync::Arc, time::Instant};

use informer_types::Failure;
use tokio::time;
use wasmtime::{Store, StoreContextMut, UpdateDeadline};

use crate::{
    LogLevel,
    call::{Call, Stop},
    component::Symbols,
    debug_info::{Frame, Place},
    exports::{Exports, Linked},
    failure::{backtrace, classify, without_memory},
    guest::{Attempt, Guest},
    interruption::{HANDED_OVER_BYTES, Interruption},
    memory::Amount,
    schedule::{self, CallClock},
};

/// The most handles of the component model that a guest may hold at a time, those of its own resources included. Each takes 24
/// bytes of the host. The default of wasmtime is ten times as much.
const COMPONENT_HANDLES: usize = 10_000;

/// A living instance. A call owns its instance, so a call that is dropped drops the instance too.
pub(crate) struct Instance {
    store: Store<Guest>,
    exports: Exports,
    /// The clock of the guest.
    clock: Arc<CallClock>,
    /// Calls for notifications, batches, keys and signals. `describe` and `start` do not count.
    pub(crate) calls: u64,
    pub(crate) idle_since: time::Instant,
    /// True while a call runs, and after a call that left the store unusable.
    spoiled: bool,
}

// === impl Instance ===

impl Instance {
    /// Makes a store and instantiates the component in it. Its memory is charged before it is allocated.
    ///
    /// # Errors
    /// The failure of the guest's initialisation.
    pub(crate) async fn new(
        engine: &wasmtime::Engine,
        linked: &Linked,
        structures: Amount,
        guest: Guest,
    ) -> Result<Self, Failure> {
        let clock = Arc::clone(&guest.call.clock);
        let allowed = guest.config.limits.deadline;
        let mut store = Store::new(engine, guest);
        store.limiter(|guest| &mut guest.memory);
        store.set_hostcall_fuel(HANDED_OVER_BYTES);
        store.set_max_component_handles(COMPONENT_HANDLES);
        store.epoch_deadline_callback(|context| tick(&context));
        start_epoch(&mut store);
        store.data_mut().begin(allowed, Attempt::default(), None);
        let charged = store.data_mut().memory.charge_structures(structures);
        let instantiated = if charged {
            clock.within(linked.instantiate(&mut store)).await
        } else {
            Err(Interruption::Memory.into())
        };
        let exports = finish(&mut store, instantiated).await?;
        store.data().counters.instances.created.increment();
        Ok(Self { store, exports, clock, calls: 0, idle_since: time::Instant::now(), spoiled: false })
    }

    /// Makes a call. The instance may serve again if [`Instance::usable`] returns true.
    ///
    /// # Errors
    /// The failure, if the call did not return.
    pub(crate) async fn call<C: Call>(&mut self, call: C) -> Result<C::Answer, Failure> {
        self.spoiled = C::SPOILS;
        let Self { store, exports, clock, .. } = self;
        let allowed = call.allowed(&store.data().config.limits);
        start_epoch(store);
        store.data_mut().begin(allowed, call.attempt(), call.subject());
        let returned = clock.within(pin!(call.run(exports, store))).await;
        let mut answer = finish(store, returned).await?;
        if store.data().memory.refused.is_some() {
            without_memory(store.data(), C::failure(&mut answer));
        }
        if C::keeps_instance(&answer) {
            // After a refused allocation the state of the guest is unknown. If the tokens may run out, the instance ends so
            // that tokens never repeat.
            self.spoiled = store.data().memory.refused.is_some() || store.data().call.objects.exhausted();
        }
        Ok(answer)
    }

    /// Calls `stop` and drops the instance. A failure is logged.
    pub(crate) async fn stop(mut self) {
        if let Err(failure) = self.call(Stop).await {
            let message = format!("the plugin did not stop cleanly: {}", failure.brief());
            self.store.data().output.afterwards(LogLevel::Warn, &message);
        }
    }

    /// Returns false after a trap, a missed deadline, a refused allocation, a failed `start` or an unfinished call, and if the tokens of
    /// objects may run out.
    pub(crate) fn usable(&self) -> bool {
        !self.spoiled
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        if self.spoiled {
            self.store.data().counters.instances.retired.increment();
        }
    }
}

/// Runs when the epoch advances: the guest yields, or its call ends.
fn tick(context: &StoreContextMut<'_, Guest>) -> wasmtime::Result<UpdateDeadline> {
    if context.data().made_too_many_calls() {
        return Err(Interruption::HostCalls.into());
    }
    if Instant::now() >= context.data().call.clock.deadline() {
        return Err(Interruption::Deadline.into());
    }
    schedule::tick();
    Ok(UpdateDeadline::Yield(1))
}

/// Lets the next tick interrupt the guest. Ticks that passed while the instance was idle do not count.
fn start_epoch(store: &mut Store<Guest>) {
    store.set_epoch_deadline(1);
}

/// Ends the call and turns a trap into a failure. A guest that made too many calls to the host has failed even if it
/// returned before the tick that would have ended it.
async fn finish<T>(store: &mut Store<Guest>, returned: wasmtime::Result<T>) -> Result<T, Failure> {
    let guest = store.data_mut();
    let error = match returned {
        Ok(_) if guest.made_too_many_calls() => Err(Interruption::HostCalls.into()),
        returned => returned,
    };
    guest.end();
    let error = match error {
        Ok(returned) => return Ok(returned),
        Err(error) => error,
    };
    let frames = backtrace(&error);
    // Boxed: most calls do not fail.
    let places = Box::pin(places(guest.symbols.clone(), &frames)).await;
    Err(classify(&error, &places, store.data()))
}

/// The places of all frames. A frame about which nothing is known has the name of its function, if there is one.
async fn places(symbols: Option<Arc<Symbols>>, frames: &[Frame]) -> Vec<Place> {
    let found = match symbols {
        Some(symbols) if !frames.is_empty() => symbols.places(frames).await,
        _ => vec![Vec::new(); frames.len()],
    };
    let or_named = |(places, frame): (Vec<Place>, &Frame)| match places.is_empty() {
        true => frame.named().into_iter().collect(),
        false => places,
    };
    found.into_iter().zip(frames).flat_map(or_named).collect()
}
