//! Changes, faults and listeners on several threads, with many seeds: races that shuttle cannot reach.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use fastrand::Rng;
use informer_cache::{BackoffConfig, InformerFactory, ListenerConfig, SharedInformer};
use informer_types::{Change, Notification, NotificationSink, Object};
use tokio::{
    sync::mpsc,
    task::{JoinSet, yield_now},
    time::{Instant, sleep},
};

use crate::{
    collection::Kind,
    listeners::Joined,
    script::{Ending, Failure, Key, Listener, Op, Setup, Streaming},
    server::Server,
    verdict::{Truth, version},
    world::{NAMESPACES, cached, informer, last, object_key},
};

const SEEDS: u64 = 200;

const CHANGES: usize = 60;

/// A hundred times longer than any step takes.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Clone)]
struct Race {
    server: Server,
    factory: Arc<InformerFactory>,
    informer: SharedInformer,
}

/// Passes notifications on to a reader.
struct Forward(mpsc::UnboundedSender<Notification>);

impl NotificationSink for Forward {
    fn offer(&self, notification: Notification) {
        // The reader may have ended.
        let _ = self.0.send(notification);
    }
}

// === impl Race ===

impl Race {
    fn new(rng: &mut Rng) -> Self {
        let setup = Setup {
            namespaces: rng.bool(),
            streaming: if rng.bool() { Streaming::Works } else { Streaming::Off },
            queue: rng.usize(0..4),
            page_size: rng.bool().then_some(2),
            ..Setup::default()
        };
        let mut backoff = BackoffConfig::default();
        (backoff.backoff.min, backoff.backoff.max) = (Duration::from_millis(1), Duration::from_millis(2));
        let server = Server::new(&setup);
        let (factory, informer) = informer(&server, &setup, backoff);
        Self { server, factory: Arc::new(factory), informer }
    }

    /// Changes the collection and sometimes breaks the watches.
    async fn write(self, mut rng: Rng) {
        for _ in 0..CHANGES {
            let key = Key { namespace: rng.u8(0..NAMESPACES), name: rng.u8(0..3) };
            let op = *rng.choice(&[Op::Put, Op::Put, Op::Delete, Op::Recreate]).unwrap();
            {
                let mut server = self.server.lock();
                server.change(op, key, false);
                match rng.u8(0..20) {
                    0 => server.error(rng.u8(..), Failure::Expired),
                    1 => server.end(rng.u8(..), Ending::Reset),
                    2 => server.bookmark(),
                    _ => {}
                }
            }
            pause(&mut rng).await;
        }
    }

    /// Adds and removes listeners. Returns all of them.
    async fn listen(self, mut rng: Rng) -> Vec<Joined> {
        let mut listeners: Vec<Joined> = Vec::new();
        for _ in 0..8 {
            let config = Listener { resync: 0, relist_all: false, holds: rng.bool() };
            listeners.extend(Joined::try_join(&self.informer, config));
            pause(&mut rng).await;
            if rng.bool()
                && let Some(joined) = listeners.last_mut()
            {
                joined.leave();
                // The recorder reports any notification after the removal.
            }
        }
        listeners
    }

    /// Checks that a notified change, or a newer one, is in the cache (C-5).
    async fn read(self) {
        let (sender, mut received) = mpsc::unbounded_channel();
        let config = ListenerConfig { name: "reader".to_owned(), resync: None, relist_all: false };
        let Ok(registration) = self.informer.add_listener(config, Arc::new(Forward(sender))) else {
            return;
        };
        let waiting = registration.clone();
        let synced = tokio::spawn(async move { waiting.wait_synced().await });
        // Ends with the listener when the stop drops the sink.
        while let Some(notification) = received.recv().await {
            let object = notification.change.object();
            let cached = self.informer.lister().get(&object.key());
            self.check_cached(&notification.change, cached.as_deref());
        }
        let synced = synced.await.unwrap();
        assert!(!synced || self.informer.has_synced());
    }

    fn check_cached(&self, change: &Change, cached: Option<&Object>) {
        let received = version(change.object());
        match (change, cached) {
            (Change::Deleted { object, .. }, Some(cached)) => {
                assert!(cached.uid() != object.uid(), "{cached:?} is still in the cache");
            }
            (Change::Deleted { .. }, None) => {}
            (_, Some(cached)) => assert!(version(cached) >= received, "{cached:?} is older than {received}"),
            (_, None) => {
                let server = self.server.lock();
                let uid: u64 = change.object().uid().to_string().parse().unwrap();
                let mut history = server.collection.history().iter();
                let gone = history.any(|change| change.uid == uid && change.kind == Kind::Deleted);
                assert!(gone, "{change:?} is not in the cache");
            }
        }
    }

    /// Waits until all changes are in the cache.
    async fn settle(&self) {
        let markers: Vec<_> = (0..NAMESPACES)
            .map(|number| {
                let mut server = self.server.lock();
                server.change(Op::Put, last(number), false);
                (object_key(last(number)), server.collection.version())
            })
            .collect();
        let (start, lister) = (Instant::now(), self.informer.lister());
        while !markers.iter().all(|(key, rv)| lister.get(key).is_some_and(|object| version(&object) == *rv)) {
            assert!(start.elapsed() < PATIENCE, "never in the cache: {}", self.informer.status());
            sleep(Duration::from_millis(1)).await;
        }
        // The cache is written first; reading the status waits for the lock under which the listeners are notified.
        drop(self.informer.status());
    }

    /// Every listener received a real history, and a listener that stayed received all of it.
    fn judge(&self, listeners: &[Joined], settled: bool) {
        let expected: Vec<_> = cached(&self.informer).iter().map(|object| version(object)).collect();
        let server = self.server.lock();
        let duplicated = &BTreeSet::new();
        let truth = Truth { collection: &server.collection, ledgers: server.ledgers(), duplicated };
        for joined in listeners {
            assert_eq!(joined.recorder.wrong(), [""; 0]);
            let known = truth.judge(joined);
            if settled && !joined.left {
                let known: Vec<_> = known.values().map(|object| version(object)).collect();
                assert_eq!(known, expected, "the final state of a listener");
            }
        }
        assert_eq!(server.violations, [""; 0]);
    }
}

async fn pause(rng: &mut Rng) {
    match rng.u8(0..8) {
        0 => sleep(Duration::from_millis(1)).await,
        1..5 => yield_now().await,
        _ => {}
    }
}

/// Plays one seed: changes, three tasks that add and remove listeners, a reader, and a stop in the middle or at the
/// end.
async fn run(seed: u64) {
    let mut rng = Rng::with_seed(seed);
    let race = Race::new(&mut rng);
    let (writer, reader) = (race.clone().write(rng.fork()), race.clone().read());
    let mut others = JoinSet::new();
    others.spawn(reader);
    let mut joiners = JoinSet::new();
    for _ in 0..3 {
        joiners.spawn(race.clone().listen(rng.fork()));
    }
    race.factory.start();
    let stop_early = rng.u8(0..3) == 0;
    if stop_early {
        others.spawn(writer);
        for _ in 0..rng.u8(0..20) {
            pause(&mut rng).await;
        }
    } else {
        writer.await;
    }
    if stop_early {
        race.factory.shutdown().await;
    }
    let listeners: Vec<Joined> = joiners.join_all().await.into_iter().flatten().collect();
    if !stop_early {
        race.settle().await;
        assert!(race.informer.wait_synced().await);
    }
    race.judge(&listeners, !stop_early);
    race.factory.shutdown().await;
    others.join_all().await;
    for joined in listeners {
        joined.recorder.acknowledge();
        let _ = joined.registration.wait_synced().await;
        assert_eq!(Arc::strong_count(&joined.recorder), 1, "the sink is still referenced");
    }
    assert!(race.server.lock().is_deserted(), "a connection is still open");
}

/// Scenarios 71 and 92: after a shutdown every task has ended (P-18).
#[test]
fn on_several_threads_no_notification_is_lost_or_doubled_and_no_task_is_left() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap();
    // The gate sets the seed.
    let clock = || u64::from(std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().subsec_nanos());
    let first = std::env::var("PROPTEST_RNG_SEED").map_or_else(|_| clock(), |seed| seed.parse().unwrap());
    for seed in (first..).take(usize::try_from(SEEDS).unwrap()) {
        println!("seed {seed}");
        runtime
            .block_on(async { tokio::time::timeout(PATIENCE, run(seed)).await })
            .expect("the run ends in time");
        let start = std::time::Instant::now();
        // The client's own task ends when it notices that the client is gone.
        while runtime.metrics().num_alive_tasks() > 0 {
            assert!(start.elapsed() < PATIENCE, "{} tasks are left", runtime.metrics().num_alive_tasks());
            runtime.block_on(yield_now());
        }
    }
}
