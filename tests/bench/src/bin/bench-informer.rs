//! Our informer in a separate process.
#![forbid(unsafe_code)]

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Parser, Subcommand};
use informer_bench::{
    informer::{Informer, Native, compile, load},
    subject::{Plan, measure},
};

#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Compile the component without measuring.
    Compile {
        #[command(flatten)]
        code: Code,
    },
    /// Measure with the component as the handler.
    Component {
        #[command(flatten)]
        code: Code,
        #[command(flatten)]
        plan: Plan,
    },
    /// Measure with a function in the host as the handler.
    Native {
        #[command(flatten)]
        plan: Plan,
    },
}

#[derive(Args)]
struct Code {
    /// Path of the component.
    #[arg(long)]
    component: PathBuf,
    /// Directory for compiled code.
    #[arg(long)]
    code_cache: PathBuf,
}

#[tokio::main]
async fn main() -> Result<()> {
    match Arguments::parse().command {
        Command::Compile { code } => compile(&code.component, &code.code_cache).await,
        Command::Component { code, plan } => {
            let plugin = load(&code.component, &code.code_cache, plan.kind).await?;
            measure(&plan, Informer::new(&plan, plugin)).await
        }
        Command::Native { plan } => measure(&plan, Informer::new(&plan, Native::new(plan.kind))).await,
    }
}
