//! `informer-bench` runs the benchmark, and `informer-bench serve` is its server.
#![forbid(unsafe_code)]

use anyhow::Result;
use clap::{Parser, Subcommand};
use informer_bench::{
    collection::{Kind, Recipe},
    costs,
    density::{self, DensityOptions},
    driver::{self, Options},
    host::HostOptions,
    server,
};

/// Compares our informer and a sandboxed handler with kube-rs and client-go and a native handler, or measures a host with many plugins,
/// or what single things cost in a host.
#[derive(Parser)]
#[command(version, args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    options: Options,
    #[command(flatten)]
    density: DensityOptions,
    /// Measures what single things cost in one host, and nothing else.
    #[arg(long, conflicts_with = "plugins")]
    costs: bool,
    #[command(flatten)]
    host: HostOptions,
}

#[derive(Subcommand)]
enum Command {
    /// Serve generated objects until standard input ends; the driver starts this.
    Serve {
        /// Kind of the objects.
        #[arg(long, value_enum, default_value_t)]
        kind: Kind,
        /// Number of objects.
        #[arg(long)]
        objects: usize,
        /// Number of objects on each page of a list.
        #[arg(long, default_value_t = 500)]
        page_size: usize,
        /// Seed; the same seed generates the same objects.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Delete and create a fifth of the objects instead of updating them.
        #[arg(long)]
        churn: bool,
    },
}

/// The server runs on one thread, so that it cannot occupy both cores of a small machine.
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let Arguments { command, options, density, costs, host } = Arguments::parse();
    match command {
        Some(Command::Serve { kind, objects, page_size, seed, churn }) => {
            server::run(Recipe { kind, objects, page_size, seed, churn }).await
        }
        None if !density.plugins.is_empty() => {
            density::report(&density, &host, &options.programs()?, &options.component()?).await
        }
        None if costs => costs::report(&options, &host).await,
        None => driver::report(&options).await,
    }
}
