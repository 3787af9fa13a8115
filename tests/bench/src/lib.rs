//! The benchmark: our cache with a sandboxed handler against kube-rs with a native one.
//!
//! `cargo xtask bench` runs it; `README.md` says what is measured and why it is fair. In the order of a run:
//!
//! 1. [`driver`] starts a server and one subject at a time, and prints the table.
//! 2. [`server`] sends [`pods`] that were rendered before, in a process of its own.
//! 3. A [`subject`] lists, watches, keeps and counts, in a process of its own: [`informer`] is ours, [`kube_rs`]
//!    the peer.
//!
//! Nothing is timed in tests: they assert that every subject handles every event.
#![forbid(unsafe_code)]

pub mod client;
pub mod driver;
pub mod informer;
pub mod kube_rs;
pub mod pods;
pub mod server;
pub mod subject;
