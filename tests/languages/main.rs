//! Plugins in other languages: the examples, which log the same lines as those in Rust, and new projects.
//!
//! The tests build the components with the scripts of the examples, once for each state of their sources.
//! `cargo xtask test --all` runs them.
//!
//! | module | what it shows |
//! |---|---|
//! | `controller` | a component in JavaScript that only exports `reconciler` receives keys, reads the cache and is retried |
//! | `same_lines` | a plugin in each language logs the same lines for the same changes |
//! | `projects` | what `informer new` writes in each language builds and runs |
//! | `sdk` | the SDKs are complete packages, and their unit tests pass |
//! | `story` | a plugin in each language uses its SDK: pages, a conflict, errors of the host, failures with a stack |
//! | `sdk_go` | the SDK for Go is a module whose tests pass, as do those of new projects |
//! | `dev` | `informer dev` builds a project at the start and after each change |
//! | `resync` | each deployment is delivered again, unchanged, with the cause `resync` |
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test ends by panicking, and prints what it measured"
)]

mod cluster;
mod controller;
mod dev;
mod example;
#[path = "../e2e/controllers/pods.rs"]
mod pods;
mod projects;
mod resync;
mod same_lines;
mod sdk;
mod sdk_go;
mod story;
