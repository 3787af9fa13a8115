//! One informer with its server and its listener.

use std::{sync::Arc, time::Duration};

use informer_cache::{
    BackoffConfig, ErrorClass, FactoryConfig, InformerFactory, ListQuery, ListenerConfig, Registration,
    SharedInformer, WatchConfig, WatchListMode,
};
use informer_types::{Gvr, LabelSelector, Notification, NotificationSink, Object};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::{
    notification::describe,
    server::{Answer, Live, Script},
};

/// A pod as the API server writes it in a watch event.
pub(crate) fn pod(name: &str, version: &str) -> Value {
    pod_of(name, version, &format!("uid-{name}"))
}

/// A pod as the API server writes it in a list.
pub(crate) fn item(name: &str, version: &str) -> Value {
    untyped(pod(name, version))
}

/// An object as an item of a list. The list has the type of all its items.
pub(crate) fn untyped(mut object: Value) -> Value {
    object.as_object_mut().unwrap().retain(|key, _| key != "kind" && key != "apiVersion");
    object
}

pub(crate) fn pod_of(name: &str, version: &str, uid: &str) -> Value {
    json!({
        "kind": "Pod", "apiVersion": "v1",
        "metadata": {"name": name, "namespace": "shop", "uid": uid, "resourceVersion": version},
    })
}

pub(crate) fn bookmark(version: &str) -> Value {
    json!({"type": "BOOKMARK", "object": {"kind": "Pod", "apiVersion": "v1",
        "metadata": {"resourceVersion": version, "creationTimestamp": null}}})
}

pub(crate) fn event(kind: &str, object: Value) -> Value {
    json!({"type": kind, "object": object})
}

/// A `Status`.
pub(crate) fn status(code: u16, reason: &str, message: &str) -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "metadata": {},
        "message": message, "reason": reason, "code": code})
}

/// The discovery document of `v1` with pods.
pub(crate) fn core_v1() -> Value {
    json!({"resources": [{"name": "pods", "kind": "Pod", "namespaced": true, "verbs": ["list", "watch"]}]})
}

/// Records the notifications that it is offered.
#[derive(Default)]
pub(crate) struct Recorder(Mutex<Vec<Notification>>);

impl NotificationSink for Recorder {
    fn offer(&self, notification: Notification) {
        self.0.lock().push(notification);
    }
}

impl Recorder {
    /// The notifications as `add shop/web@5 live`, `update shop/web@5->6 live` and `delete shop/web@7 live`. A deletion
    /// with an unknown final state ends in `?`.
    pub(crate) fn received(&self) -> Vec<String> {
        self.0.lock().iter().map(describe).collect()
    }

    /// Releases all notifications, as a dispatcher does after an acknowledgement.
    pub(crate) fn acknowledge(&self) {
        self.0.lock().clear();
    }
}

/// An informer of pods with one listener.
pub(crate) struct World {
    pub(crate) script: Script,
    pub(crate) factory: InformerFactory,
    pub(crate) informer: SharedInformer,
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) registration: Registration,
}

pub(crate) fn pods() -> WatchConfig {
    WatchConfig::new(Gvr::new("", "v1", "pods"))
}

pub(crate) fn listener(name: &str) -> ListenerConfig {
    ListenerConfig { name: name.to_owned(), resync: None, relist_all: false }
}

/// Delays without jitter, so that a test can check them exactly, and plain lists.
pub(crate) fn config() -> FactoryConfig {
    let mut backoff = BackoffConfig::default();
    backoff.backoff.jitter = 0.0;
    FactoryConfig {
        server: "http://scripted".to_owned(),
        backoff,
        watch_list: WatchListMode::Off,
        ..FactoryConfig::default()
    }
}

impl World {
    /// Starts an informer over memory.
    pub(crate) fn start(script: Script) -> Self {
        Self::start_with(script, config(), pods())
    }

    pub(crate) fn start_with(script: Script, config: FactoryConfig, watch: WatchConfig) -> Self {
        let client = script.client();
        Self::start_on(client, script, config, watch)
    }

    pub(crate) fn start_on(
        client: kube::Client,
        script: Script,
        config: FactoryConfig,
        watch: WatchConfig,
    ) -> Self {
        let factory = InformerFactory::new(client, config);
        let informer = factory.informer(watch);
        let recorder = Arc::new(Recorder::default());
        let sink = Arc::clone(&recorder);
        let registration = informer.add_listener(listener("recorder"), sink).unwrap();
        factory.start();
        Self { script, factory, informer, recorder, registration }
    }

    /// Starts an informer whose first list has these pods.
    pub(crate) fn listing(version: &str, items: &[Value]) -> Self {
        let script = Script::new();
        script.list(Answer::list(version, items));
        Self::start(script)
    }

    /// Starts an informer whose next list has the pod `a` at version 1. Returns after the informer has opened its watch.
    pub(crate) async fn watching(script: Script, watch: WatchConfig) -> (Self, Live) {
        script.list(Answer::list("10", &[item("a", "1")]));
        let live = script.live_watch();
        let world = Self::start_with(script, config(), watch);
        world.watches(1).await;
        (world, live)
    }

    /// The objects in the cache, in order.
    pub(crate) fn objects(&self) -> Vec<Arc<Object>> {
        let query = ListQuery { namespace: None, labels: &LabelSelector::default(), index: None };
        self.informer.lister().list(&query).unwrap()
    }

    /// The keys and resource versions in the cache, in order.
    pub(crate) fn cached(&self) -> Vec<String> {
        self.objects()
            .iter()
            .map(|object| format!("{}@{}", object.key(), object.resource_version()))
            .collect()
    }

    pub(crate) fn received(&self) -> Vec<String> {
        self.recorder.received()
    }

    /// Waits until the cache has exactly these objects.
    pub(crate) async fn caches(&self, expected: &[&str]) {
        eventually(
            &format!("cache = {expected:?}"),
            || self.cached() == expected,
            || format!("{:?}; {}", self.cached(), self.informer.status()),
        )
        .await;
    }

    /// Waits until the listener has received exactly these notifications.
    pub(crate) async fn receives(&self, expected: &[&str]) {
        eventually(
            &format!("received = {expected:?}"),
            || self.received() == expected,
            || format!("{:?}; {}", self.received(), self.informer.status()),
        )
        .await;
    }

    /// Waits until there were at least `count` watch requests.
    pub(crate) async fn watches(&self, count: usize) {
        eventually(
            &format!("{count} watches"),
            || self.script.watches().len() >= count,
            || format!("{:?}; {}", self.script.requests(), self.informer.status()),
        )
        .await;
    }

    pub(crate) async fn lists(&self, count: usize) {
        eventually(
            &format!("{count} lists"),
            || self.script.lists().len() >= count,
            || format!("{:?}; {}", self.script.requests(), self.informer.status()),
        )
        .await;
    }

    /// Waits for a failure of this class and returns its text.
    pub(crate) async fn fails(&self, class: ErrorClass) -> String {
        let error = || self.informer.status().reflectors[0].last_error.clone();
        let is_it = || error().is_some_and(|error| error.class == class);
        eventually(&format!("{class:?}"), is_it, || format!("{:?}", self.informer.status())).await;
        error().unwrap().text
    }

    /// The `resourceVersion` of every list so far.
    pub(crate) fn list_versions(&self) -> Vec<String> {
        self.script.lists().iter().map(|list| list.get("resourceVersion").to_owned()).collect()
    }

    pub(crate) fn watch_versions(&self) -> Vec<String> {
        self.script.watches().iter().map(|watch| watch.get("resourceVersion").to_owned()).collect()
    }
}

/// Waits for a condition for at most 20 s of real time. A paused clock advances meanwhile.
pub(crate) async fn eventually(what: &str, condition: impl Fn() -> bool, found: impl Fn() -> String) {
    let start = std::time::Instant::now();
    while start.elapsed() < Duration::from_secs(20) {
        if condition() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    panic!("waited in vain for {what}; found {}", found());
}
