//! Tests with the real kube-apiserver, etcd, kubectl and client-go. They need Go to build these programs once on each
//! machine. `cargo xtask test --all` runs them.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test ends by panicking"
)]

mod client;
mod custom_resources;
mod election;
mod faults;
mod host;
mod impersonation;
mod oracle;
mod permissions;
mod rbac;
mod ready_made;
mod restarts;
mod servers;
mod streaming;
mod support;
mod tenancy;
