//! Ours, in a process of its own.
#![forbid(unsafe_code)]

use anyhow::Result;
use clap::{Parser, ValueEnum};
use informer_bench::{
    informer::{Informer, Native},
    subject::{Plan, measure},
};

#[derive(Parser)]
struct Arguments {
    /// Who handles.
    #[arg(long, value_enum)]
    handler: Handler,
    #[command(flatten)]
    plan: Plan,
}

#[derive(Clone, Copy, ValueEnum)]
enum Handler {
    /// A function in the host.
    Native,
}

#[tokio::main]
async fn main() -> Result<()> {
    let Arguments { handler, plan } = Arguments::parse();
    match handler {
        Handler::Native => measure(&plan, Informer::new(&plan, Native)).await,
    }
}
