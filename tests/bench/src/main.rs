//! `informer-bench` runs the benchmark, and `informer-bench serve` is its server.
#![forbid(unsafe_code)]

use anyhow::Result;
use clap::{Parser, Subcommand};
use informer_bench::{
    density::{self, DensityOptions},
    driver::{self, Options},
    pods::Recipe,
    server,
};

/// Compares our informer and a sandboxed handler with kube-rs and client-go and a native handler, or measures a host with many plugins.
#[derive(Parser)]
#[command(version, args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    options: Options,
    #[command(flatten)]
    density: DensityOptions,
}

#[derive(Subcommand)]
enum Command {
    /// Serve generated pods until standard input ends; the driver starts this.
    Serve {
        /// Number of pods.
        #[arg(long)]
        pods: usize,
        /// Number of pods on each page of a list.
        #[arg(long, default_value_t = 500)]
        page_size: usize,
        /// Seed; the same seed generates the same pods.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Delete and create a fifth of the pods instead of updating them.
        #[arg(long)]
        churn: bool,
    },
}

/// The server runs on one thread, so that it cannot occupy both cores of a small machine.
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let Arguments { command, options, density } = Arguments::parse();
    match command {
        Some(Command::Serve { pods, page_size, seed, churn }) => {
            server::run(Recipe { pods, page_size, seed, churn }).await
        }
        None if !density.plugins.is_empty() => density::report(&density, options.component.as_ref()).await,
        None => driver::report(&options).await,
    }
}
