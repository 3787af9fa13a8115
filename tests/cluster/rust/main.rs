//! What the real kube-apiserver, etcd and kubectl do when our launcher runs them: the ground other conformance tests
//! stand on. Needs Go once; `cargo xtask test --all` runs it.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test ends by panicking"
)]

mod client;
mod custom_resources;
mod faults;
mod host;
mod oracle;
mod permissions;
mod rbac;
mod restarts;
mod servers;
mod streaming;
mod support;
