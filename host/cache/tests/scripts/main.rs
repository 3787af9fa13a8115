//! Any script of changes and faults, against a small API server that keeps the real history.
//!
//! [`Script`](script::Script) is a list of steps: changes of a collection, faults of a server and of its
//! connections, listeners that join and leave, time. [`world`] plays it under paused time on a simulated API
//! server ([`server`]) with resource versions, pages, compaction and a lagging watch cache; [`verdict`] holds
//! everything that was told against the server's own history. The properties are in [`properties`], what they
//! found once is in [`regressions`]. [`races`] runs the same informer on several threads, where time is real and
//! only the outcome can be told.
//!
//! ```text
//! PROPTEST_CASES=100000 cargo test -p informer-cache --test scripts     more scripts
//! PROPTEST_RNG_SEED=7   cargo test -p informer-cache --test scripts     the scripts of one run again
//! ```
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "the helpers of tests are tests too"
)]

mod body;
mod collection;
mod ledger;
mod listeners;
mod properties;
mod races;
mod recorder;
mod regressions;
mod script;
mod server;
mod strategy;
mod verdict;
mod world;
