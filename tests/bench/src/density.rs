//! The whole host with many idle plugins: its memory, its threads and its CPU time.
//!
//! The host is the program `informer`, and its API server is another process of the same program. The first row of the
//! report is the host without plugins; the others subtract its memory.

mod host;
mod table;

use std::{
    io::Write,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use clap::Args;

pub use table::Row;

use host::{ApiServer, Host};

/// The options of the measurement.
#[derive(Args, Clone, Debug)]
pub struct DensityOptions {
    /// Numbers of plugins: measures the host with them, and nothing else.
    #[arg(long, value_delimiter = ',')]
    pub plugins: Vec<usize>,
    /// Number of different components that the plugins have.
    #[arg(long, default_value_t = 1)]
    pub components: usize,
    /// How long the host idles before its memory is read, and how long its CPU time is measured afterwards. After a minute no
    /// instance is left that was never called.
    #[arg(long, default_value_t = 75)]
    pub idle_seconds: u64,
    /// The program `informer`; defaults to the one in the directory of the programs.
    #[arg(long)]
    pub informer: Option<PathBuf>,
}

/// Measures a host without plugins and one with each number of plugins, and writes a table to standard output.
///
/// # Errors
/// A process cannot be started, or a host does not become ready.
pub async fn report(options: &DensityOptions, programs: &Path, component: &Path) -> Result<()> {
    let informer = options.informer.clone().unwrap_or_else(|| programs.join("informer"));
    let rows = measure(options, &informer, component).await?;
    writeln!(std::io::stdout(), "{}", table::render(&rows, options.components)).context("cannot report")
}

/// The rows of the report.
///
/// # Errors
/// Fails as [`report`] does.
pub async fn measure(options: &DensityOptions, informer: &Path, component: &Path) -> Result<Vec<Row>> {
    ensure!(options.components > 0, "plugins without a component: --components must be 1 or more");
    let component = std::fs::read(component)
        .with_context(|| format!("cannot read {}; `cargo xtask guests` builds it", component.display()))?;
    let server = ApiServer::start(informer).await?;
    let idle = Duration::from_secs(options.idle_seconds);
    let mut rows = Vec::new();
    for plugins in std::iter::once(0).chain(options.plugins.iter().copied()) {
        let host = Host::start(informer, &server, &component, plugins, options.components).await?;
        rows.push(host.measure(idle).await.with_context(|| format!("{plugins} plugins"))?);
    }
    Ok(rows)
}
