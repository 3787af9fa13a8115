//! The whole host in this process, and the log lines of its plugins.

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::Context;
use http_body_util::BodyExt;
use informer::{
    admin::Probe,
    app::{App, Options, StopReport, engine_config},
    config::{self, Access, Components, Config, Environment, Host, Place, StateDir},
    connect::{Connection, connect},
};
use informer_cache::ListQuery;
use informer_runtime::{CodeCache, CodeKey, Compiler, EngineConfig, LogLevel, LogLine, LogSink, LogStream};
use informer_types::LabelSelector;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::{sync::Notify, time::timeout};

/// How long a test waits for an expected event. A person expects it within a second. A busy build machine gets more
/// time: it may compile a Python component for minutes.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// A line of `[host]`: a busy build machine compiles a Python component for minutes.
pub const PATIENT: &str = "compile-timeout = \"10m\"\n";

/// A running host.
pub struct TestHost {
    app: App,
    /// The lines of its plugins so far.
    pub lines: Lines,
}

/// One line of a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The name of the plugin in the configuration.
    pub plugin: String,
    /// The origin of the line.
    pub stream: LogStream,
    /// The level of the line.
    pub level: LogLevel,
    /// The text, without a line break.
    pub message: String,
}

/// All lines of the plugins of a host, in order. It is cheap to clone, and all clones share the same lines.
#[derive(Clone, Default)]
pub struct Lines(Arc<Heard>);

#[derive(Default)]
struct Heard {
    lines: Mutex<Vec<Line>>,
    more: Notify,
}

// === impl TestHost ===

impl TestHost {
    /// Starts the host with this `informer.toml` against the server at `url`, without credentials. The text must not
    /// contain `[host]` or `[cluster]`: the admin endpoint is off.
    pub async fn start(url: &str, toml: &str) -> anyhow::Result<Self> {
        let connection = connect(&Access::Server(url.parse()?)).await?;
        Self::start_with(connection, toml).await
    }

    /// Starts the host like [`TestHost::start`], with a connection of the test.
    pub async fn start_with(connection: Connection, toml: &str) -> anyhow::Result<Self> {
        Self::run(connection, configuration(toml)?).await
    }

    async fn run(connection: Connection, configuration: Config) -> anyhow::Result<Self> {
        let lines = Lines::default();
        let options = Options {
            connection: Some(connection),
            log: Arc::new(lines.clone()),
            engine,
            ..Options::default()
        };
        let app = App::start(configuration, options).await?;
        Ok(Self { app, lines })
    }

    /// Starts the host like [`TestHost::start`], with a configuration that is changed after it is read.
    pub async fn start_adjusted(
        url: &str,
        toml: &str,
        adjust: impl FnOnce(&mut Config),
    ) -> anyhow::Result<Self> {
        let connection = connect(&Access::Server(url.parse()?)).await?;
        let mut configuration = configuration(toml)?;
        adjust(&mut configuration);
        Self::run(connection, configuration).await
    }

    /// Starts the host like [`TestHost::start`], with its state in this directory.
    pub async fn start_in(url: &str, state: &Path, toml: &str) -> anyhow::Result<Self> {
        let connection = connect(&Access::Server(url.parse()?)).await?;
        let mut configuration = configuration(toml)?;
        configuration.host.state_dir = StateDir::At(state.to_owned());
        Self::run(connection, configuration).await
    }

    /// Starts the host with this configuration file against the server at `url`. The host follows changes of the
    /// file. The file contains `[host]` itself.
    pub async fn start_file(url: &str, file: &Path) -> anyhow::Result<Self> {
        let lines = Lines::default();
        let options = Options {
            connection: Some(connect(&Access::Server(url.parse()?)).await?),
            log: Arc::new(lines.clone()),
            file: Some(file.to_owned()),
            engine,
            ..Options::default()
        };
        let app = App::start(config::load(file, Components::Unseen)?, options).await?;
        Ok(Self { app, lines })
    }

    /// The host itself.
    pub fn app(&self) -> &App {
        &self.app
    }

    /// The problems of a host that still serves.
    pub fn degraded(&self) -> Vec<String> {
        self.app.probe().degraded()
    }

    /// Waits until every informer has synced, every plugin serves, and every initial notification is settled.
    pub async fn synced(&self) {
        let synced = timeout(PATIENCE, self.app.synced()).await;
        assert!(synced.is_ok(), "the host does not sync: {:#}", self.status());
    }

    /// All objects in the cache of a resource as JSON, by namespace and name.
    pub fn cached(&self, gvr: &str) -> Vec<Value> {
        let lister = gvr.parse().ok().and_then(|gvr| self.app.lister(&gvr));
        let query = ListQuery { namespace: None, labels: &LabelSelector::default(), index: None };
        let objects = lister.and_then(|lister| lister.list(&query).ok()).unwrap_or_default();
        objects.iter().filter_map(|object| serde_json::from_str(&object.json().ok()?).ok()).collect()
    }

    /// The status, as the admin endpoint returns it.
    pub fn status(&self) -> Value {
        serde_json::to_value(self.app.probe().status()).unwrap_or_default()
    }

    /// The metrics, as the admin endpoint returns them to Prometheus.
    pub fn metrics(&self) -> String {
        self.app.probe().metrics()
    }

    /// What the admin endpoint answers to `GET /metrics` with this `Accept`: the content type and the text.
    pub async fn scrape(&self, accept: &str) -> anyhow::Result<(String, String)> {
        let admin = self.app.admin_address().context("the admin endpoint is off")?;
        let connection = connect(&Access::Server(format!("http://{admin}").parse()?)).await?;
        let request = http::Request::get("/metrics").header(http::header::ACCEPT, accept);
        let answer = connection.client.send(request.body(kube::client::Body::empty())?).await?;
        let kind = answer.headers().get(http::header::CONTENT_TYPE).context("no content type")?;
        let kind = kind.to_str()?.to_owned();
        let text = answer.into_body().collect().await?.to_bytes();
        Ok((kind, String::from_utf8(text.into())?))
    }

    /// Why the host is not ready. It is empty if the host is ready.
    pub fn unready(&self) -> Vec<String> {
        self.app.probe().unready()
    }

    /// The status of one plugin.
    pub fn plugin(&self, name: &str) -> Value {
        let status = self.status();
        let plugins = status.get("plugins").and_then(Value::as_array).cloned().unwrap_or_default();
        plugins
            .into_iter()
            .find(|plugin| plugin.get("name").is_some_and(|own| own == name))
            .unwrap_or_default()
    }

    /// Waits until the status satisfies the condition.
    pub async fn until(&self, what: &str, condition: impl Fn(&Value) -> bool) {
        let looking = async {
            while !condition(&self.status()) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let seen = timeout(PATIENCE, looking).await;
        assert!(seen.is_ok(), "{what} did not come about: {:#}", self.status());
    }

    /// Stops the host like a signal does.
    pub async fn stop(self) -> StopReport {
        self.app.stop().await
    }
}

/// The engine of a test. It compiles in this process, because the program of a compiler process is `informer`, and a test binary is not. It
/// keeps the code for all tests.
fn engine(host: &Host) -> EngineConfig {
    let directory = std::env::temp_dir().join("informer-tests-compiled");
    let cache = CodeCache { directory, key: CodeKey::from_bytes([0; CodeKey::BYTES]) };
    EngineConfig { compiler: Compiler::InProcess, ..engine_config(host, Some(cache)) }
}

/// Parses the `informer.toml` of a test.
pub fn configuration(toml: &str) -> anyhow::Result<Config> {
    let text = format!("[host]\nadmin = \"off\"\nstate-dir = \"off\"\n{PATIENT}{toml}");
    let environment = Environment::of_process();
    let place = Place { file: Path::new("test.toml"), base: Path::new("/"), environment: &environment };
    Ok(config::parse(&text, &place, Components::Unseen)?)
}

// === impl Lines ===

impl Lines {
    /// The lines of one plugin so far, without the lines of the host about the plugin.
    pub fn of(&self, plugin: &str) -> Vec<String> {
        let lines = self.0.lines.lock();
        let own = lines.iter().filter(|line| line.plugin == plugin && line.stream != LogStream::Host);
        own.map(|line| line.message.clone()).collect()
    }

    /// All lines so far.
    pub fn all(&self) -> Vec<Line> {
        self.0.lines.lock().clone()
    }

    /// Waits until the lines of one plugin satisfy the condition.
    ///
    /// # Panics
    /// Panics after [`PATIENCE`] with the lines of the plugin.
    pub async fn until(&self, plugin: &str, what: &str, condition: impl Fn(&[String]) -> bool) {
        let looking = async {
            loop {
                let more = self.0.more.notified();
                if condition(&self.of(plugin)) {
                    return;
                }
                more.await;
            }
        };
        let seen = timeout(PATIENCE, looking).await;
        let said = self.of(plugin);
        let tail = said.get(said.len().saturating_sub(40)..).unwrap_or_default();
        assert!(seen.is_ok(), "{plugin} never logged {what}; its last lines are: {tail:#?}");
    }

    /// Waits until one plugin has a line with this start and this end.
    pub async fn said(&self, plugin: &str, start: &str, end: &str) {
        let fits = |line: &String| line.starts_with(start) && line.ends_with(end);
        self.until(plugin, &format!("`{start}...{end}`"), |lines| lines.iter().any(fits)).await;
    }
}

impl LogSink for Lines {
    fn enabled(&self, _plugin: &str, _level: LogLevel) -> bool {
        true
    }

    fn line(&self, line: &LogLine<'_>) {
        let LogLine { plugin, stream, level, message, .. } = *line;
        let line = Line { plugin: plugin.to_owned(), stream, level, message: message.to_owned() };
        self.0.lines.lock().push(line);
        self.0.more.notify_waiters();
    }
}
