//! The whole host with many idle plugins: its memory, its threads and its CPU time.
//!
//! The host is the program `informer`, and its API server is another process of the same program. The first row of the
//! report is the host without plugins; the others subtract its memory.

mod table;

use std::{
    io::Write,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use clap::Args;

pub use table::Row;

use crate::{
    host::{ApiServer, Configuration, Host, HostOptions, Place, Plugin},
    variant::variant,
};

/// The watch of the plugins.
const WATCH: &str = "v1/configmaps";

/// The options of the measurement.
#[derive(Args, Clone, Debug)]
pub struct DensityOptions {
    /// Numbers of plugins: measures the host with them, and nothing else.
    #[arg(long, value_delimiter = ',')]
    pub plugins: Vec<usize>,
    /// Number of different components that the plugins have.
    #[arg(long, default_value_t = 1)]
    pub components: usize,
}

/// Measures a host without plugins and one with each number of plugins, and writes a table to standard output.
///
/// # Errors
/// A process cannot be started, or a host does not become ready.
pub async fn report(
    options: &DensityOptions,
    host: &HostOptions,
    programs: &Path,
    component: &Path,
) -> Result<()> {
    let rows = measure(options, &host.program(programs), host.idle(), component).await?;
    writeln!(std::io::stdout(), "{}", table::render(&rows, options.components)).context("cannot report")
}

/// The rows of the report. Each host idles twice for the time `idle`: first it settles, and then its CPU time is measured.
///
/// # Errors
/// Fails as [`report`] does.
pub async fn measure(
    options: &DensityOptions,
    informer: &Path,
    idle: Duration,
    component: &Path,
) -> Result<Vec<Row>> {
    ensure!(options.components > 0, "plugins without a component: --components must be 1 or more");
    let component = std::fs::read(component)
        .with_context(|| format!("cannot read {}; `cargo xtask guests` builds it", component.display()))?;
    let server = ApiServer::start(informer).await?;
    let mut rows = Vec::new();
    for plugins in std::iter::once(0).chain(options.plugins.iter().copied()) {
        let place = Place::new(informer)?;
        let components = components(&place, &component, options.components.min(plugins))?;
        let host = place.start(&server.cluster(), &configuration(plugins, &components)).await?;
        rows.push(row(host, plugins, idle).await.with_context(|| format!("{plugins} plugins"))?);
    }
    Ok(rows)
}

/// Writes this number of different components.
fn components(place: &Place, component: &[u8], number: usize) -> Result<Vec<PathBuf>> {
    (0..number)
        .map(|number| place.write(&format!("component-{number}.wasm"), &variant(component, number)))
        .collect()
}

/// A configuration with this number of plugins, which have the components in turn.
fn configuration(plugins: usize, components: &[PathBuf]) -> Configuration {
    let mut configuration = Configuration::new(WATCH);
    for (number, component) in components.iter().cycle().take(plugins).enumerate() {
        configuration.add(Plugin { name: &format!("plugin-{number}"), component, on: "", tables: "" });
    }
    configuration
}

/// Lets the host idle, and measures it.
async fn row(host: Host, plugins: usize, idle: Duration) -> Result<Row> {
    let (before, begun) = (host.idle(idle).await?, Instant::now());
    let (after, measured) = (host.idle(idle).await?, begun.elapsed());
    let (start_seconds, peak_threads) = (host.start.as_secs_f64(), host.peak_threads);
    host.kill().await?;
    Ok(Row {
        plugins,
        start_seconds,
        peak_threads,
        threads: after.threads,
        peak_bytes: after.peak_bytes,
        settled_bytes: after.resident_bytes,
        anonymous_bytes: after.anonymous_bytes,
        idle_cores: (after.cpu_seconds - before.cpu_seconds) / measured.as_secs_f64().max(0.001),
    })
}
