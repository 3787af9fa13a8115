//! The whole host: the program `informer` as a process, with a configuration and a directory of its own.

mod configuration;
mod log;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use clap::Args;
use http::{Request, Uri};
use kube::Client;
use serde::Deserialize;
use tempfile::TempDir;
use tokio::{
    process::{Child, Command},
    time::{sleep, timeout},
};

pub(crate) use configuration::{Configuration, Plugin};

use crate::{client, metrics::Metrics, processes, usage::Usage};
use log::Log;

/// The name of the configuration file of a host.
const CONFIGURATION: &str = "informer.toml";

/// The time between two looks at the threads of a host that starts.
const LOOK: Duration = Duration::from_millis(20);

/// The number of looks between two requests for the readiness of the host.
const LOOKS: u64 = 10;

/// The longest start of a host.
const STARTED_WITHIN: Duration = Duration::from_secs(300);

/// A host rests if it uses at most [`REST_SECONDS`] of processor time in each of [`REST_LOOKS`] periods of this length.
const REST_LOOK: Duration = Duration::from_secs(1);
const REST_LOOKS: usize = 3;
/// More than one tick of the kernel (10 ms), and less than two ticks.
const REST_SECONDS: f64 = 0.015;

/// The longest time until a host without work rests.
const RESTS_WITHIN: Duration = Duration::from_secs(60);

/// The options of the measurements of the whole host.
#[derive(Args, Clone, Debug)]
pub struct HostOptions {
    /// How long a host idles before its memory is read. `--plugins` lets it idle for the same time once more, and measures its CPU time
    /// meanwhile. After a minute no instance is left that was never called.
    #[arg(long, default_value_t = 75)]
    pub idle_seconds: u64,
    /// The program `informer`; defaults to the one in the directory of the programs.
    #[arg(long)]
    pub informer: Option<PathBuf>,
}

/// A running API server without objects.
pub(crate) struct ApiServer {
    kubeconfig: PathBuf,
    _child: Child,
}

/// The directory of a host. It outlives the process.
pub(crate) struct Place {
    informer: PathBuf,
    directory: TempDir,
}

/// A running host. The process is killed when this is dropped.
pub(crate) struct Host {
    child: Child,
    process: u32,
    /// A client of the admin endpoint.
    admin: Client,
    log: Log,
    /// The time until the host was ready.
    pub(crate) start: Duration,
    /// The largest number of threads until the host was ready.
    pub(crate) peak_threads: u64,
}

#[derive(Deserialize)]
struct Announced {
    kubeconfig: PathBuf,
}

// === impl HostOptions ===

impl HostOptions {
    /// The program: that of the option, or `informer` in this directory.
    pub(crate) fn program(&self, programs: &Path) -> PathBuf {
        self.informer.clone().unwrap_or_else(|| programs.join("informer"))
    }

    /// How long the host idles.
    pub(crate) fn idle(&self) -> Duration {
        Duration::from_secs(self.idle_seconds)
    }
}

// === impl ApiServer ===

impl ApiServer {
    /// Starts the embedded API server of this program, and waits until it listens.
    ///
    /// # Errors
    /// The server does not start.
    pub(crate) async fn start(informer: &Path) -> Result<Self> {
        let mut command = Command::new(informer);
        command.args(["--output", "json", "apiserver"]);
        let (child, mut lines) = processes::start(command, Stdio::null())?;
        let line = lines.next_line().await?.context("the API server ended before it listened")?;
        let announced: Announced =
            serde_json::from_str(&line).with_context(|| format!("the API server printed `{line}`"))?;
        Ok(Self { kubeconfig: announced.kubeconfig, _child: child })
    }

    /// The lines of `[cluster]`.
    pub(crate) fn cluster(&self) -> String {
        format!("kubeconfig = {:?}", self.kubeconfig)
    }
}

// === impl Place ===

impl Place {
    /// An empty directory for a host of this program.
    ///
    /// # Errors
    /// The directory cannot be made.
    pub(crate) fn new(informer: &Path) -> Result<Self> {
        let directory = tempfile::tempdir().context("cannot make a directory for the host")?;
        Ok(Self { informer: informer.to_owned(), directory })
    }

    /// The path of a file in the directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Writes a file, and returns its path.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn write(&self, name: &str, contents: &[u8]) -> Result<PathBuf> {
        let path = self.path(name);
        fs::write(&path, contents).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    }

    /// Starts a host with this configuration, for the cluster with these lines of `[cluster]`, and waits until the host is ready. Another
    /// host compiles the components first, so that the memory of the compiler is not measured.
    ///
    /// # Errors
    /// The host does not start, or does not become ready.
    pub(crate) async fn start(&self, cluster: &str, configuration: &Configuration) -> Result<Host> {
        let text = configuration.text(cluster, self.directory.path());
        self.write(CONFIGURATION, text.as_bytes())?;
        self.start_once().await?.kill().await?;
        self.start_once().await
    }

    async fn start_once(&self) -> Result<Host> {
        let mut command = Command::new(&self.informer);
        command
            .args(["--log", "info", "--log-format", "json", "run", "--config"])
            .arg(self.path(CONFIGURATION));
        // The image sets this variable too.
        command.env("GLIBC_TUNABLES", informer_image::contents::ALLOCATOR);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        let begun = Instant::now();
        let mut child =
            command.spawn().with_context(|| format!("cannot start {}", self.informer.display()))?;
        let process = child.id().context("the host has ended")?;
        let mut log = Log::new(child.stderr.take().context("the host has no standard error")?);
        let (mut admin, mut peak_threads, mut looks) = (None, 0, 0_u64);
        loop {
            sleep(LOOK).await;
            looks += 1;
            ensure!(child.try_wait()?.is_none(), "the host ended; see its messages above");
            ensure!(begun.elapsed() < STARTED_WITHIN, "the host is not ready within {STARTED_WITHIN:?}");
            peak_threads = peak_threads.max(Usage::of(process)?.threads);
            if admin.is_none() {
                admin = admin_of(&mut log)?;
            }
            if looks.is_multiple_of(LOOKS)
                && let Some(client) = &admin
                && is_ready(client).await
            {
                let (admin, start) = (client.clone(), begun.elapsed());
                return Ok(Host { child, process, admin, log, start, peak_threads });
            }
        }
    }
}

// === impl Host ===

impl Host {
    /// The CPU time and the memory that the process has used until now.
    ///
    /// # Errors
    /// The host has ended.
    pub(crate) fn usage(&self) -> Result<Usage> {
        Usage::of(self.process).context("the host has ended; see its messages above")
    }

    /// Waits until the host has nothing to do, and returns its usage.
    ///
    /// # Errors
    /// The host has ended, or always has something to do.
    pub(crate) async fn at_rest(&self) -> Result<Usage> {
        let begun = Instant::now();
        let (mut usage, mut still) = (self.usage()?, 0);
        while still < REST_LOOKS {
            ensure!(begun.elapsed() < RESTS_WITHIN, "the host does not come to rest within {RESTS_WITHIN:?}");
            sleep(REST_LOOK).await;
            let before = usage.cpu_seconds;
            usage = self.usage()?;
            still = if usage.cpu_seconds - before <= REST_SECONDS { still + 1 } else { 0 };
        }
        Ok(usage)
    }

    /// Lets the host idle, and returns its usage afterwards.
    ///
    /// # Errors
    /// The host has ended.
    pub(crate) async fn idle(&self, time: Duration) -> Result<Usage> {
        sleep(time).await;
        self.usage()
    }

    /// The metrics of the host and of its plugins.
    ///
    /// # Errors
    /// The host does not answer.
    pub(crate) async fn metrics(&self) -> Result<Metrics> {
        let request = Request::get("/metrics").body(Vec::new())?;
        let text = self.admin.request_text(request).await.context("the host does not serve its metrics")?;
        Metrics::parse(&text)
    }

    /// Waits until the host logs this message, and returns the time at which the line was read.
    ///
    /// # Errors
    /// The host ends, or does not log the message in time.
    pub(crate) async fn logs(&mut self, message: &str, within: Duration) -> Result<Instant> {
        let line = timeout(within, self.log.wait_for(message)).await;
        let line = line.with_context(|| format!("the host does not log `{message}` within {within:?}"))??;
        Ok(line.at)
    }

    /// Kills the process, and waits for its end.
    ///
    /// # Errors
    /// The process cannot be killed.
    pub(crate) async fn kill(mut self) -> Result<()> {
        self.child.kill().await.context("cannot end the host")
    }
}

/// A client of the admin endpoint, if its address is in the log.
fn admin_of(log: &mut Log) -> Result<Option<Client>> {
    let Some(line) = log.find("the admin endpoint listens") else { return Ok(None) };
    let address = line.text("address").context("the host does not log the address of its admin endpoint")?;
    let address =
        format!("http://{address}").parse::<Uri>().with_context(|| format!("`{address}` is no address"))?;
    client::connect(&address).map(Some)
}

async fn is_ready(admin: &Client) -> bool {
    let Ok(request) = Request::get("/readyz").body(Vec::new()) else { return false };
    // Every status but 200 is an error.
    admin.request_text(request).await.is_ok()
}
