//! Random scripts of changes and faults, played against a small API server that keeps its history.
//!
//! A [`Script`](script::Script) is a list of steps: changes of a collection, faults of a server and of its connections,
//! listeners that join and leave, and waits. [`world`] plays it under paused time on a simulated API server
//! ([`server`]) with resource versions, pages, compaction and a lagging watch cache. [`verdict`] compares everything
//! that listeners received with the server's history. The properties are in [`properties`], and scripts that once
//! failed are in [`regressions`]. [`races`] runs the informer on several threads in real time, where only the outcome
//! can be checked.
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
