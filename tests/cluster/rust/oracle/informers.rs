//! Our side: the informers of this project in this process.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use informer_cache::{
    Counters, FactoryConfig, InformerFactory, ListQuery, ListenerConfig, SharedInformer, WatchConfig,
};
use informer_types::{Cause, Change, LabelSelector, Notification, NotificationSink, Object};
use kube::{Client, Config, config::Kubeconfig};
use serde_json::Value;

use super::{
    journal::{Call, Journal, State, What, Why},
    list_mode::ListMode,
    resource::{RUN_LABEL, Resource},
};

/// The first backoff delay, without jitter.
const LONGEST_BACKOFF: Duration = Duration::from_secs(5);

pub(super) struct Informers {
    factory: InformerFactory,
    informers: BTreeMap<Resource, SharedInformer>,
}

/// A listener that records its notifications in the journal.
struct Recorder {
    resource: Resource,
    journal: Journal,
}

// === impl Informers ===

impl Informers {
    /// Starts one informer for each resource. No fields are dropped, so that the caches can be compared.
    pub(super) async fn start(kubeconfig: &str, run: &str, mode: ListMode, journal: &Journal) -> Self {
        let kubeconfig = Kubeconfig::from_yaml(kubeconfig).unwrap();
        let mut config = Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await.unwrap();
        // Use both forms: packed and unpacked objects.
        config.default_retry = false;
        config.read_timeout = None;
        let server = config.cluster_url.to_string();
        let client = Client::try_from(config).unwrap();
        let mut config = FactoryConfig { server, ..FactoryConfig::default() };
        // With this many faults no reflector is healthy for long enough to reset its backoff (D-1).
        config.backoff.backoff.max = LONGEST_BACKOFF;
        mode.configure(&mut config);
        let factory = InformerFactory::new(client, config);
        let informers = Resource::ALL.map(|resource| {
            let mut watch = WatchConfig::new(resource.gvr().parse().unwrap());
            watch.drop = Vec::new();
            if resource.is_namespaced() {
                watch.namespaces = vec![run.to_owned()];
            } else {
                watch.labels = format!("{RUN_LABEL}={run}").parse().unwrap();
            }
            let informer = factory.informer(watch);
            (resource, informer)
        });
        let informers = Self { factory, informers: informers.into() };
        informers.join(journal);
        informers.factory.start();
        informers
    }

    /// Adds a listener to each informer.
    pub(super) fn join(&self, journal: &Journal) {
        for (resource, informer) in &self.informers {
            let listener = ListenerConfig { name: "oracle".into(), resync: None, relist_all: false };
            let recorder = Recorder { resource: *resource, journal: journal.clone() };
            informer.add_listener(listener, Arc::new(recorder)).unwrap();
        }
    }

    /// All objects in the cache by key.
    pub(super) fn cache(&self, resource: Resource) -> BTreeMap<String, Value> {
        let query = ListQuery { namespace: None, labels: &LabelSelector::default(), index: None };
        let objects = self.informers[&resource].lister().list(&query).unwrap();
        let parsed = |object: &Arc<Object>| serde_json::from_str(&object.json().unwrap()).unwrap();
        objects.iter().map(|object| (object.key().to_string(), parsed(object))).collect()
    }

    pub(super) fn counters(&self) -> BTreeMap<Resource, Counters> {
        self.informers.iter().map(|(resource, informer)| (*resource, informer.status().counters)).collect()
    }

    /// The resource version of the cache: the version of the last list, event or bookmark.
    pub(super) fn version(&self, resource: Resource) -> String {
        self.informers[&resource].status().last_synced_version.unwrap_or_default()
    }

    pub(super) fn synced(&self) -> bool {
        self.informers.values().all(SharedInformer::has_synced)
    }

    /// The status of all informers, for the analysis of a failure.
    pub(super) fn status(&self) -> String {
        self.informers.values().map(|informer| format!("{}\n", informer.status())).collect()
    }

    pub(super) async fn stop(self) {
        self.factory.shutdown().await;
    }
}

// === impl Recorder ===

impl NotificationSink for Recorder {
    fn offer(&self, notification: Notification) {
        let id = (self.resource, notification.key().to_string());
        let why = match notification.cause {
            Cause::Initial => Why::Listed { initial: true, at: notification.observed.at },
            Cause::Relist => Why::Listed { initial: false, at: notification.observed.at },
            Cause::Live => Why::Live,
            other => panic!("{other} was not requested"),
        };
        let what = match &notification.change {
            Change::Added { object } => What::Add(state(object)),
            Change::Updated { old, new } => What::Update { old: state(old), new: state(new) },
            Change::Deleted { object, final_state_known } => {
                What::Delete { state: state(object), known: *final_state_known }
            }
        };
        self.journal.push(Call { id, what, why });
    }
}

fn state(object: &Object) -> State {
    State { uid: object.uid().to_string(), version: object.resource_version().parse().unwrap() }
}
