//! A plugin and its neighbour, each with its queue and its workers, and who saw what.

use std::{
    collections::BTreeMap,
    num::{NonZeroU32, NonZeroU64, NonZeroUsize},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};

use futures::future::BoxFuture;
use informer_dispatch::{
    Backoff, DispatchConfig, Dispatcher, DispatcherHandle, QuarantineConfig, Queue, QueueConfig, QueueStats,
    RetryConfig,
    workqueue::{BucketRateLimiter, RateLimitingQueue},
};
use informer_guests::guest;
use informer_runtime::{
    Component, Engine, EngineConfig, Grants, InstancePolicy, Limits, Plugin, PluginConfig, Sources,
    TrialConfig,
    capabilities::{
        ClientSource, HttpClient, HttpConfig, ListError, ListerQuery, ListerSource, NoConfigFiles,
        NoKeyValues,
    },
};
use informer_tests::host::Lines;
use informer_types::{
    Body, Cause, Change, Delivery, EventHandler, Gvr, Header, Notification, NotificationSink, Object,
    ObjectKey, Outcome, Source,
};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

pub(super) const OBJECTS: usize = 8;

/// What is wrong with a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mood {
    Well,
    Slow,
    Traps,
    TrapsInStart,
    Refuses,
    StartsSlowly,
}

/// One plugin, with what came of its calls.
struct Unit {
    plugin: Arc<Plugin>,
    queue: Queue,
    dispatcher: DispatcherHandle,
    acknowledged: Arc<Mutex<Vec<(String, u64)>>>,
    lines: Lines,
}

pub(super) struct Stage {
    subject: Unit,
    neighbour: Unit,
    component: Component,
    /// The present state of each object; none: there is none.
    present: Vec<Option<Arc<Object>>>,
    /// The last thing told of each.
    last: BTreeMap<String, u64>,
    version: u64,
    reloads: u32,
    _shutdown: tokio_util::sync::DropGuard,
}

/// Notes what the guest acknowledged.
struct Witness {
    plugin: Arc<Plugin>,
    acknowledged: Arc<Mutex<Vec<(String, u64)>>>,
}

struct NoCache;

impl EventHandler for Witness {
    async fn handle(&self, delivery: Delivery) -> Outcome {
        let object = Arc::clone(delivery.notification.change.object());
        let outcome = self.plugin.handle(delivery).await;
        if outcome == Outcome::Acknowledged {
            let version = object.resource_version().parse().unwrap();
            self.acknowledged.lock().push((object.name().to_owned(), version));
        }
        outcome
    }
}

impl ListerSource for NoCache {
    fn get(&self, gvr: &Gvr, _: &ObjectKey) -> Result<Option<Arc<Object>>, ListError> {
        Err(ListError::UnknownResource(gvr.clone()))
    }

    fn list(&self, gvr: &Gvr, _: &ListerQuery<'_>) -> Result<Vec<Arc<Object>>, ListError> {
        Err(ListError::UnknownResource(gvr.clone()))
    }

    fn has_synced(&self, _: &Gvr) -> Result<bool, ListError> {
        Ok(true)
    }

    fn wait_until<'a>(
        &'a self,
        _: &'a Gvr,
        _: Option<&'a str>,
        _: &'a str,
    ) -> BoxFuture<'a, Result<(), ListError>> {
        Box::pin(async { Ok(()) })
    }
}

pub(super) fn config(mood: Mood, version: u32) -> PluginConfig {
    let mood = match mood {
        Mood::Well => "well",
        Mood::Slow => "slow",
        Mood::Traps => "traps",
        Mood::TrapsInStart => "traps-in-start",
        Mood::Refuses => "refuses",
        Mood::StartsSlowly => "starts-slowly",
    };
    PluginConfig {
        name: "moody".into(),
        config_json: format!(r#"{{"mood": "{mood}", "version": {version}}}"#),
        grants: Grants::default(),
        limits: Limits { deadline: Duration::from_secs(60), ..Limits::default() },
        instance: InstancePolicy::Warm { max_calls: NonZeroU64::new(50), idle_timeout: Duration::MAX },
        instances: NonZeroUsize::new(8).unwrap(),
        trial: TrialConfig::default(),
    }
}

/// Failures are tried again at once and for ever: what is given up would be lost.
fn dispatch(workers: usize) -> DispatchConfig {
    let (min, max) = (Duration::from_millis(1), Duration::from_millis(5));
    DispatchConfig {
        plugin: "moody".into(),
        workers: NonZeroUsize::new(workers).unwrap(),
        retry: RetryConfig {
            backoff: Backoff { min, max, factor: 2.0, jitter: 0.2 },
            attempts: None,
            ..RetryConfig::default()
        },
    }
}

/// One engine, one compilation.
async fn component() -> (Engine, Component) {
    static COMPILED: tokio::sync::OnceCell<(Engine, Component)> = tokio::sync::OnceCell::const_new();
    let compiled = COMPILED.get_or_init(async || {
        let path = tokio::task::spawn_blocking(|| guest("moody")).await.unwrap();
        let engine = Engine::new(&EngineConfig::default()).unwrap();
        let component = Component::from_file(&engine, &path).await.unwrap();
        (engine, component)
    });
    compiled.await.clone()
}

// === impl Unit ===

impl Unit {
    async fn new(workers: usize, shutdown: &CancellationToken) -> Self {
        let (engine, component) = component().await;
        let lines = Lines::default();
        // The component adds no keys.
        let workqueue =
            RateLimitingQueue::new(NonZeroUsize::MIN, BucketRateLimiter::new(1.0, NonZeroU32::MIN));
        let sources = Sources {
            lister: Arc::new(NoCache),
            log: Arc::new(lines.clone()),
            keyvalue: Arc::new(NoKeyValues),
            config: Arc::new(NoConfigFiles),
            client: ClientSource::default(),
            http: HttpClient::new(HttpConfig::default()).unwrap(),
            workqueue: Arc::new(workqueue),
        };
        let plugin = Arc::new(Plugin::new(engine, config(Mood::Well, 0), sources));
        plugin.load(&component).await.unwrap();
        // A quarantine would only make the scripts longer.
        let settings = QueueConfig {
            quarantine: QuarantineConfig { after: None, ..QuarantineConfig::default() },
            retry_budget: None,
            ..QueueConfig::default()
        };
        let queue = Queue::new(&settings);
        let acknowledged = Arc::default();
        let witness = Witness { plugin: Arc::clone(&plugin), acknowledged: Arc::clone(&acknowledged) };
        let dispatcher = Dispatcher::spawn(dispatch(workers), queue.clone(), Arc::new(witness), shutdown);
        Self { plugin, queue, dispatcher, acknowledged, lines }
    }

    fn left(&self) -> QueueStats {
        self.queue.stats()
    }

    async fn settled(&self) {
        loop {
            let QueueStats { pending, in_flight, .. } = self.queue.stats();
            if pending + in_flight == 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Of each object each state at most once, each later than the one before, the last one last; and the guest says
    /// the same.
    fn assert_each_once_and_in_order(&self, last: &BTreeMap<String, u64>) {
        let mut seen: BTreeMap<String, u64> = BTreeMap::new();
        for (name, version) in &*self.acknowledged.lock() {
            let before = seen.insert(name.clone(), *version).unwrap_or(0);
            assert!(before < *version, "{name}: {before} and then {version}");
        }
        let stats = self.left();
        let pairs = stats.cancelled;
        for (name, version) in last {
            // A deletion of what nobody was told of is not told.
            assert!(seen.get(name) == Some(version) || pairs > 0, "{name}: {version} is lost, {seen:?}");
        }
        let mut said: Vec<(String, u64)> =
            self.lines.of("moody").iter().filter_map(|line| handled(line)).collect();
        let mut acknowledged = self.acknowledged.lock().clone();
        said.sort();
        acknowledged.sort();
        assert_eq!(said, acknowledged, "the guest saw what the host counts, each once");
        assert_eq!((stats.dead, stats.dropped, stats.discarded, stats.given_back), (0, 0, 0, 0));
        assert_eq!(
            stats.offered,
            stats.acknowledged + stats.merged.total() + stats.cancelled,
            "each is in one place: {stats:?}"
        );
    }
}

/// `default/web 7 3`: what, in which state, by which version.
fn handled(line: &str) -> Option<(String, u64)> {
    let mut words = line.strip_prefix("default/")?.split(' ');
    Some((words.next()?.to_owned(), words.next()?.parse().ok()?))
}

// === impl Stage ===

impl Stage {
    pub(super) async fn new(workers: usize) -> Self {
        let shutdown = CancellationToken::new();
        let (_, component) = component().await;
        Self {
            subject: Unit::new(workers, &shutdown).await,
            neighbour: Unit::new(1, &shutdown).await,
            component,
            present: vec![None; OBJECTS],
            last: BTreeMap::new(),
            version: 0,
            reloads: 0,
            _shutdown: shutdown.drop_guard(),
        }
    }

    pub(super) fn plugin(&self) -> Arc<Plugin> {
        Arc::clone(&self.subject.plugin)
    }

    /// Something happens to each of some objects; both plugins hear of it.
    pub(super) fn events(&mut self, first: usize, count: usize) {
        for index in (first..first + count).map(|index| index % OBJECTS) {
            self.version += 1;
            let version = self.version;
            let name = format!("object-{index}");
            let state = object(&name, version);
            let change = match self.present[index].take() {
                None => Change::Added { object: Arc::clone(&state) },
                // Every fifth change is the last.
                Some(_) if version.is_multiple_of(5) => {
                    Change::Deleted { object: Arc::clone(&state), final_state_known: true }
                }
                Some(old) => Change::Updated { old, new: Arc::clone(&state) },
            };
            if !matches!(change, Change::Deleted { .. }) {
                self.present[index] = Some(state);
            }
            self.last.insert(name, version);
            for unit in [&self.subject, &self.neighbour] {
                unit.queue.offer(Notification {
                    source: Source::new(Gvr::new("", "v1", "pods")),
                    change: change.clone(),
                    cause: Cause::Live,
                    initial: None,
                    observed: Instant::now(),
                });
            }
        }
    }

    /// By turns by its configuration and by its file.
    pub(super) async fn reload(&mut self, mood: Mood) {
        self.reloads += 1;
        let plugin = &self.subject.plugin;
        let before = plugin.version();
        let reloaded = plugin.configure(config(mood, self.reloads)).await;
        match mood {
            Mood::TrapsInStart | Mood::Refuses => {
                assert!(reloaded.is_err(), "{reloaded:?}");
                // The plugin may have gone back meanwhile; what is bad never serves.
                assert!(plugin.is_outdated() && before.is_some() && plugin.version().is_some());
            }
            _ => {
                reloaded.unwrap();
                if self.reloads.is_multiple_of(3) {
                    plugin.load(&self.component).await.unwrap();
                }
            }
        }
    }

    pub(super) fn workers(&self, workers: usize) {
        self.subject.dispatcher.configure(dispatch(workers));
    }

    pub(super) async fn settled(&self) {
        self.subject.settled().await;
        self.neighbour.settled().await;
    }

    pub(super) fn left(&self) -> [QueueStats; 2] {
        [self.subject.left(), self.neighbour.left()]
    }

    /// Returns once the guest says that it starts.
    pub(super) fn said_starting(&self) -> impl Future<Output = ()> + use<> {
        let lines = self.subject.lines.clone();
        async move { lines.said("moody", "starting", "").await }
    }

    pub(super) fn assert_nothing_lost_nothing_doubled_and_in_order(&self) {
        self.subject.assert_each_once_and_in_order(&self.last);
        self.neighbour.assert_each_once_and_in_order(&self.last);
        let neighbour = self.neighbour.left();
        assert_eq!(neighbour.retried, 0, "the neighbour's calls succeed at the first attempt");
        assert_eq!(neighbour.delivered, neighbour.acknowledged);
    }

    pub(super) async fn end(self) {
        for unit in [self.subject, self.neighbour] {
            unit.dispatcher.drain(Duration::from_secs(10)).await;
            unit.plugin.unload().await;
        }
    }
}

fn object(name: &str, version: u64) -> Arc<Object> {
    static MADE: AtomicU64 = AtomicU64::new(0);
    let json = format!(r#"{{"n":{}}}"#, MADE.fetch_add(1, SeqCst));
    let header = Header {
        namespace: "default".into(),
        name: name.into(),
        uid: format!("uid-{name}").into(),
        resource_version: version.to_string().into(),
        ..Header::default()
    };
    Arc::new(Object::new(&header, Body::Raw(json.into())).unwrap())
}
