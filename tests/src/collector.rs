//! The OTLP receiver of the OpenTelemetry Collector, built from its Go module in `tests/e2e/collector`.

use std::{fs, time::Duration};

use anyhow::{Context, Result, bail};
use informer_programs::{Builder, Program};
use serde_json::Value;
use tempfile::TempDir;
use tokio::{
    task::spawn_blocking,
    time::{Instant, sleep},
};

use crate::cluster::Process;

/// How long the collector may take until it listens.
const LISTENS_WITHIN: Duration = Duration::from_secs(60);

/// A running collector on loopback ports. Dropping it kills the process and removes its directory.
#[derive(Debug)]
pub struct Collector {
    /// The URL for OTLP over gRPC.
    pub grpc: String,
    /// The URL for OTLP over HTTP.
    pub http: String,
    process: Process,
    directory: TempDir,
}

// === impl Collector ===

impl Collector {
    /// Starts a collector, and waits until it listens. Builds the program first if it is not in the cache.
    ///
    /// # Errors
    /// The program is not available, ended early, or does not listen in time.
    pub async fn start() -> Result<Self> {
        let path = spawn_blocking(|| Builder::from_env()?.obtain(Program::Collector)).await??;
        let directory = tempfile::Builder::new().prefix("informer-collector-").tempdir()?;
        let process = Process::spawn(Program::Collector.name(), &path, &[], directory.path().join("log"))?;
        let mut collector = Self { grpc: String::new(), http: String::new(), process, directory };
        let deadline = Instant::now() + LISTENS_WITHIN;
        while Instant::now() < deadline {
            collector.process.check_running()?;
            if let Some((grpc, http)) = collector.listening("GRPC")?.zip(collector.listening("HTTP")?) {
                (collector.grpc, collector.http) = (grpc, http);
                return Ok(collector);
            }
            sleep(Duration::from_millis(20)).await;
        }
        bail!("the collector does not listen\n{}", collector.process.log_tail())
    }

    /// The messages that the collector has received so far, in the JSON of OTLP.
    ///
    /// # Errors
    /// Its output cannot be read.
    pub fn messages(&self) -> Result<Vec<Value>> {
        Ok(self.lines()?.into_iter().filter(|line| line.get("resourceSpans").is_some()).collect())
    }

    fn listening(&self, protocol: &str) -> Result<Option<String>> {
        let message = format!("Starting {protocol} server");
        let line = self.lines()?.into_iter().find(|line| line.get("msg").is_some_and(|own| *own == message));
        Ok(line.and_then(|line| Some(format!("http://{}", line.get("endpoint")?.as_str()?))))
    }

    /// The whole lines of its output.
    fn lines(&self) -> Result<Vec<Value>> {
        let output = fs::read_to_string(self.directory.path().join("log")).context("read the output")?;
        let whole = output.rsplit_once('\n').map_or("", |(whole, _)| whole);
        whole.lines().map(|line| serde_json::from_str(line).with_context(|| line.to_owned())).collect()
    }
}
