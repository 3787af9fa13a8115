//! The synchronisation of the host under every order of events.
//!
//! Below are the very source files of `host/cache` that several tasks meet in, compiled once more with shuttle's
//! locks in the place of parking_lot's; the package in `dispatch/` does the same to all of `host/dispatch`.
//! Nothing in the sources knows of it, and no feature of the product is switched on. Shuttle runs a scenario
//! thousands of times, each time with another order of what its threads do between two steps, and ends with an
//! error where all of them wait for one another. Steps are the locks and, by way of the package in `tokio/`,
//! the notifications; tokio's channels are single steps.
//!
//! The modules stand at the root because they name one another from there: whatever else they come to need is
//! added to the list. The scenarios are in [`listening`],
//! [`queueing`] and [`keying`], the tests that run them in `tests/`.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "scenarios are tests")]

macro_rules! sources {
    ($($path:literal $name:ident)*) => {
        $(
            #[path = $path]
            #[allow(dead_code, unreachable_pub, reason = "a scenario needs a part of it")]
            mod $name;
        )*
    };
}

sources! {
    "../../../host/cache/src/delta_queue.rs" delta_queue
    "../../../host/cache/src/in_doubt.rs" in_doubt
    "../../../host/cache/src/listener.rs" listener
    "../../../host/cache/src/processor.rs" processor
}

pub mod keying;
pub mod listening;
mod objects;
pub mod queueing;
mod store;
