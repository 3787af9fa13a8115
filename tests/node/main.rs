//! The image, the chart and the overlay on a real Kubernetes of one node. `cargo xtask test --node` runs these tests: as root, in a network
//! namespace of their own, one after another.
//!
//! | module | what it shows |
//! |---|---|
//! | `programs` | the programs of the node can be built; this runs first, with the network of the machine |
//! | `chart` | installed by Helm: probes, isolation, logs, exec, port-forward, scraping, a changed ConfigMap, an upgrade without a lost object |
//! | `overlay` | installed by kustomize, and stopped |
//! | `registry` | a component that is pushed to a registry in the cluster and pulled from there, and metrics for those who may read them |
//! | `memory` | 20,000 pods in the cache of a host of 128 MiB |
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test ends by panicking"
)]

mod chart;
mod images;
mod installed;
mod memory;
mod overlay;
mod programs;
mod registry;
