//! The processes of the measurement.

use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
    time::sleep,
};

use super::table::Row;
use crate::usage::Usage;

/// The time between two looks at the threads of a host that starts.
const LOOK: Duration = Duration::from_millis(20);

/// The number of looks between two requests of the status of the host.
const LOOKS: u64 = 10;

/// The longest start of a host.
const STARTED_WITHIN: Duration = Duration::from_secs(300);

/// A running API server without objects.
pub(super) struct ApiServer {
    kubeconfig: PathBuf,
    _child: Child,
}

/// A running host with all its plugins in service.
pub(super) struct Host {
    plugins: usize,
    child: Child,
    /// The time until every plugin was in service.
    start: Duration,
    peak_threads: u64,
    _directory: TempDir,
}

#[derive(Deserialize)]
struct Announced {
    kubeconfig: PathBuf,
}

// === impl ApiServer ===

impl ApiServer {
    pub(super) async fn start(informer: &Path) -> Result<Self> {
        let mut command = Command::new(informer);
        command.args(["--output", "json", "apiserver"]).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().with_context(|| format!("cannot start {}", informer.display()))?;
        let output = child.stdout.take().context("the API server has no standard output")?;
        let line = BufReader::new(output).lines().next_line().await?;
        let line = line.context("the API server ended before it listened")?;
        let announced: Announced =
            serde_json::from_str(&line).with_context(|| format!("the API server printed `{line}`"))?;
        Ok(Self { kubeconfig: announced.kubeconfig, _child: child })
    }
}

// === impl Host ===

impl Host {
    /// Starts a host, and waits until it is ready. The code of the components is compiled before by another host, so that
    /// the memory of the compiler is not measured.
    pub(super) async fn start(
        informer: &Path,
        server: &ApiServer,
        component: &[u8],
        plugins: usize,
        components: usize,
    ) -> Result<Self> {
        let directory = tempfile::tempdir().context("cannot make a directory for the host")?;
        configure(directory.path(), component, plugins, components)?;
        if plugins > 0 {
            ready(informer, server, directory.path()).await?.0.kill().await?;
        }
        let begun = Instant::now();
        let (child, peak_threads) = ready(informer, server, directory.path()).await?;
        Ok(Self { plugins, child, start: begun.elapsed(), peak_threads, _directory: directory })
    }

    /// Lets the host idle, and measures it.
    pub(super) async fn measure(mut self, idle: Duration) -> Result<Row> {
        let process = self.child.id().context("the host has ended")?;
        sleep(idle).await;
        let (before, begun) = (Usage::of(process)?, Instant::now());
        sleep(idle).await;
        let (after, measured) = (Usage::of(process)?, begun.elapsed());
        self.child.kill().await?;
        Ok(Row {
            plugins: self.plugins,
            start_seconds: self.start.as_secs_f64(),
            peak_threads: self.peak_threads,
            threads: after.threads,
            peak_bytes: after.peak_bytes,
            settled_bytes: after.resident_bytes,
            anonymous_bytes: after.anonymous_bytes,
            idle_cores: (after.cpu_seconds - before.cpu_seconds) / measured.as_secs_f64().max(0.001),
        })
    }
}

/// Starts a host and waits until it is ready. Returns the most threads that it had.
async fn ready(informer: &Path, server: &ApiServer, directory: &Path) -> Result<(Child, u64)> {
    let admin = format!("unix:{}", directory.join("admin.sock").display());
    let config = directory.join("informer.toml");
    let mut command = Command::new(informer);
    command.args(["--log", "warn", "run", "--config"]).arg(&config);
    command.arg("--kubeconfig").arg(&server.kubeconfig).stdout(Stdio::null()).kill_on_drop(true);
    // The image sets this variable too.
    command.env("GLIBC_TUNABLES", informer_image::contents::ALLOCATOR);
    let mut child = command.spawn().context("cannot start the host")?;
    let process = child.id().context("the host has ended")?;
    let (begun, mut peak_threads, mut looks) = (Instant::now(), 0, 0_u64);
    loop {
        sleep(LOOK).await;
        looks += 1;
        ensure!(child.try_wait()?.is_none(), "the host ended; see its messages above");
        ensure!(begun.elapsed() < STARTED_WITHIN, "the host is not ready within {STARTED_WITHIN:?}");
        peak_threads = peak_threads.max(Usage::of(process)?.threads);
        if !looks.is_multiple_of(LOOKS) {
            continue;
        }
        let mut status = Command::new(informer);
        status.args(["status", "--admin", &admin]).stdout(Stdio::null()).stderr(Stdio::null());
        if status.status().await.context("cannot start `informer status`")?.success() {
            return Ok((child, peak_threads));
        }
    }
}

/// Writes the components and the configuration of a host.
fn configure(directory: &Path, component: &[u8], plugins: usize, components: usize) -> Result<()> {
    for number in 0..components.min(plugins) {
        fs::write(file(directory, number), variant(component, number))?;
    }
    let mut config = format!(
        "[host]\nadmin = \"unix:{}\"\nstate-dir = \"{}\"\n[[watch]]\ngvr = \"v1/configmaps\"\n",
        directory.join("admin.sock").display(),
        directory.join("state").display()
    );
    for number in 0..plugins {
        let source = file(directory, number % components);
        write!(
            config,
            "[[plugin]]\nname = \"plugin-{number}\"\nsource = \"{}\"\n[[plugin.on]]\nwatch = \"v1/configmaps\"\n",
            source.display()
        )?;
    }
    fs::write(directory.join("informer.toml"), config).context("cannot write the configuration")
}

fn file(directory: &Path, number: usize) -> PathBuf {
    directory.join(format!("component-{number}.wasm"))
}

/// The same component with another digest: a custom section without a meaning follows.
fn variant(component: &[u8], number: usize) -> Vec<u8> {
    let number = u32::try_from(number).unwrap_or_default().to_le_bytes();
    // A section of kind 0 and six bytes: a name of one byte, and the number.
    [component, &[0, 6, 1, b'n'], &number].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_is_the_component_and_a_custom_section() {
        let variant = variant(b"\0asm", 258);

        assert_eq!(variant, [b"\0asm".as_slice(), &[0, 6, 1, b'n', 2, 1, 0, 0]].concat());
    }
}
