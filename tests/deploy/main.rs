//! The chart and the kustomize files in `host/deploy`. Those tests that render them need helm and kubectl, built with
//! Go: `cargo xtask test --all` runs them.
//!
//! | module | what it shows |
//! |---|---|
//! | `shipped` | the files belong together: configuration, roles, versions |
//! | `chart` | what Helm makes of values, and which values it refuses |
//! | `kustomize` | what kubectl makes of the overlays, and that chart and overlay agree |
//! | `server` | the real kube-apiserver accepts both, and a changed configuration restarts nothing |
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test ends by panicking")]

mod chart;
mod kustomize;
mod manifests;
mod server;
mod shipped;
