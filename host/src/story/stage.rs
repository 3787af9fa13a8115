//! The host of a story, the API server that it watches, and everything that stands for the outside world.

use std::{
    num::NonZeroUsize,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, anyhow, bail};
use informer_devserver::DevServer;
use informer_types::{Gvr, Workqueue};
use tempfile::TempDir;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::{
    clock::StoryClock,
    cluster::Cluster,
    file::Files,
    network::Network,
    observed::{MOST, Observed},
    script::Story,
    volume::Volume,
};
use crate::{
    admin::Probe,
    app::{App, Options, Staging, author_engine},
    config::{Access, Config, StateDir},
    connect::{Connection, connect},
};

/// Bookmarks tell the caches that nothing more follows.
const BOOKMARKS_EVERY: Duration = Duration::from_millis(10);

/// Time for the component to be compiled and started.
const STARTED_WITHIN: Duration = Duration::from_secs(600);

/// Time for the plugin to come to rest. Each call has a deadline of its own.
const RESTED_WITHIN: Duration = Duration::from_secs(120);

/// A plugin that is at rest twice, with this pause between, is at rest.
const PAUSE: Duration = Duration::from_millis(5);

/// Time for calls in flight when the host stops; a story leaves no call in flight.
const STOPPED_WITHIN: Duration = Duration::from_millis(500);

/// The most moments at which something happens while a step lets time pass.
const MOMENTS: usize = 10_000;

/// A running host with its surroundings.
pub(super) struct Stage {
    server: DevServer,
    pub(super) cluster: Cluster,
    connection: Connection,
    /// `None` while the host is stopped.
    app: Option<App>,
    pub(super) plugin: String,
    pub(super) observed: Observed,
    clock: StoryClock,
    network: Arc<Network>,
    state: TempDir,
    /// The `config-files` that the story brings, if it brings some.
    files: Option<Volume>,
    over: CancellationToken,
}

// === impl Stage ===

impl Stage {
    /// Starts the API server with the objects of the story, and no host.
    pub(super) async fn new(story: &Story, config: &Config) -> anyhow::Result<Self> {
        let settings = informer_devserver::Config {
            bookmark_interval: BOOKMARKS_EVERY,
            garbage_collection: true,
            ..informer_devserver::Config::default()
        };
        let server = DevServer::start(settings).await?;
        let connection = connect(&Access::Server(server.url().parse()?)).await?;
        let (observed, over) = (Observed::new(story.api.clone()), CancellationToken::new());
        let stage = Self {
            cluster: Cluster::new(connection.client.clone()),
            connection,
            server,
            app: None,
            plugin: config.plugins.first().map(|plugin| plugin.name.clone()).unwrap_or_default(),
            network: Arc::new(Network::new(story.http.clone(), observed.clone(), over.clone())),
            observed,
            clock: StoryClock::new(story.clock),
            state: tempfile::Builder::new().prefix("informer-test-").tempdir()?,
            files: story.brings_files().then(|| Volume::new(&story.files)).transpose()?,
            over,
        };
        Ok(stage)
    }

    /// Starts the host, and waits until the plugin has come to rest.
    ///
    /// # Errors
    /// Why the plugin does not start.
    pub(super) async fn start(&mut self, config: Config) -> anyhow::Result<()> {
        let adjust = self.adjustment();
        let staging = Staging {
            witness: Box::new(self.observed.clone()),
            wire: Arc::clone(&self.network) as _,
            wall_clock: Arc::new(self.clock.clone()),
        };
        let options = Options {
            connection: Some(self.connection.clone()),
            log: Arc::new(self.observed.clone()),
            adjust: Arc::new(adjust),
            engine: author_engine,
            staging: Some(staging),
            ..Options::default()
        };
        let app = self.app.insert(App::start(config, options).await?);
        started(app, &self.plugin).await?;
        self.rest().await
    }

    /// Stops the host and starts it again, with its state.
    pub(super) async fn restart(&mut self, config: Config) -> anyhow::Result<()> {
        self.stop().await;
        self.start(config).await
    }

    /// Applies a configuration, and loads the component again.
    ///
    /// # Errors
    /// What is refused.
    pub(super) async fn reload(&self, mut config: Config) -> anyhow::Result<()> {
        self.adjustment()(&mut config);
        let app = self.app()?;
        let mut report = app.apply(config).await?;
        let again = app.reload(Some(self.plugin.clone())).await.map_err(|error| anyhow!("{error}"))?;
        report.problems.extend(again.problems);
        report.changes.extend(again.changes);
        let refused = report.changes.iter().filter(|change| change.verdict == crate::app::Verdict::Refused);
        let refused = report.problems.iter().cloned().chain(refused.map(|change| change.detail.clone()));
        let refused: Vec<String> = refused.collect();
        if !refused.is_empty() {
            bail!("the reload is refused: {}", refused.join("; "));
        }
        Ok(())
    }

    /// Delivers every object of a resource again, with the cause `resync`.
    pub(super) fn resync(&self, gvr: &Gvr) -> anyhow::Result<()> {
        let app = self.app()?;
        if !app.resync(gvr) {
            bail!(
                "no subscription to {gvr} has a resync period: write `resync = \"10m\"` under [[plugin.on]]"
            );
        }
        Ok(())
    }

    /// Adds a key to the workqueue of the plugin.
    pub(super) fn add_key(&self, key: &str) -> anyhow::Result<()> {
        let queue = self.app()?.workqueue(&self.plugin).context("there is no such plugin")?;
        queue.add(key)?;
        Ok(())
    }

    /// Writes and removes files of `config-files`, and lets the host notice it.
    pub(super) async fn write_files(&mut self, files: &Files) -> anyhow::Result<()> {
        self.files.as_mut().context("the story brings no files")?.change(files)?;
        self.app()?.look_at_config_files(&self.plugin).await;
        Ok(())
    }

    /// Lets time pass, from one moment at which something happens to the next. The plugin comes to rest at each.
    pub(super) async fn pass(&self, by: Duration) -> anyhow::Result<()> {
        let app = self.app()?;
        let mut left = by;
        for _ in 0..MOMENTS {
            let next = app.next_due().map(|due| due.max(Duration::from_millis(1)));
            let hop = next.map_or(left, |next| next.min(left));
            self.clock.advance(hop);
            app.advance(hop);
            self.rest().await?;
            left -= hop;
            if left.is_zero() {
                return Ok(());
            }
        }
        bail!("something happened more than {MOMENTS} times: let less time pass in one step")
    }

    /// Waits until the caches have seen every change, and no call is in flight or due.
    ///
    /// # Errors
    /// The plugin never comes to rest.
    pub(super) async fn rest(&self) -> anyhow::Result<()> {
        let app = self.app()?;
        let resting = async {
            loop {
                let before = (self.server.resource_version(), self.observed.count());
                if !app.caught_up(&before.0.to_string()).await {
                    bail!("a watch of the plugin does not follow the API server: {}", trouble(app));
                }
                if app.is_quiet() {
                    sleep(PAUSE).await;
                    let after = (self.server.resource_version(), self.observed.count());
                    if app.is_quiet() && before == after {
                        return Ok(());
                    }
                } else {
                    sleep(Duration::from_millis(1)).await;
                }
                if before.1 >= MOST {
                    bail!(
                        "the plugin did more than {MOST} things: does it write to an object that it is called for?"
                    );
                }
            }
        };
        let rested = timeout(RESTED_WITHIN, resting).await;
        rested.unwrap_or_else(|_| Err(anyhow!("the plugin does not come to rest within {RESTED_WITHIN:?}")))
    }

    /// The directory of the state of the host.
    pub(super) fn state(&self) -> &std::path::Path {
        self.state.path()
    }

    pub(super) fn app(&self) -> anyhow::Result<&App> {
        self.app.as_ref().context("the host does not run, because a step before failed")
    }

    /// Loads objects as they are, also with a status.
    pub(super) fn load(&self, object: serde_json::Value) -> anyhow::Result<()> {
        Ok(self.server.load(vec![object])?)
    }

    pub(super) async fn stop(&mut self) {
        if let Some(app) = self.app.take() {
            app.stop().await;
        }
    }

    /// Adjusts each configuration of the host: endpoints are closed, and neither the order of calls nor the time of a retry is left to
    /// chance.
    fn adjustment(&self) -> impl Fn(&mut Config) + Send + Sync + 'static {
        let (state, files) = (self.state.path().to_owned(), self.files.as_ref().map(Volume::path));
        move |config| {
            let host = &mut config.host;
            (host.admin, host.health, host.state_dir) = (None, None, StateDir::At(state.clone()));
            host.shutdown_timeout = STOPPED_WITHIN;
            host.lease = None;
            for plugin in &mut config.plugins {
                plugin.queue.workers = NonZeroUsize::MIN;
                plugin.workqueue.workers = NonZeroUsize::MIN;
                plugin.retry.calls.backoff.jitter = 0.0;
                plugin.config_files.extend(files.clone());
            }
        }
    }

    /// Ends everything.
    pub(super) async fn end(mut self) {
        self.stop().await;
        self.over.cancel();
        self.server.shutdown().await;
    }
}

/// Waits until the plugin serves.
async fn started(app: &App, plugin: &str) -> anyhow::Result<()> {
    let begun = Instant::now();
    while timeout(Duration::from_millis(20), app.ready()).await.is_err() {
        let status = app.probe().status();
        if let Some(refused) =
            status.plugins.iter().find(|one| one.name == plugin).and_then(|one| one.refused.clone())
        {
            bail!("{refused}");
        }
        if begun.elapsed() > STARTED_WITHIN {
            bail!("the plugin does not start: {}", trouble(app));
        }
    }
    Ok(())
}

fn trouble(app: &App) -> String {
    let (mut unready, degraded) = (app.probe().unready(), app.probe().degraded());
    unready.extend(degraded);
    unready.join("; ")
}
