//! Plays a script on an informer and checks the result.

use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZeroUsize,
    sync::Arc,
    time::Duration,
};

use informer_cache::{
    BackoffConfig, Counters, FactoryConfig, InformerFactory, ListQuery, Phase, SharedInformer, WatchConfig,
    WatchListMode,
};
use informer_types::{Cause, Gvr, LabelSelector, Object, ObjectKey};
use tokio::time::{Instant, sleep, timeout};

use crate::{
    collection::{namespace, node},
    listeners::Joined,
    script::{Key, Listener, Op, Script, Setup, Step, Streaming, Wait},
    server::{Cut, Server},
    verdict::{Truth, version},
};

/// Several times the longest time in which a dead connection is detected.
const PATIENCE: Duration = Duration::from_secs(4 * 3600);

/// The number of namespaces.
pub(crate) const NAMESPACES: u8 = 2;

/// The name of the object whose arrival shows that all earlier changes have arrived.
const LAST: u8 = 200;

struct World {
    server: Server,
    factory: InformerFactory,
    informer: SharedInformer,
    listeners: Vec<Joined>,
    duplicated: BTreeSet<u64>,
}

/// Plays a script from the first request to the shutdown. Returns the informer's counters.
pub(crate) fn play(script: &Script) -> Counters {
    // The source of the informer's random timeouts.
    fastrand::seed(7);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.unwrap().block_on(async {
        let mut world = World::start(&script.setup);
        for step in &script.steps {
            world.step(*step).await;
            world.check();
        }
        world.end().await
    })
}

/// Makes an informer of the server's pods without starting it.
pub(crate) fn informer(
    server: &Server,
    setup: &Setup,
    mut backoff: BackoffConfig,
) -> (InformerFactory, SharedInformer) {
    backoff.backoff.jitter = 0.0;
    let defaults = FactoryConfig::default();
    let config = FactoryConfig {
        page_size: setup.page_size,
        watch_list: match setup.streaming {
            Streaming::Off => WatchListMode::Off,
            Streaming::UnmarkedEachTime => WatchListMode::On,
            _ => WatchListMode::Auto,
        },
        delta_queue_capacity: NonZeroUsize::new(setup.queue).unwrap_or(defaults.delta_queue_capacity),
        internal_error_retry: Duration::from_secs(setup.internal_error_retry.into()),
        backoff,
        ..defaults
    };
    let factory = InformerFactory::new(server.client(), config);
    let namespaces = if setup.namespaces { (0..NAMESPACES).map(namespace).collect() } else { Vec::new() };
    let indexes = [("by-node".to_owned(), "/spec/nodeName".parse().unwrap())].into();
    let pods = Gvr::new("", "v1", "pods");
    let informer = factory.informer(WatchConfig { namespaces, indexes, ..WatchConfig::new(pods) });
    (factory, informer)
}

/// All objects in the cache, by key.
pub(crate) fn cached(informer: &SharedInformer) -> Vec<Arc<Object>> {
    list(informer, None)
}

fn list(informer: &SharedInformer, index: Option<(&str, &str)>) -> Vec<Arc<Object>> {
    let labels = LabelSelector::default();
    informer.lister().list(&ListQuery { namespace: None, labels: &labels, index }).unwrap()
}

pub(crate) fn last(number: u8) -> Key {
    Key { namespace: number, name: LAST }
}

pub(crate) fn object_key(key: Key) -> ObjectKey {
    ObjectKey::new(key.namespace(), key.name())
}

// === impl World ===

impl World {
    fn start(setup: &Setup) -> Self {
        let server = Server::new(setup);
        let (factory, informer) = informer(&server, setup, FactoryConfig::default().backoff);
        server.lock().informer = Some(informer.clone());
        let plain = Listener { resync: 0, relist_all: false, holds: false };
        let listeners = vec![Joined::join(&informer, plain)];
        factory.start();
        Self { server, factory, informer, listeners, duplicated: BTreeSet::new() }
    }

    async fn step(&mut self, step: Step) {
        let server = self.server.clone();
        let mut server = server.lock();
        match step {
            Step::Change { op, key, hidden } => server.change(op, key, hidden),
            Step::Elsewhere => server.collection.elsewhere(),
            Step::Compact => server.compact(),
            Step::Lag => server.fall_behind(),
            Step::CatchUp => server.catch_up(),
            Step::Remove => server.remove(),
            Step::Serve => server.served = true,
            Step::Bookmark => server.bookmark(),
            Step::Duplicate(watch) => self.duplicated.extend(server.duplicate(watch)),
            Step::End(watch, ending) => server.end(watch, ending),
            Step::Cut(watch, bytes, ending) => server.cut(watch, Cut::After(bytes.into()), ending),
            Step::CutNewline(watch, ending) => server.cut(watch, Cut::BeforeNewline, ending),
            Step::Error(watch, failure) => server.error(watch, failure),
            Step::Nonsense(watch, nonsense) => server.nonsense(watch, nonsense),
            Step::FailList(fault) => server.faults.list.push_back(fault),
            Step::FailPage(fault) => server.faults.page.push_back(fault),
            Step::FailWatch(fault) => server.faults.watch.push_back(fault),
            Step::Join(listener) => self.listeners.push(Joined::join(&self.informer, listener)),
            Step::Leave(number) => self.leave(number),
            Step::Acknowledge => self.listeners.iter().for_each(|joined| joined.recorder.acknowledge()),
            Step::Wait(wait) => {
                drop(server);
                pass(wait).await;
            }
        }
    }

    /// Removes a listener. The first one always stays.
    fn leave(&mut self, number: u8) {
        let mut present: Vec<&mut Joined> =
            self.listeners.iter_mut().skip(1).filter(|joined| !joined.left).collect();
        if !present.is_empty() {
            let at = usize::from(number) % present.len();
            present[at].leave();
        }
    }

    /// Checks the invariants.
    fn check(&mut self) {
        assert_eq!(self.server.lock().violations, [""; 0]);
        for joined in &mut self.listeners {
            joined.check_sync(&self.informer);
        }
    }

    async fn end(mut self) -> Counters {
        self.server.lock().recover();
        self.settle().await;
        self.check_broken();
        self.heal();
        self.settle().await;
        self.listeners.iter().for_each(|joined| joined.recorder.acknowledge());
        self.check();
        assert!(self.informer.wait_synced().await);
        self.check_cache();
        self.check_status();
        self.check_listeners();
        self.check_resync().await;
        for op in [Op::Break, Op::Delete] {
            // An undecodable object moves the version of the cache too.
            self.server.lock().change(op, last(0), false);
            sleep(Duration::from_secs(2)).await;
            self.check_versions();
        }
        let counters = self.informer.status().counters;
        self.shut_down().await;
        counters
    }

    /// Waits until all changes so far are in the cache.
    async fn settle(&mut self) {
        let mut markers = Vec::new();
        for number in 0..NAMESPACES {
            let mut server = self.server.lock();
            server.change(Op::Put, last(number), false);
            markers.push((object_key(last(number)), server.collection.version()));
        }
        let start = Instant::now();
        let mut pause = Duration::from_millis(1);
        let lister = self.informer.lister();
        while !markers.iter().all(|(key, rv)| lister.get(key).is_some_and(|object| version(&object) == *rv)) {
            assert!(start.elapsed() < PATIENCE, "never in the cache: {}", self.informer.status());
            sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(60));
        }
    }

    /// Undecodable objects are in quarantine, and the cache has their last good state, if any (D-2).
    fn check_broken(&self) {
        let server = self.server.lock();
        let reflectors = self.informer.status().reflectors.into_iter();
        let quarantined: BTreeSet<ObjectKey> =
            reflectors.flat_map(|cell| cell.quarantined.into_keys()).collect();
        let now = server.collection.at(server.collection.version());
        let broken = now.into_iter().filter(|(_, change)| change.broken);
        assert_eq!(quarantined, broken.map(|(key, _)| object_key(key)).collect(), "in quarantine");
        let believed = server.ledgers().values().flat_map(|ledger| &ledger.believed);
        let believed: BTreeMap<ObjectKey, u64> =
            believed.map(|(key, version)| (object_key(*key), *version)).collect();
        let cache = cached(&self.informer);
        let cache: BTreeMap<ObjectKey, u64> =
            cache.iter().map(|object| (object.key(), version(object))).collect();
        assert_eq!(cache, believed, "in the cache, as far as objects decode");
    }

    fn heal(&mut self) {
        let mut server = self.server.lock();
        let now = server.collection.at(server.collection.version());
        let broken = now.into_iter().filter(|(_, change)| change.broken);
        for key in broken.map(|(key, _)| key).collect::<Vec<_>>() {
            server.change(Op::Put, key, false);
        }
    }

    /// The cache and its indexes equal the collection, byte for byte (C-17).
    fn check_cache(&self) {
        let expected = self.expected();
        let texts: BTreeMap<ObjectKey, String> = cached(&self.informer)
            .iter()
            .map(|object| (object.key(), object.json().unwrap().into_string()))
            .collect();
        assert_eq!(texts, expected, "in the cache");
        for number in 0..3 {
            let node = node(number);
            let received = list(&self.informer, Some(("by-node", &node)));
            let received: Vec<ObjectKey> = received.iter().map(|object| object.key()).collect();
            let on_node = expected.iter().filter(|(_, text)| text.contains(&node));
            assert_eq!(received, on_node.map(|(key, _)| key.clone()).collect::<Vec<_>>(), "on {node}");
        }
    }

    fn expected(&self) -> BTreeMap<ObjectKey, String> {
        let server = self.server.lock();
        let now = server.collection.at(server.collection.version());
        now.into_iter().map(|(key, change)| (object_key(key), change.text.to_string())).collect()
    }

    fn check_status(&self) {
        let status = self.informer.status();
        let objects = cached(&self.informer);
        assert_eq!(status.objects, objects.len());
        assert_eq!(status.bytes, objects.iter().map(|object| object.memory_bytes()).sum::<usize>());
        assert_eq!((status.phase, status.queued_deltas), (Phase::Watching, 0));
        assert_eq!(status.counters.sink_panics + status.counters.index_failures, 0);
        assert!(status.reflectors.iter().all(|cell| cell.quarantined.is_empty()));
        self.check_versions();
    }

    /// The observed version is the last one received, and so is the version of the cache (I-11).
    fn check_versions(&self) {
        let server = self.server.lock();
        for cell in self.informer.status().reflectors {
            let seen = server.ledgers()[&cell.namespace].seen.unwrap().to_string();
            assert_eq!(cell.observed_version, seen, "last seen");
            assert_eq!(cell.applied_version, seen, "last synced");
        }
    }

    fn check_listeners(&self) {
        let expected = self.expected();
        let server = self.server.lock();
        let truth =
            Truth { collection: &server.collection, ledgers: server.ledgers(), duplicated: &self.duplicated };
        truth.check_first_lists(&self.listeners[0]);
        for joined in &self.listeners {
            let known = truth.judge(joined);
            if !joined.left {
                assert!(joined.registration.has_synced());
                let known: BTreeMap<ObjectKey, String> = known
                    .iter()
                    .map(|(key, object)| (key.clone(), object.json().unwrap().into_string()))
                    .collect();
                assert_eq!(known, expected, "the final state of a listener");
            }
        }
    }

    /// In each period a listener receives every object once (P-8).
    async fn check_resync(&mut self) {
        for joined in self.listeners.iter().filter(|joined| joined.config.resync > 0 && !joined.left) {
            let before = joined.recorder.received().len();
            sleep(Duration::from_secs(joined.config.resync.into()).mul_f64(1.5)).await;
            let mut times: BTreeMap<ObjectKey, usize> = BTreeMap::new();
            for received in joined
                .recorder
                .received()
                .iter()
                .skip(before)
                .filter(|received| received.cause == Cause::Resync)
            {
                *times.entry(received.change.object().key()).or_default() += 1;
            }
            let objects = self.expected();
            assert_eq!(times.len(), objects.len(), "resynced");
            assert!(times.values().all(|times| (1..=2).contains(times)), "{times:?}");
        }
        self.check_listeners();
    }

    /// After the shutdown there is no task, no connection and no listener (P-18).
    async fn shut_down(self) {
        // The informer owns the server.
        self.server.lock().informer = None;
        let start = Instant::now();
        let stopped = timeout(Duration::from_secs(1), self.factory.shutdown()).await;
        assert!(stopped.is_ok() && start.elapsed().is_zero(), "no wait delays the stop (R-37)");
        for joined in &self.listeners {
            assert_eq!(Arc::strong_count(&joined.recorder), 1, "the sink is still referenced");
            assert!(joined.registration.has_synced() || joined.left);
        }
        assert!(self.server.lock().is_deserted(), "a connection is still open");
        assert_eq!(self.informer.status().phase, Phase::Stopped);
        assert_eq!(self.server.lock().violations, [""; 0]);
    }
}

async fn pass(wait: Wait) {
    match wait {
        Wait::Turn => tokio::task::yield_now().await,
        Wait::Milliseconds(time) => sleep(Duration::from_millis(time.into())).await,
        Wait::Seconds(time) => sleep(Duration::from_secs(time.into())).await,
    }
}
