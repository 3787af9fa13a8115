//! All parts of the measurement share this module: programs, components, numbers, and the server of a run.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use kube::Client;
use tokio::time::sleep;

use crate::{
    client,
    collection::{Kind, Recipe},
    driver::Options,
    host::{Host, HostOptions},
    metrics::Metrics,
    processes::Server,
};

/// The watch of all plugins.
pub(super) const WATCH: &str = "v1/pods";

/// The component of most plugins: it reads two fields of each object.
pub(super) const TWO_FIELDS: &str = "two_fields.wasm";

/// The time between two requests of the metrics of a host. The host takes about a millisecond for such a request.
const LOOK: Duration = Duration::from_millis(100);

/// The programs, the components and the numbers of a measurement.
pub(super) struct Stage {
    /// The program `informer`.
    pub(super) informer: PathBuf,
    /// The number of served objects.
    pub(super) objects: usize,
    /// The number of events whose CPU time is measured.
    pub(super) events: u64,
    /// The largest number of events at a time. Each event is about another object, so that no queue merges two events.
    pub(super) batch: u64,
    /// The number of runs whose median counts.
    pub(super) rounds: usize,
    /// How long a host idles before its memory is read.
    pub(super) idle: Duration,
    /// The deadline of each step.
    pub(super) limit: Duration,
    programs: PathBuf,
    guests: PathBuf,
    page_size: usize,
    seed: u64,
}

/// A running server of pods, and the client that makes it send events.
pub(super) struct Served {
    pub(super) client: Client,
    url: String,
    page_size: usize,
    _server: Server,
}

// === impl Stage ===

impl Stage {
    /// The measurement with these options.
    ///
    /// # Errors
    /// `--costs` does not support these options.
    pub(super) fn new(options: &Options, host: &HostOptions) -> Result<Self> {
        let &objects = options.objects.first().context("no objects: write --objects 10000")?;
        ensure!(options.kind == Kind::Pods && !options.churn, "--costs needs pods that are updated only");
        ensure!(
            objects > 0 && options.batch > 0 && options.events > 0 && options.rounds > 0,
            "--costs needs at least 1 for --objects, --events, --batch and --rounds"
        );
        let programs = options.programs()?;
        Ok(Self {
            informer: host.program(&programs),
            objects,
            events: options.events,
            batch: options.batch.min(objects as u64),
            rounds: options.rounds,
            idle: host.idle(),
            limit: Duration::from_secs(options.limit_seconds),
            programs,
            guests: options.guests()?,
            page_size: options.page_size,
            seed: options.seed,
        })
    }

    /// The component in this file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(super) fn component(&self, file: &str) -> Result<Vec<u8>> {
        let path = self.guests.join(file);
        std::fs::read(&path)
            .with_context(|| format!("cannot read {}; `cargo xtask guests` builds it", path.display()))
    }

    /// Starts a server of its own for a host. A watch that begins at the version of the list receives all events since then, so
    /// each measured host needs a new server.
    ///
    /// # Errors
    /// The server does not start.
    pub(super) async fn serve(&self) -> Result<Served> {
        let Self { objects, page_size, seed, .. } = *self;
        let recipe = Recipe { kind: Kind::Pods, objects, page_size, seed, churn: false };
        let (server, greeting) = Server::start(&self.programs, recipe).await?;
        let client = client::connect(&greeting.url.parse()?)?;
        Ok(Served { client, url: greeting.url, page_size, _server: server })
    }

    /// Waits until a count in the metrics of the host reaches `target`.
    ///
    /// # Errors
    /// The host ends, or the count does not reach the target in time.
    pub(super) async fn until(
        &self,
        host: &Host,
        target: u64,
        count: impl Fn(&Metrics) -> f64,
    ) -> Result<()> {
        let begun = Instant::now();
        loop {
            let counted = count(&host.metrics().await?);
            if counted >= target as f64 {
                return Ok(());
            }
            let limit = self.limit;
            ensure!(
                begun.elapsed() < limit,
                "{counted} of {target} notifications are handled after {limit:?}"
            );
            sleep(LOOK).await;
        }
    }
}

// === impl Served ===

impl Served {
    /// The lines of `[cluster]`.
    pub(super) fn cluster(&self) -> String {
        let Self { url, page_size, .. } = self;
        format!("server = \"{url}\"\npage-size = {page_size}\nwatch-list = \"off\"")
    }
}

/// The notifications that a plugin has handled.
pub(super) fn acknowledged(metrics: &Metrics, plugin: &str) -> f64 {
    metrics.get("informer_queue_acknowledged_total", &[("plugin", plugin)]).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Arguments {
        #[command(flatten)]
        options: Options,
        #[command(flatten)]
        host: HostOptions,
    }

    fn stage(arguments: &[&str]) -> Result<Stage> {
        let arguments = [["bench"].as_slice(), arguments].concat();
        let Arguments { options, host } = Arguments::try_parse_from(arguments)?;
        Stage::new(&options, &host)
    }

    #[test]
    fn no_more_events_are_in_flight_than_there_are_objects() {
        let stage = stage(&["--objects=60,100", "--programs=/programs", "--informer=/informer"]).unwrap();

        assert_eq!((stage.objects, stage.batch), (60, 60));
        assert_eq!(stage.informer, PathBuf::from("/informer"));
        assert_eq!(stage.guests, PathBuf::from("/programs/../wasm32-wasip2/plugin/examples"));
    }

    #[test]
    fn options_that_cannot_be_measured_are_refused() {
        for argument in ["--kind=workflows", "--churn", "--events=0", "--objects=0", "--rounds=0"] {
            let error = stage(&[argument]).err().unwrap();

            assert!(error.to_string().starts_with("--costs needs"), "{error}");
        }
    }
}
