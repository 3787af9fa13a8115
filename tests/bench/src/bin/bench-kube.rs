//! A peer in a separate process with its best allocator.

use anyhow::{Result, ensure};
use clap::{Parser, ValueEnum};
use informer_bench::{
    kube_rs::KubeRs,
    subject::{Plan, measure},
};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ApiResource, DynamicObject};

/// jemalloc doubles the event rate of kube-rs.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

#[derive(Parser)]
struct Arguments {
    /// Type of the cached pods.
    #[arg(long, value_enum)]
    objects: Objects,
    #[command(flatten)]
    plan: Plan,
}

#[derive(Clone, Copy, ValueEnum)]
enum Objects {
    /// `DynamicObject`
    Dynamic,
    /// `k8s_openapi`'s `Pod`
    Typed,
}

#[tokio::main]
async fn main() -> Result<()> {
    let Arguments { objects, plan } = Arguments::parse();
    ensure!(cfg!(feature = "jemalloc"), "built without the peer's best allocator: run `cargo xtask bench`");
    match objects {
        Objects::Dynamic => {
            let pods = KubeRs::<DynamicObject>::new(&plan, ApiResource::erase::<Pod>(&()));
            measure(&plan, pods).await
        }
        Objects::Typed => measure(&plan, KubeRs::<Pod>::new(&plan, ())).await,
    }
}
