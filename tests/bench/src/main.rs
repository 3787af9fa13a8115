//! `informer-bench`: runs the benchmark; `informer-bench serve` is its server.
#![forbid(unsafe_code)]

use anyhow::Result;
use clap::{Parser, Subcommand};
use informer_bench::{
    driver::{self, Options},
    pods::Recipe,
    server,
};

/// Measures our informer with a sandboxed handler against kube-rs with a native one.
#[derive(Parser)]
#[command(version, args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    options: Options,
}

#[derive(Subcommand)]
enum Command {
    /// Serve generated pods until standard input ends. The driver starts it.
    Serve {
        /// How many pods.
        #[arg(long)]
        pods: usize,
        /// Pods a list page.
        #[arg(long, default_value_t = 500)]
        page_size: usize,
        /// The same seed makes the same pods.
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
}

/// One thread: the server must not take both cores of a small machine.
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let Arguments { command, options } = Arguments::parse();
    match command {
        Some(Command::Serve { pods, page_size, seed }) => server::run(Recipe { pods, page_size, seed }).await,
        None => driver::report(&options).await,
    }
}
