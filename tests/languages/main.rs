//! Plugins in other languages: the examples, which log the same lines as those in Rust, and new projects.
//!
//! The tests build the components with the scripts of the examples, once for each state of their sources.
//! `cargo xtask test --all` runs them.
//!
//! | module | what it shows |
//! |---|---|
//! | `calls` | 10,000 calls in each language leave no memory behind, and an object of 1 MiB arrives whole |
//! | `chosen_for` | the examples that show what each language is chosen for play their stories |
//! | `controller` | a component in JavaScript that only exports `reconciler` receives keys, reads the cache and is retried |
//! | `same_lines` | a plugin in each language logs the same lines for the same changes |
//! | `projects` | what `informer new` writes in each language builds and runs |
//! | `sdk` | the SDKs are complete packages, and their unit tests pass |
//! | `story` | a plugin in each language uses its SDK: pages, a conflict, errors of the host, failures with a stack |
//! | `sdk_c` | the JSON parser of the SDK for C finds what serde_json finds |
//! | `sdk_go` | the SDK for Go is a module whose tests pass, as do those of new projects |
//! | `dev` | `informer dev` builds a project at the start and after each change |
//! | `guide` | each block of code of the plugin author's guide builds, and does what the guide says |
//! | `mistakes` | what beginners see of their mistakes in each language, and whether it says what to do |
//! | `resync` | each deployment is delivered again, unchanged, with the cause `resync` |
//!
//! What is shown for each toolchain. JavaScript and TypeScript run in QuickJS, which has no bindings for `wasi:http`. "TS, S." is
//! TypeScript in StarlingMonkey.
//!
//! | | Rust | JavaScript | TypeScript | TS, S. | Python | Go | C | by |
//! |---|---|---|---|---|---|---|---|---|
//! | events, fields, configuration, log with fields, lister, indexes, key-values over a restart, apply, update, Events, metrics, retries with a time, permanent failures, workqueue and reconciler | x | x | x | x | x | x | x | `guide`: one story for all |
//! | pages, a conflict, errors of the host, unicode, own writes, failures with a stack if the language has one | x | x | x | x | x | x | x | `story` |
//! | complete caches, timers, calls that a handler asks for, files that change, the age of a cache, values of an index | x | x | x | x | x | x | x | `story`, `guide` |
//! | 10,000 calls without growth of guest and host, every second one fails; an object of 1 MiB; unicode | x | x | x | with `max-calls` | x | x | x | `calls` |
//! | exception or trap, missed deadline, memory limit | x | x | x | x | x | x | x | `mistakes` |
//! | HTTP requests, answered and denied | x | | | x | x | x | x | `story`, `guide` |
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test ends by panicking, and prints what it measured"
)]

mod calls;
mod chosen_for;
mod cluster;
mod controller;
mod dev;
mod example;
mod guide;
mod mistakes;
#[path = "../e2e/controllers/pods.rs"]
mod pods;
mod projects;
mod resync;
mod same_lines;
mod sdk;
mod sdk_c;
mod sdk_go;
mod story;
