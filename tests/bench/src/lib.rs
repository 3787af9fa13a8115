//! The benchmark: our cache with a sandboxed handler compared with kube-rs and client-go and a native handler.
//!
//! `cargo xtask bench` runs it. `README.md` explains what is measured and why it is fair. In the order of a run:
//!
//! 1. [`driver`] starts a server and one subject at a time, and prints the table.
//! 2. [`server`] sends a rendered [`collection`] from a separate process.
//! 3. A [`subject`] lists, watches, caches and counts in a separate process: [`informer`] is ours, [`kube_rs`] and
//!    the Go program in `client-go` are the peers.
//!
//! Other measurements run the whole [`host`]: [`density`] with many idle plugins, and [`costs`] of single events, reads and reloads.
//!
//! The tests do not measure time: they assert that every subject handles every event.
#![forbid(unsafe_code)]

pub mod client;
pub mod collection;
pub mod costs;
pub mod density;
pub mod driver;
pub mod host;
pub mod informer;
pub mod kube_rs;
mod machine;
mod metrics;
mod processes;
pub mod server;
mod statistics;
pub mod subject;
mod usage;
mod variant;
