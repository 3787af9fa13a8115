//! The way from an empty folder to a running handler in each language: `informer new`, `informer build`, `informer dev`.
//!
//! The handler is the one that `informer new` writes: it reads two fields, lists the objects of the namespace, counts in key-value state
//! and logs a line. Each language begins with empty caches, as on a machine that only has its compiler.

mod cost;
mod project;

use std::{path::PathBuf, time::Duration};

use anyhow::Result;
use informer_tests::{deployments::Deployments, dev::Dev};
use tempfile::TempDir;
use tokio::time::Instant;

use self::{
    cost::Cost,
    project::{Project, TOOLCHAINS, Toolchain},
};

/// What is measured.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The binary of the host, a release build.
    #[arg(long)]
    program: PathBuf,
    /// The folder of the SDK for Rust.
    #[arg(long)]
    sdk: PathBuf,
    /// Rows of the table, such as `go,c`. Default: all.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Calls of the handler whose mean time is measured.
    #[arg(long, default_value_t = 1000)]
    calls: u32,
}

/// The columns of the table.
const HEADER: &str = "| language | commands | new, s | build, cold / warm, s | component, KB | host compiles in, s | first event, cold / warm, s | \
     edit to event, s | us a call | guest, MiB | host, MiB |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|";

/// Prints the table.
///
/// # Errors
/// A command fails.
pub(crate) async fn report(arguments: &Arguments) -> Result<()> {
    println!("{HEADER}");
    let program = arguments.program.canonicalize()?;
    let empty = cost::resident_without_plugins(&program).await?;
    println!("| no plugin | | | | | | | | | | {empty:.1} |");
    let all = |toolchain: &&Toolchain| {
        arguments.only.is_empty() || arguments.only.iter().any(|name| name == toolchain.name)
    };
    for toolchain in TOOLCHAINS.iter().filter(all) {
        let scratch = TempDir::new()?;
        let sdk = arguments.sdk.canonicalize()?;
        let (project, new) = timed(Project::new(&program, &sdk, scratch.path(), toolchain)).await?;
        let ((), cold) = timed(project.build()).await?;
        let bytes = project.component_bytes()?;
        project.edit("added", "created")?;
        let ((), warm) = timed(project.build()).await?;
        let (first_cold, _) = first_event(&project, "created", None).await?;
        let edit = Some(("created", "welcome"));
        let (first_warm, edited) = first_event(&project, "created", edit).await?;
        let Cost { compiled_in, microseconds, guest_mib, host_mib } =
            cost::of(&program, &project, arguments.calls).await?;
        let [new, cold, warm, first_cold, first_warm, edited] =
            [new, cold, warm, first_cold, first_warm, edited].map(|time| time.as_secs_f64());
        println!(
            "| {} | {} | {new:.2} | {cold:.1} / {warm:.1} | {} | {compiled_in:.2} | {first_cold:.1} / {first_warm:.1} | {edited:.1} | \
             {microseconds:.0} | {guest_mib:.1} | {host_mib:.1} |",
            toolchain.name,
            project.commands,
            bytes / 1000,
        );
    }
    Ok(())
}

/// Runs `informer dev` until the handler has logged the first event with the word `says`. If there is an `edit`, it then replaces the
/// first word by the second one in the source and runs until the edited handler has logged an event. Returns both times.
async fn first_event(
    project: &Project,
    says: &str,
    edit: Option<(&str, &str)>,
) -> Result<(Duration, Duration)> {
    let begun = Instant::now();
    let mut dev = Dev::start(project.command(&["dev", "--config", "informer.toml", "--output", "json"]));
    let deployments = Deployments::at(&dev.url().await);
    deployments.create("one").await;
    dev.logs(&format!("{says} default/one: ")).await;
    let first = begun.elapsed();
    let Some((old, new)) = edit else { return Ok((first, Duration::ZERO)) };
    let begun = Instant::now();
    project.edit(old, new)?;
    dev.logs("reloaded").await;
    deployments.create("two").await;
    dev.logs(&format!("{new} default/two: ")).await;
    Ok((first, begun.elapsed()))
}

/// The result of the work, and the time that it took.
async fn timed<T>(work: impl Future<Output = Result<T>>) -> Result<(T, Duration)> {
    let begun = Instant::now();
    let result = work.await?;
    Ok((result, begun.elapsed()))
}
