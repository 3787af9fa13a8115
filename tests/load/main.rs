//! Measurements that need the host as a process of its own: `cargo xtask bench --ready-made` and `cargo xtask bench --languages` build
//! and run it. Each prints a table. `cargo xtask function-order` finds the functions that the host executes under this load.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

mod function_order;
mod languages;
mod processes;
mod ready_made;

use clap::Parser;

/// Measures the host.
#[derive(Debug, Parser)]
enum Measurement {
    /// Measures the ready-made plugins on the real kube-apiserver, and other programs beside them.
    ReadyMade(ready_made::Arguments),
    /// Measures the way from an empty folder to a running handler in each language.
    Languages(languages::Arguments),
    /// Writes the order of the functions of the host for the linker.
    FunctionOrder(function_order::Arguments),
    /// Runs a program under a tracer, for `function-order`.
    #[command(hide = true)]
    Trace(function_order::Trace),
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    match Measurement::parse() {
        Measurement::ReadyMade(arguments) => ready_made::report(&arguments).await,
        Measurement::Languages(arguments) => languages::report(&arguments).await,
        Measurement::FunctionOrder(arguments) => function_order::write(&arguments).await,
        // This blocks the main thread, because only the thread that traces a program may continue it.
        Measurement::Trace(arguments) => function_order::trace(&arguments),
    }
}
