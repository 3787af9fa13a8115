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
    config::{Access, Config, Plugin, StateDir},
    connect::{Connection, connect},
};

/// A bookmark shows a cache that it has every change so far.
const BOOKMARKS_EVERY: Duration = Duration::from_millis(10);

/// Time for the component to be compiled and started.
const STARTED_WITHIN: Duration = Duration::from_secs(600);

/// Time for the plugin to come to rest. Each call has a deadline of its own.
const RESTED_WITHIN: Duration = Duration::from_secs(120);

/// A plugin counts as at rest if two looks, with this pause in between, find it at rest.
const PAUSE: Duration = Duration::from_millis(5);

/// Time for the host to stop on a slow machine. A story leaves no call in flight, and no queue waits for time to pass.
const STOPPED_WITHIN: Duration = Duration::from_secs(30);

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
            // A namespace is emptied in the step that deletes it, not in a later one.
            namespace_grace: Duration::ZERO,
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
        self.begin_calls(self.app()?).await?;
        self.rest().await
    }

    /// Makes a change while the calls of the plugin are held back. They begin once the queues have everything that follows from the
    /// change, so the calls do not depend on the speed of the machine.
    pub(super) async fn change(
        &self,
        change: impl Future<Output = anyhow::Result<()>>,
    ) -> anyhow::Result<()> {
        let Some(app) = &self.app else { return change.await };
        app.hold_calls(true);
        let changed = change.await;
        let begun = self.begin_calls(app).await;
        changed.and(begun)
    }

    /// Waits until the queues have the changes so far, so that the next change comes after them, also in another resource.
    pub(super) async fn followed(&self) -> anyhow::Result<()> {
        match &self.app {
            Some(app) => self.caught_up(app).await.map(drop),
            None => Ok(()),
        }
    }

    /// Waits until the queues have everything that follows from the changes so far, and lets the calls begin.
    async fn begin_calls(&self, app: &App) -> anyhow::Result<()> {
        let following = async {
            loop {
                self.caught_up(app).await?;
                if app.is_settled() {
                    return anyhow::Ok(());
                }
                sleep(Duration::from_millis(1)).await;
            }
        };
        let followed = timeout(RESTED_WITHIN, following).await;
        app.hold_calls(false);
        followed.unwrap_or_else(|_| Err(anyhow!("the plugin does not come to rest within {RESTED_WITHIN:?}")))
    }

    /// Waits until the queues have every change of the API server. Returns the resource version that was reached.
    async fn caught_up(&self, app: &App) -> anyhow::Result<u64> {
        let version = self.server.resource_version();
        if !app.caught_up(&version.to_string()).await {
            bail!("a watch of the plugin does not follow the API server: {}", trouble(app));
        }
        Ok(version)
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
                "no subscription to {gvr} has a resync period, or the server does not serve the resource: write \
                 `resync = \"10m\"` under [[plugin.on]], or add the definition of the resource to `objects`"
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
            self.change(async {
                app.advance(hop);
                Ok(())
            })
            .await?;
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
                let count = self.observed.count();
                let version = self.caught_up(app).await?;
                if app.is_quiet() {
                    sleep(PAUSE).await;
                    let after = (self.server.resource_version(), self.observed.count());
                    if app.is_quiet() && after == (version, count) {
                        return Ok(());
                    }
                } else {
                    sleep(Duration::from_millis(1)).await;
                }
                if count >= MOST {
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
                one_call_at_a_time(plugin);
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

/// With one instance, a handler and a reconciler do not run at the same time, and the number of calls of `start` is the same in each
/// run.
fn one_call_at_a_time(plugin: &mut Plugin) {
    plugin.queue.workers = NonZeroUsize::MIN;
    plugin.workqueue.workers = NonZeroUsize::MIN;
    plugin.limits.instances = Some(NonZeroUsize::MIN);
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::story::setup::configuration;

    #[test]
    fn a_story_has_one_call_at_a_time_whatever_its_configuration_says() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let config = "[[watch]]\ngvr = \"v1/configmaps\"\n[[plugin]]\nname = \"it\"\nsource = \"it.wasm\"\n[[plugin.on]]\n\
                      watch = \"v1/configmaps\"\n[plugin.queue]\nworkers = 3\n[plugin.limits]\ninstances = 4\n";
        fs::write(path("informer.toml"), config).unwrap();
        fs::write(path("it.wasm"), "").unwrap();
        let story = Story::parse("steps: []\n", &path("it.test.yaml")).unwrap();
        let mut config = configuration(&story).unwrap();
        let plugin = config.plugins.first_mut().unwrap();

        one_call_at_a_time(plugin);

        let workers = [plugin.queue.workers, plugin.workqueue.workers];
        assert_eq!((workers, plugin.limits.instances), ([NonZeroUsize::MIN; 2], Some(NonZeroUsize::MIN)));
    }
}
