//! A peer in a separate process with its best allocator.

use anyhow::{Result, bail, ensure};
use clap::{Parser, ValueEnum};
use informer_bench::{
    collection::Kind,
    kube_rs::KubeRs,
    subject::{Plan, measure},
};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::api::DynamicObject;

/// jemalloc doubles the event rate of kube-rs.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

#[derive(Parser)]
struct Arguments {
    /// Rust type of the cached objects.
    #[arg(long, value_enum)]
    types: Types,
    #[command(flatten)]
    plan: Plan,
}

#[derive(Clone, Copy, ValueEnum)]
enum Types {
    /// `DynamicObject`
    Dynamic,
    /// The type of `k8s_openapi`
    Typed,
}

#[tokio::main]
async fn main() -> Result<()> {
    let Arguments { types, plan } = Arguments::parse();
    ensure!(cfg!(feature = "jemalloc"), "built without the peer's best allocator: run `cargo xtask bench`");
    match (types, plan.kind) {
        (Types::Dynamic, kind) => {
            measure(&plan, KubeRs::<DynamicObject>::new(&plan, kind.api_resource())).await
        }
        (Types::Typed, Kind::Pods | Kind::SmallPods) => measure(&plan, KubeRs::<Pod>::new(&plan, ())).await,
        (Types::Typed, Kind::ConfigMaps) => measure(&plan, KubeRs::<ConfigMap>::new(&plan, ())).await,
        (Types::Typed, Kind::Workflows) => {
            bail!("k8s_openapi has no type for {}: write --types dynamic", plan.kind)
        }
    }
}
