//! Measures single costs in one host: a further plugin, a condition, a read of the cache, a reload, an object, and the host itself.
//!
//! The host is the program `informer`. A host with objects uses the server of the benchmark, and a host without objects uses the embedded
//! API server.

mod events;
mod memory;
mod reads;
mod reloads;
mod stage;
mod table;

use std::io::Write;

use anyhow::{Context, Result};

use crate::{driver::Options, host::HostOptions, machine};
use stage::Stage;
use table::Figures;

/// Measures all figures and writes a table to standard output, and the progress to standard error.
///
/// # Errors
/// A process cannot be started, or a measurement fails.
pub async fn report(options: &Options, host: &HostOptions) -> Result<()> {
    let mut output = std::io::stdout();
    writeln!(output, "{}\n", machine::describe())?;
    let figures = measure(&Stage::new(options, host)?).await?;
    writeln!(output, "{}", table::render(&figures)).context("cannot report")
}

async fn measure(stage: &Stage) -> Result<Figures> {
    progress("further plugins and conditions");
    let event = events::measure(stage).await.context("further plugins")?;
    progress("reads of the lister");
    let reads = reads::measure(stage).await.context("reads of the lister")?;
    progress("reloads");
    let reloads = reloads::measure(stage).await.context("reloads")?;
    progress("memory");
    let memory = memory::measure(stage).await.context("memory")?;
    Ok(Figures { objects: stage.objects, events: stage.events, memory, event, reads, reloads })
}

#[expect(
    clippy::print_stderr,
    reason = "the measurement takes minutes, and the user wants to see its progress"
)]
fn progress(part: &str) {
    eprintln!("measuring {part}");
}
