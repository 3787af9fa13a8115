//! A host for one plugin: a cache of objects, a log that keeps its lines, and deliveries by the test.

use std::{
    collections::BTreeMap,
    num::NonZeroUsize,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use futures::future::{BoxFuture, pending};
use informer_runtime::{
    Component, Engine, EngineConfig, InstancePolicy, Limits, LoadError, LogLevel, LogLine, LogSink,
    LogStream, Plugin, PluginConfig, Sources,
    capabilities::{
        CacheState, ClientSource, ConfigSource, HttpClient, HttpConfig, IndexPage, KeyValueSource, ListError,
        ListerQuery, ListerSource, NoConfigFiles, NoKeyValues, TimerError, TimerSource,
    },
};
use informer_types::{
    AddError, Body, Cause, Change, Delivery, EventHandler, Failure, Gvr, Header, Notification, Object,
    ObjectKey, Outcome, Part, ReadGrant, Reads, SecretGrant, Source, Workqueue, WriteGrant,
};
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::api::Api;

/// Longer than any step of a test takes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// One engine for all tests.
pub(crate) static ENGINE: LazyLock<Engine> = LazyLock::new(|| Engine::new(&EngineConfig::default()).unwrap());

/// The component of a fixture, compiled once.
pub(crate) async fn component(guest: &'static str) -> Component {
    static COMPILED: Compiled = Mutex::new(BTreeMap::new());
    compiled(&COMPILED, &ENGINE, guest).await
}

/// The component of a fixture, compiled for this engine.
pub(crate) async fn component_of(engine: &Engine, guest: &'static str) -> Component {
    compiled(&Mutex::default(), engine, guest).await
}

/// Components by the name of their fixture.
pub(crate) type Compiled = Mutex<BTreeMap<&'static str, Component>>;

/// The component of a fixture. Compiles it at the first use.
pub(crate) async fn compiled(known: &Compiled, engine: &Engine, guest: &'static str) -> Component {
    if let Some(component) = known.lock().get(guest) {
        return component.clone();
    }
    let path = tokio::task::spawn_blocking(move || informer_guests::guest(guest)).await.unwrap();
    let component = Component::from_file(engine, &path).await.unwrap();
    known.lock().insert(guest, component.clone());
    component
}

/// The configuration of a plugin for a test.
pub(crate) struct Setup {
    pub(crate) config: PluginConfig,
    pub(crate) cache: Arc<Cache>,
    pub(crate) api: Arc<Api>,
    pub(crate) http: HttpClient,
    pub(crate) config_files: Arc<dyn ConfigSource>,
    pub(crate) keys: Arc<Keys>,
    pub(crate) keyvalue: Arc<dyn KeyValueSource>,
    pub(crate) engine: Engine,
}

/// A plugin and the parts of the host that it uses.
pub(crate) struct Running {
    pub(crate) plugin: Arc<Plugin>,
    pub(crate) log: Arc<Lines>,
    pub(crate) cache: Arc<Cache>,
    pub(crate) api: Arc<Api>,
    pub(crate) http: HttpClient,
    pub(crate) keys: Arc<Keys>,
    /// The configuration at the start.
    config: PluginConfig,
}

impl Setup {
    /// A plugin with generous limits, one instance and no grants.
    pub(crate) fn new(config_json: &str) -> Self {
        let config = PluginConfig {
            config_json: config_json.to_owned(),
            limits: Limits { deadline: PATIENCE, log_lines: None, ..Limits::default() },
            ..PluginConfig::new("fixture")
        };
        let http = HttpClient::new(HttpConfig::default()).unwrap();
        Self {
            config,
            cache: Arc::default(),
            api: Arc::default(),
            http,
            keys: Arc::default(),
            config_files: Arc::new(NoConfigFiles),
            keyvalue: Arc::new(NoKeyValues),
            engine: ENGINE.clone(),
        }
    }

    pub(crate) fn deadline(mut self, deadline: Duration) -> Self {
        self.config.limits.deadline = deadline;
        self
    }

    pub(crate) fn instances(mut self, instances: usize) -> Self {
        self.config.instances = NonZeroUsize::new(instances).unwrap();
        self
    }

    pub(crate) fn policy(mut self, policy: InstancePolicy) -> Self {
        self.config.instance = policy;
        self
    }

    pub(crate) fn limits(mut self, change: impl FnOnce(&mut Limits)) -> Self {
        change(&mut self.config.limits);
        self
    }

    /// Grants the lister for these resources.
    pub(crate) fn read(mut self, gvrs: &[&str]) -> Self {
        self.config.grants.read = Some(gvrs.iter().map(|gvr| gvr.parse::<ReadGrant>().unwrap()).collect());
        self
    }

    /// Declares what the plugin reads of the objects of a resource.
    pub(crate) fn declares(mut self, gvr: &str, parts: &[&str], some_whole: bool) -> Self {
        let parts: Vec<Part> = parts.iter().map(|part| part.parse().unwrap()).collect();
        self.config.reads.insert(gvr.parse().unwrap(), Reads::new(&parts, some_whole));
        self
    }

    /// Grants the client for these writes.
    pub(crate) fn write(mut self, grants: &[&str]) -> Self {
        self.config.grants.write =
            Some(grants.iter().map(|grant| grant.parse::<WriteGrant>().unwrap()).collect());
        self
    }

    /// Grants `wasi:keyvalue` with this store.
    pub(crate) fn keyvalue(mut self, source: Arc<dyn KeyValueSource>) -> Self {
        self.config.grants.keyvalue = Some(1 << 20);
        self.keyvalue = source;
        self
    }

    /// Uses this engine. The component must be compiled for it.
    pub(crate) fn engine(mut self, engine: &Engine) -> Self {
        self.engine = engine.clone();
        self
    }

    pub(crate) fn config_files(mut self, files: Arc<dyn ConfigSource>) -> Self {
        self.config_files = files;
        self
    }

    /// Grants the values of these Secrets.
    pub(crate) fn secrets(mut self, grants: &[&str]) -> Self {
        self.config.grants.secrets =
            grants.iter().map(|grant| grant.parse::<SecretGrant>().unwrap()).collect();
        self
    }

    /// Grants `wasi:http` for these places.
    pub(crate) fn http(mut self, grants: &[&str]) -> Self {
        self.config.grants.http = Some(grants.iter().map(|grant| grant.parse().unwrap()).collect());
        self
    }

    pub(crate) fn http_config(mut self, config: HttpConfig) -> Self {
        self.http = HttpClient::new(config).unwrap();
        self
    }

    pub(crate) fn cache(mut self, gvr: &str, objects: Vec<Arc<Object>>) -> Self {
        let cache = Arc::get_mut(&mut self.cache).unwrap();
        cache.objects.insert(gvr.parse().unwrap(), objects);
        self
    }

    /// A plugin without a version.
    pub(crate) fn idle(self) -> Running {
        let Self { config, cache, api, http, keys, config_files, keyvalue, engine } = self;
        let log = Arc::new(Lines::default());
        let plugin = Plugin::new(
            engine,
            config.clone(),
            Sources {
                lister: Arc::clone(&cache) as _,
                client: ClientSource::new(Arc::clone(&api) as _, "host-1"),
                http: http.clone(),
                log: Arc::clone(&log) as _,
                keyvalue,
                config: config_files,
                workqueue: Arc::clone(&keys) as _,
                timers: Arc::clone(&keys) as _,
                wall_clock: None,
            },
        );
        Running { plugin: Arc::new(plugin), log, cache, api, http, keys, config }
    }

    pub(crate) async fn load(self, guest: &'static str) -> Running {
        let running = self.idle();
        running.load(guest).await.unwrap();
        running
    }
}

impl Running {
    pub(crate) async fn load(&self, guest: &'static str) -> Result<(), LoadError> {
        self.plugin.load(&component(guest).await).await.map(drop)
    }

    /// Changes the deadline of calls and of `start`.
    pub(crate) async fn set_deadline(&self, deadline: Duration) {
        let mut config = self.config.clone();
        config.limits.deadline = deadline;
        self.plugin.configure(config).await.unwrap();
    }

    pub(crate) async fn deliver(&self, delivery: Delivery) -> Outcome {
        self.plugin.handle(delivery).await.unwrap()
    }

    /// Delivers the addition of an object of this name.
    pub(crate) async fn add(&self, name: &str) -> Outcome {
        self.deliver(added(pod(name, "1"))).await
    }

    /// The failure of a delivery that is to be retried after the backoff.
    pub(crate) async fn add_fails(&self, name: &str) -> Failure {
        match self.add(name).await {
            Outcome::Retry { after: None, failure } => failure,
            other => panic!("{other:?}"),
        }
    }

    /// Delivers in a task of its own.
    pub(crate) fn spawn_add(&self, name: &str) -> tokio::task::JoinHandle<Outcome> {
        let (plugin, delivery) = (Arc::clone(&self.plugin), added(pod(name, "1")));
        tokio::spawn(async move { plugin.handle(delivery).await.unwrap() })
    }
}

/// A workqueue that records its calls. Its capacity is set by the test.
pub(crate) struct Keys {
    pub(crate) capacity: AtomicUsize,
    asked: Mutex<Vec<String>>,
}

impl Default for Keys {
    fn default() -> Self {
        Self { capacity: AtomicUsize::new(usize::MAX), asked: Mutex::default() }
    }
}

impl Keys {
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().clone()
    }

    fn ask(&self, what: String) -> Result<(), AddError> {
        let mut asked = self.asked.lock();
        let capacity = self.capacity.load(Ordering::Relaxed);
        if asked.len() >= capacity {
            return Err(AddError::Full { capacity });
        }
        asked.push(what);
        Ok(())
    }
}

impl Workqueue for Keys {
    fn add(&self, key: &str) -> Result<(), AddError> {
        if key.len() > 100 {
            return Err(AddError::TooLong { bytes: key.len(), limit: 100 });
        }
        self.ask(format!("add {key}"))
    }

    fn add_after(&self, key: &str, delay: Duration) -> Result<(), AddError> {
        self.ask(format!("add {key} after {delay:?}"))
    }

    fn add_rate_limited(&self, key: &str) -> Result<(), AddError> {
        self.ask(format!("add {key} limited"))
    }

    fn forget(&self, key: &str) {
        self.ask(format!("forget {key}")).unwrap();
    }

    fn num_requeues(&self, key: &str) -> u32 {
        key.len().try_into().unwrap()
    }

    fn waiting(&self) -> usize {
        self.asked.lock().len()
    }
}

impl TimerSource for Keys {
    fn set(&self, name: &str, delay: Duration) -> Result<(), TimerError> {
        if name.is_empty() {
            return Err(TimerError::Name("no name".to_owned()));
        }
        self.ask(format!("set {name} after {delay:?}")).map_err(|_| TimerError::TooMany { most: 1 })
    }

    fn cancel(&self, name: &str) {
        self.ask(format!("cancel {name}")).unwrap();
    }
}

/// A small object of `default` with a label of its own.
pub(crate) fn pod(name: &str, rv: &str) -> Arc<Object> {
    object("default", name, rv, &format!(r#"{{"metadata":{{"name":"{name}"}},"spec":{{"node":"n-{rv}"}}}}"#))
}

pub(crate) fn object(namespace: &str, name: &str, rv: &str, json: &str) -> Arc<Object> {
    kept(namespace, name, rv, json, false)
}

/// An object of which only parts are kept if `partial` is true.
pub(crate) fn kept(namespace: &str, name: &str, rv: &str, json: &str, partial: bool) -> Arc<Object> {
    let header = Header {
        partial,
        namespace: namespace.into(),
        name: name.into(),
        uid: format!("uid-{name}").into(),
        resource_version: rv.into(),
        labels: vec![("app".into(), name.into())],
        ..Header::default()
    };
    Arc::new(Object::new(&header, Body::Raw(json.into())).unwrap())
}

pub(crate) fn added(object: Arc<Object>) -> Delivery {
    delivery(Change::Added { object }, Cause::Live)
}

pub(crate) fn delivery(change: Change, cause: Cause) -> Delivery {
    delivery_of(Gvr::new("", "v1", "pods"), change, cause)
}

pub(crate) fn delivery_of(gvr: Gvr, change: Change, cause: Cause) -> Delivery {
    let source = Source::new(gvr);
    let notification = Notification { source, change, cause, initial: None, observed: Instant::now().into() };
    Delivery { notification, attempt: 1, queued: Duration::ZERO }
}

/// A log that keeps its lines.
#[derive(Default)]
pub(crate) struct Lines {
    /// True if it keeps lines below info too.
    pub(crate) debug: AtomicBool,
    kept: Mutex<Vec<Line>>,
    changed: Notify,
}

/// One line of the log.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Line {
    pub(crate) stream: LogStream,
    pub(crate) level: LogLevel,
    pub(crate) message: String,
    pub(crate) fields: Vec<(String, String)>,
}

impl Lines {
    pub(crate) fn lines(&self) -> Vec<Line> {
        self.kept.lock().clone()
    }

    pub(crate) fn messages(&self) -> Vec<String> {
        self.kept.lock().iter().map(|line| line.message.clone()).collect()
    }

    pub(crate) fn count(&self, message: &str) -> usize {
        self.kept.lock().iter().filter(|line| line.message == message).count()
    }

    /// Forgets all lines.
    pub(crate) fn clear(&self) {
        self.kept.lock().clear();
    }

    /// Waits until a line was logged this many times.
    pub(crate) async fn wait_for(&self, message: &str, times: usize) {
        let said = async {
            loop {
                let changed = self.changed.notified();
                if self.count(message) >= times {
                    return;
                }
                changed.await;
            }
        };
        let waited = tokio::time::timeout(PATIENCE, said).await;
        assert!(waited.is_ok(), "{message:?} was never logged: {:?}", self.messages());
    }
}

impl LogSink for Lines {
    fn enabled(&self, _: &str, level: LogLevel) -> bool {
        level >= LogLevel::Info || self.debug.load(Ordering::Relaxed)
    }

    fn line(&self, line: &LogLine<'_>) {
        assert_eq!(line.plugin, "fixture");
        self.kept.lock().push(Line {
            stream: line.stream,
            level: line.level,
            message: line.message.to_owned(),
            fields: line.fields.to_vec(),
        });
        self.changed.notify_waiters();
    }
}

/// A cache of objects. It counts its lists.
#[derive(Default)]
pub(crate) struct Cache {
    pub(crate) objects: BTreeMap<Gvr, Vec<Arc<Object>>>,
    pub(crate) lists: AtomicUsize,
    pub(crate) unsynced: AtomicBool,
}

impl Cache {
    fn of(&self, gvr: &Gvr) -> Result<&Vec<Arc<Object>>, ListError> {
        self.objects.get(gvr).ok_or_else(|| ListError::UnknownResource(gvr.clone()))
    }
}

impl ListerSource for Cache {
    fn get(&self, gvr: &Gvr, key: &ObjectKey) -> Result<Option<Arc<Object>>, ListError> {
        Ok(self.of(gvr)?.iter().find(|object| object.key() == *key).cloned())
    }

    fn list(&self, gvr: &Gvr, query: &ListerQuery<'_>) -> Result<Vec<Arc<Object>>, ListError> {
        self.lists.fetch_add(1, Ordering::Relaxed);
        if let Some((index, value)) = query.index {
            return Err(ListError::UnknownIndex(format!("no index {index} for {value}")));
        }
        let matching = self.of(gvr)?.iter().filter(|object| {
            query.namespace.is_none_or(|namespace| namespace == object.namespace())
                && query.labels.selects(object)
        });
        Ok(matching.cloned().collect())
    }

    /// The index `namespace` alone.
    fn index_values(&self, gvr: &Gvr, page: &IndexPage<'_>) -> Result<Vec<(String, usize)>, ListError> {
        if page.index != "namespace" {
            return Err(ListError::UnknownIndex(format!("no index {}", page.index)));
        }
        let mut values = BTreeMap::new();
        for object in self.of(gvr)?.iter().filter(|object| page.namespaces.contains(object.namespace())) {
            *values.entry(object.namespace().to_owned()).or_default() += 1;
        }
        let behind =
            values.into_iter().filter(|(value, _)| page.after.is_none_or(|after| value.as_str() > after));
        Ok(behind.take(page.limit).collect())
    }

    fn state(&self, gvr: &Gvr) -> Result<CacheState, ListError> {
        let synced = self.has_synced(gvr)?;
        Ok(CacheState { synced, resource_version: "10".to_owned(), age: Some(Duration::from_millis(1500)) })
    }

    fn has_synced(&self, gvr: &Gvr) -> Result<bool, ListError> {
        self.of(gvr).map(|_| !self.unsynced.load(Ordering::Relaxed))
    }

    fn wait_until<'a>(
        &'a self,
        gvr: &'a Gvr,
        _namespace: Option<&'a str>,
        resource_version: &'a str,
    ) -> BoxFuture<'a, Result<(), ListError>> {
        Box::pin(async move {
            self.of(gvr)?;
            let wanted: u64 = resource_version
                .parse()
                .map_err(|_| ListError::InvalidVersion(format!("{resource_version:?} is no number")))?;
            // The cache of these tests stays at version 10.
            if wanted > 10 { pending().await } else { Ok(()) }
        })
    }
}
