//! The chart and the kustomize files in `host/deploy`. Those tests that render them need helm, kubectl and promtool, built with
//! Go: `cargo xtask test --all` runs them.
//!
//! | module | what it shows |
//! |---|---|
//! | `shipped` | the files belong together: configuration, roles, versions |
//! | `chart` | what Helm makes of values, and which values it refuses |
//! | `own_files` | what the chart makes of the configuration and the roles of an operator |
//! | `replicas` | several pods in the chart: their lease, its role, their upgrade, and what is refused |
//! | `kustomize` | what kubectl makes of the overlays, and that chart and overlay agree |
//! | `monitoring` | promtool accepts rules and metrics, and each query of the dashboard finds its series |
//! | `server` | the real kube-apiserver accepts both, and a changed configuration restarts nothing |
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test ends by panicking")]

mod chart;
mod kustomize;
mod manifests;
mod monitoring;
mod own_files;
mod replicas;
mod server;
mod shipped;
