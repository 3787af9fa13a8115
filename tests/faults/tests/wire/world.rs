//! One informer, its server, and what it tells.

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

/// The first delay of the backoff.
pub(crate) const BACKOFF: Duration = Duration::from_millis(20);
/// How long the informer bears silence before and in an answer, and on a watch.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);
/// How long a condition is waited for.
const DEADLINE: Duration = Duration::from_secs(15);

/// An informer of pods with two listeners: one from the start, one that joins at the end.
pub(crate) struct World {
    pub(crate) server: FaultServer,
    pub(crate) informer: SharedInformer,
    pub(crate) history: Arc<History>,
    factory: InformerFactory,
}

/// Plain lists, short waits, and patience: a test that waits for silence takes less of it.
pub(crate) fn config() -> FactoryConfig {
    FactoryConfig {
        server: "http://faulty".to_owned(),
        request_timeout: Duration::from_secs(10),
        idle_watch_timeout: Duration::from_secs(60),
        watch_list: WatchListMode::Off,
        backoff: BackoffConfig { base: BACKOFF, cap: 4 * BACKOFF, jitter: 0.0, ..BackoffConfig::default() },
        ..FactoryConfig::default()
    }
}

/// Every pod.
pub(crate) fn pods() -> WatchConfig {
    WatchConfig::new(Gvr::new("", "v1", "pods"))
}

/// A server with pods a and b of the namespace shop, at 11 and 12.
pub(crate) fn server() -> FaultServer {
    let server = FaultServer::start().unwrap();
    server.collection().put("shop/a");
    server.collection().put("shop/b");
    server
}

/// The same; the requests that `on` means meet the fault.
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

    /// Names and resource versions of the cache, in order.
    pub(crate) fn cached(&self) -> Vec<String> {
        let query = ListQuery { namespace: None, labels: &LabelSelector::default(), index: None };
        let objects = self.informer.lister().list(&query).unwrap();
        objects.iter().map(|object| format!("{}@{}", object.key(), object.resource_version())).collect()
    }

    /// Waits until the cache is the server's collection.
    pub(crate) async fn catches_up(&self) {
        let caught_up = || self.informer.has_synced() && self.cached() == self.server.collection().state();
        self.eventually("the cache to be the collection", caught_up).await;
    }

    /// Waits until the cache is the collection and a watch is open; then all that the listeners were told must be
    /// a history the collection may have had, up to its present state, and a listener that joins now must be told
    /// that state.
    pub(crate) async fn settles(&self) {
        self.watches().await;
        // Whatever is told from now on comes over the watch that is open.
        self.server.collection().put("shop/last");
        self.catches_up().await;
        self.history.check(self.server.collection());
        let late = Arc::new(History::default());
        self.informer.add_listener(listener("joined late"), Arc::clone(&late) as _).unwrap();
        late.check(self.server.collection());
    }

    /// Waits until a watch is open, the only one and the last thing asked for, and the informer has synced.
    pub(crate) async fn watches(&self) {
        let last_is_watch = || self.server.requests().last().is_some_and(|last| last.call == Call::Watch);
        let open = || self.informer.has_synced() && self.server.open_watches() == 1 && last_is_watch();
        self.eventually("one open watch", open).await;
    }

    /// Waits for so many requests of this kind, and returns those so far.
    pub(crate) async fn requests(&self, call: Call, count: usize) -> Vec<Request> {
        let requests = || -> Vec<Request> {
            self.server.requests().into_iter().filter(|request| request.call == call).collect()
        };
        self.eventually(&format!("{count} of {call:?}"), || requests().len() >= count).await;
        requests()
    }

    /// Waits for a failure of this class and returns its text.
    pub(crate) async fn fails(&self, class: ErrorClass) -> String {
        let error = || self.informer.status().reflectors[0].last_error.clone();
        self.eventually(&format!("{class:?}"), || error().is_some_and(|error| error.class == class)).await;
        error().unwrap().text
    }

    /// Lists and watches so far: `list 0`, `list 12 page 2`, `watch 12`.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.server.requests().iter().filter_map(describe).collect()
    }

    /// Waits for a condition with a deadline.
    pub(crate) async fn eventually(&self, what: &str, condition: impl Fn() -> bool) {
        let start = Instant::now();
        while !condition() {
            let status = self.informer.status();
            assert!(
                start.elapsed() < DEADLINE,
                "waited in vain for {what}; {status}; cached {:?}, there is {:?}; asked {:?}",
                self.cached(),
                self.server.collection().state(),
                self.asked(),
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

impl Drop for World {
    /// Stops the informer, which would otherwise go on for as long as the test and ask whoever gets the port next.
    fn drop(&mut self) {
        // Its first poll asks everything to stop; nobody need wait.
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

/// Tries all cases at the same time: most of a test is waiting.
pub(crate) async fn at_once<T, F: Future<Output = ()>>(
    cases: impl IntoIterator<Item = T>,
    test: impl Fn(T) -> F,
) {
    join_all(cases.into_iter().map(test)).await;
}

/// The time between one request and the next.
pub(crate) fn gaps(requests: &[Request]) -> Vec<Duration> {
    requests.windows(2).map(|pair| pair[1].at - pair[0].at).collect()
}
