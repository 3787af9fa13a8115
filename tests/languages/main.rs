//! The JavaScript and Python examples: the same story as the Rust examples, the same lines.
//!
//! Builds the components with the scripts that the examples' READMEs name, once for each state of their sources. Run
//! by `cargo xtask test --all`.
//!
//! | module | what it shows |
//! |---|---|
//! | `controller` | a component in JavaScript that exports `reconciler` alone gets keys, reads the cache and is retried |
//! | `same_lines` | one host, one plugin a language, one story: they say the same |
//! | `resync` | each deployment comes again, unchanged, with the cause `resync` |
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test ends by panicking")]

mod cluster;
mod controller;
mod example;
#[path = "../e2e/controllers/pods.rs"]
mod pods;
mod resync;
mod same_lines;
mod toolchain;
