//! One informer, its server, and the notifications it sends.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use futures::{FutureExt, future::join_all};
use informer_cache::{
    BackoffConfig, ErrorClass, FactoryConfig, InformerFactory, ListQuery, ListenerConfig, SharedInformer,
    WatchConfig, WatchListMode,
};
use informer_faults::{Call, Fault, FaultServer, HttpVersion, On, Request};
use informer_types::{Gvr, LabelSelector};

use crate::history::History;

/// The first delay of the informer's backoff.
pub(crate) const BACKOFF: Duration = Duration::from_millis(20);
/// The idle timeout of the informer in tests of silent servers.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);
/// How long a test waits for a condition, on a busy machine too.
const DEADLINE: Duration = Duration::from_secs(60);

/// An informer for pods with one listener from the start; another listener joins at the end.
pub(crate) struct World {
    pub(crate) server: FaultServer,
    pub(crate) informer: SharedInformer,
    pub(crate) history: Arc<History>,
    factory: InformerFactory,
}

/// Plain lists, short backoff and long timeouts. Tests of silent servers shorten the timeouts.
pub(crate) fn config() -> FactoryConfig {
    let mut backoff = BackoffConfig::default();
    (backoff.backoff.min, backoff.backoff.max) = (BACKOFF, 4 * BACKOFF);
    backoff.backoff.jitter = 0.0;
    FactoryConfig {
        server: "http://faulty".to_owned(),
        request_timeout: Duration::from_secs(10),
        idle_watch_timeout: Duration::from_secs(60),
        watch_list: WatchListMode::Off,
        backoff,
        ..FactoryConfig::default()
    }
}

/// A watch of all pods.
pub(crate) fn pods() -> WatchConfig {
    WatchConfig::new(Gvr::new("", "v1", "pods"))
}

/// A server with the pods shop/a at version 11 and shop/b at version 12.
pub(crate) fn server() -> FaultServer {
    let server = FaultServer::start().unwrap();
    server.collection().put("shop/a");
    server.collection().put("shop/b");
    server
}

/// Like [`server`], with a fault for the requests that `on` selects.
pub(crate) fn server_with(on: On, fault: Fault) -> FaultServer {
    let server = server();
    server.plan(on, fault);
    server
}

impl World {
    pub(crate) fn start(server: FaultServer, http: HttpVersion) -> Self {
        Self::start_with(server, http, config())
    }

    pub(crate) fn start_with(server: FaultServer, http: HttpVersion, config: FactoryConfig) -> Self {
        let client = server.client(http).unwrap();
        Self::start_on(server, client, config)
    }

    pub(crate) fn start_on(server: FaultServer, client: kube::Client, config: FactoryConfig) -> Self {
        Self::start_watch(server, client, config, pods())
    }

    pub(crate) fn start_watch(
        server: FaultServer,
        client: kube::Client,
        config: FactoryConfig,
        watch: WatchConfig,
    ) -> Self {
        let factory = InformerFactory::new(client, config);
        let informer = factory.informer(watch);
        let history = Arc::new(History::default());
        informer.add_listener(listener("from the start"), Arc::clone(&history) as _).unwrap();
        factory.start();
        Self { server, informer, history, factory }
    }

    /// Keys and resource versions in the cache, in order.
    pub(crate) fn cached(&self) -> Vec<String> {
        let query = ListQuery { namespace: None, labels: &LabelSelector::default(), index: None };
        let objects = self.informer.lister().list(&query).unwrap();
        objects.iter().map(|object| format!("{}@{}", object.key(), object.resource_version())).collect()
    }

    /// Waits until the cache equals the server's collection.
    pub(crate) async fn catches_up(&self) {
        let caught_up = || self.informer.has_synced() && self.cached() == self.server.collection().state();
        self.eventually("the cache to be the collection", caught_up).await;
    }

    /// Waits until a watch is open and the cache equals the collection. Then checks that the notifications are a
    /// possible history of the collection up to its current state, and that a listener that joins now receives the
    /// current state.
    pub(crate) async fn settles(&self) {
        self.watches().await;
        // From now on all notifications come from the open watch.
        self.server.collection().put("shop/last");
        self.catches_up().await;
        self.history.check(self.server.collection());
        let late = Arc::new(History::default());
        self.informer.add_listener(listener("joined late"), Arc::clone(&late) as _).unwrap();
        late.check(self.server.collection());
    }

    /// Waits until the informer has synced and its last request is the only open watch.
    pub(crate) async fn watches(&self) {
        let last_is_watch = || self.server.requests().last().is_some_and(|last| last.call == Call::Watch);
        let open = || self.informer.has_synced() && self.server.open_watches() == 1 && last_is_watch();
        self.eventually("one open watch", open).await;
    }

    /// Waits for `count` requests of this kind and returns all of this kind.
    pub(crate) async fn requests(&self, call: Call, count: usize) -> Vec<Request> {
        let requests = || -> Vec<Request> {
            self.server.requests().into_iter().filter(|request| request.call == call).collect()
        };
        self.eventually(&format!("{count} of {call:?}"), || requests().len() >= count).await;
        requests()
    }

    /// Waits until the informer reports a failure of this class, and returns the text.
    pub(crate) async fn fails(&self, class: ErrorClass) -> String {
        let error = || self.informer.status().reflectors[0].last_error.clone();
        self.eventually(&format!("{class:?}"), || error().is_some_and(|error| error.class == class)).await;
        error().unwrap().text
    }

    /// The lists and watches that the server received: `list 0`, `list page 2`, `watch 12`.
    pub(crate) fn requested(&self) -> Vec<String> {
        self.server.requests().iter().filter_map(describe).collect()
    }

    /// Waits for a condition with a deadline.
    pub(crate) async fn eventually(&self, what: &str, condition: impl Fn() -> bool) {
        let start = Instant::now();
        while !condition() {
            let status = self.informer.status();
            assert!(
                start.elapsed() < DEADLINE,
                "no {what} within the deadline; {status}; cached {:?}, on the server {:?}; requests {:?}",
                self.cached(),
                self.server.collection().state(),
                self.requested(),
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

impl Drop for World {
    /// Stops the informer. Otherwise it would run until the end of the test and send requests to the next server on
    /// its port.
    fn drop(&mut self) {
        // The first poll of the shutdown cancels all tasks; there is no need to wait for their end.
        let _ = self.factory.shutdown().now_or_never();
    }
}

pub(crate) fn listener(name: &str) -> ListenerConfig {
    ListenerConfig { name: name.to_owned(), resync: None, relist_all: false }
}

fn describe(request: &Request) -> Option<String> {
    let version = request.resource_version();
    match request.call {
        Call::Watch if request.wants_initial_events() => Some(format!("stream {version}")),
        Call::Watch => Some(format!("watch {version}")),
        Call::List if request.page() > 1 => Some(format!("list page {}", request.page())),
        Call::List => Some(format!("list {version}")),
        Call::Discovery | Call::Other => None,
    }
}

/// Runs all cases concurrently, because a test mostly waits.
pub(crate) async fn at_once<T, F: Future<Output = ()>>(
    cases: impl IntoIterator<Item = T>,
    test: impl Fn(T) -> F,
) {
    join_all(cases.into_iter().map(test)).await;
}

/// The time between each request and the next.
pub(crate) fn gaps(requests: &[Request]) -> Vec<Duration> {
    requests.windows(2).map(|pair| pair[1].at - pair[0].at).collect()
}
