//! The real kubectl with the embedded API server, the host and the Rust example.
//!
//! The component must log each change by kubectl at once. The tests print how long that takes after kubectl exits; the
//! last line summarises all changes of the run. `cargo xtask test --all` runs these tests.
//!
//! | module | what it shows |
//! |---|---|
//! | `changes` | create, label, annotate, scale, set image, patch, delete |
//! | `applied` | client-side and server-side apply remove what the manifest no longer has |
//! | `reads` | get in all output formats, describe, get -w |
//! | `definitions` | namespaces, custom resources, api-resources |
//! | `dev_command` | the binary `informer dev` with kubectl |
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
mod definitions;
mod dev_command;
mod reads;
mod stage;

/// The path of a file in `manifests`.
pub(crate) fn manifest(name: &str) -> String {
    format!("{}/kubectl/manifests/{name}", env!("CARGO_MANIFEST_DIR"))
}
