//! The real kubectl against the embedded API server, with the host and the Rust example behind it.
//!
//! Each change that kubectl makes must be in the component's words at once: how long it took from kubectl's exit is
//! printed, and the last line printed is about all changes of the run. Run by `cargo xtask test --all`.
//!
//! | module | what it shows |
//! |---|---|
//! | `changes` | create, label, annotate, scale, set image, patch, delete |
//! | `applied` | apply on either side removes what the manifest no longer has |
//! | `reads` | get in its shapes, describe, get -w |
//! | `definitions` | namespaces, custom resources, api-resources |
//! | `dev_command` | the same through the binary: `informer dev` |
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test ends by panicking"
)]

mod applied;
mod changes;
mod client;
mod definitions;
mod dev_command;
mod reads;
mod stage;
