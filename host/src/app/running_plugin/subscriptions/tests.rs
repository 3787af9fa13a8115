//! A watch whose new informer is behind the previous one, or fails.

mod announcements;

use std::{
    collections::HashMap,
    time::{Duration, SystemTime},
};

use informer_devserver::DevServer;
use informer_dispatch::{DeadLetter, FilterConfig, ObjectRef, Receipt, Receipts};
use informer_types::{
    Body, Cause, Change, Failure, FailureKind, Header, LabelSelector, Notification, Source, SyncToken,
};
use serde_json::{Value, json};
use tokio::{sync::oneshot, time::timeout};

use super::*;
use crate::{
    app::{
        App, Options,
        applier::tests::{config, config_map, delete_config_map, start},
        keeping::View,
        running_plugin::{RunningPlugin, letters::NotReplayed},
        settings,
        successor::{Received, Successor},
    },
    config::Access,
    connect::connect,
};

const KEY: &str = "default/web";

/// Time for something that must happen, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// Far above every version that the informer reaches.
const UNREACHED: &str = "1000000";

fn web(version: &str) -> Arc<Object> {
    web_in("default", version)
}

fn web_in(namespace: &str, version: &str) -> Arc<Object> {
    let header = Header {
        namespace: namespace.into(),
        name: "web".into(),
        uid: "u".into(),
        resource_version: version.into(),
        ..Header::default()
    };
    Arc::new(Object::new(&header, Body::Raw("{}".into())).unwrap())
}

/// A successor that holds an object which the previous informer has delivered.
fn successor(informer: &SharedInformer, listening: &Listening, object: Arc<Object>) -> Arc<Successor> {
    let view = View::of(&config::Subscription::default());
    let received = Received { cached: vec![object], newer: HashMap::new(), until: None, view };
    let source = Source::new(informer.key().gvr.clone());
    Arc::new(Successor::new(source, received, Arc::clone(&listening.filter) as _, Tracer::default()))
}

/// A host whose plugin has received an object that is in no cache: the previous informer delivered it.
struct Stage {
    server: DevServer,
    app: App,
    plugin: Arc<RunningPlugin>,
    informer: SharedInformer,
}

impl Stage {
    async fn new() -> Self {
        let stage = Self::with(Vec::new()).await;
        let mut claims = stage.plugin.subscriptions().claims.lock();
        let claim = claims.get_mut(&stage.informer.key().gvr).unwrap();
        let listening = claim.listening.as_mut().unwrap();
        listening.successor = Some(successor(&stage.informer, listening, web(UNREACHED)));
        drop(claims);
        stage
    }

    /// A host without a successor. Its informer has these objects.
    async fn with(objects: Vec<Value>) -> Self {
        let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
        server.load(objects).unwrap();
        let app = start(&server, config("")).await;
        let plugin = app.applier.plugins().find("a").unwrap();
        let informer = app.factory.informers().remove(0);
        Self { server, app, plugin, informer }
    }

    /// Lets a successor hold this object, and adds a condition on the labels of namespaces that no namespace satisfies.
    fn changes_its_filter_and_deletes_only_other_namespaces(
        &self,
        namespaces: &SharedInformer,
        held: Option<Arc<Object>>,
    ) {
        self.informer.wait_offered();
        let mut on = self.on();
        on.filter.namespaces_labels = "team=shop".parse().unwrap();
        let cached = self.informer.cached();
        let others = cached.iter().filter(|object| object.namespace() != "undecodable").count();
        let before = self.plugin.queue().stats().offered;

        let mut claims = self.plugin.subscriptions().claims.lock();
        let claim = claims.get_mut(&self.informer.key().gvr).unwrap();
        let listening = claim.listening.as_mut().unwrap();
        listening.successor = held.map(|object| successor(&self.informer, listening, object));
        assert!(self.plugin.subscriptions().listen(claim, &on, Some(namespaces)));
        drop(claims);

        let deletions = u64::try_from(others).unwrap();
        assert_eq!(self.plugin.queue().stats().offered - before, deletions);
    }

    fn is_behind(&self) -> bool {
        let claims = self.plugin.subscriptions().claims.lock();
        let listening = claims.get(&self.informer.key().gvr).and_then(|claim| claim.listening.as_ref());
        listening.unwrap().is_behind(&KEY.parse().unwrap())
    }

    fn registration(&self) -> Registration {
        let claims = self.plugin.subscriptions().claims.lock();
        let listening = claims.get(&self.informer.key().gvr).and_then(|claim| claim.listening.as_ref());
        listening.unwrap().registration.clone()
    }

    /// The subscription of the plugin.
    fn on(&self) -> config::Subscription {
        let claims = self.plugin.subscriptions().claims.lock();
        let listening = claims.get(&self.informer.key().gvr).and_then(|claim| claim.listening.as_ref());
        listening.unwrap().on.clone()
    }

    /// An informer of namespaces that cannot decode the namespace `undecodable`.
    async fn namespaces(&self) -> Subscription {
        let metadata = json!({"name": "undecodable", "creationTimestamp": 7});
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata});
        self.server.load(vec![namespace]).unwrap();
        let namespaces = self.app.factory.subscribe(WatchConfig::new(Gvr::namespaces())).unwrap();
        assert!(namespaces.informer().wait_synced().await);
        namespaces
    }

    /// An informer that is to replace the present one.
    fn next(&self) -> Subscription {
        let watches = settings::watches(&config("fields = \"metadata.name!=x\""));
        let watch = watches.into_values().next().unwrap();
        self.app.factory.supersede(watch, std::slice::from_ref(&self.informer)).unwrap()
    }

    /// A filter whose plugin acknowledged this version of the object in an earlier process.
    fn recalling(&self, version: &str) -> Arc<Filter<Queue>> {
        let source = Source::new(self.informer.key().gvr.clone());
        let recalled = HashMap::from([(web(version).key(), Receipt::of(&web(version)).unwrap())]);
        let config = FilterConfig { initial: Initial::Changed, ..FilterConfig::default() };
        let filter = Filter::new(config, self.plugin.queue().clone());
        Arc::new(filter.recalling(source, Receipts::default(), recalled))
    }

    /// A dead letter of the object `default/web`.
    fn letter(&self, verb: &'static str) -> DeadLetter {
        let source = Source::new(self.informer.key().gvr.clone());
        DeadLetter {
            object: ObjectRef { source, key: KEY.parse().unwrap() },
            verb,
            cause: Cause::Live,
            uid: "u".into(),
            resource_version: UNREACHED.into(),
            labels: Vec::new(),
            attempts: 1,
            failure: Failure::new(FailureKind::Handler, "no"),
            at: SystemTime::UNIX_EPOCH,
        }
    }

    async fn end(self) {
        self.app.stop().await;
        self.server.shutdown().await;
    }
}

#[tokio::test]
async fn a_dead_letter_is_not_replayed_before_the_informer_has_caught_up() {
    let stage = Stage::new().await;
    let letter = stage.letter("update");
    assert_eq!(
        stage.plugin.subscriptions().replay(&letter),
        Err(NotReplayed::NotSynced),
        "a deletion would be delivered"
    );

    // The object is gone.
    stage.plugin.subscriptions().caught_up(&stage.informer);

    assert_eq!(stage.plugin.subscriptions().replay(&letter), Ok("delete"));
    stage.end().await;
}

/// The filter turned an update into a deletion, and the plugin did not acknowledge the deletion.
#[tokio::test]
async fn the_dead_letter_of_a_deletion_is_replayed_as_one_while_the_object_is_outside_of_the_filter() {
    let stage = Stage::with(vec![config_map(&json!("2026-01-01T00:00:00Z"))]).await;
    let subscriptions = stage.plugin.subscriptions();
    let offered = || stage.plugin.queue().stats().offered;
    assert_eq!(subscriptions.replay(&stage.letter("delete")), Ok("add"));
    let mut on = stage.on();
    on.filter.labels = "team=shop".parse().unwrap();
    {
        let mut claims = subscriptions.claims.lock();
        let claim = claims.get_mut(&stage.informer.key().gvr).unwrap();
        assert!(subscriptions.listen(claim, &on, None));
    }
    let before = offered();

    assert_eq!(subscriptions.replay(&stage.letter("delete")), Ok("delete"));

    assert_eq!(offered() - before, 1, "the filter lets it pass");
    stage.end().await;
}

#[tokio::test]
async fn objects_not_delivered_yet_are_kept_if_the_next_informer_fails_too() {
    let stage = Stage::new().await;
    let next = stage.next();
    stage.app.factory.stop(next.informer()).await;

    assert!(stage.plugin.replace_informer(next).is_err());

    assert!(stage.is_behind());
    stage.end().await;
}

#[tokio::test]
async fn a_replay_includes_the_objects_that_the_informer_has_not_reached() {
    let stage = Stage::new().await;
    let offered = || stage.plugin.queue().stats().offered;
    let before = offered();

    stage.plugin.subscriptions().replay_all(|_| SyncToken::new(|| {}));

    let cached = u64::try_from(stage.informer.cached().len()).unwrap();
    assert_eq!(offered() - before, cached + 1);
    stage.end().await;
}

/// While another informer replaces it, the informer has ended, and the plugin still uses it.
#[tokio::test]
async fn a_replay_includes_the_objects_of_an_informer_that_has_ended() {
    let stage = Stage::new().await;
    stage.server.load(vec![config_map(&json!("2026-01-01T00:00:00Z"))]).unwrap();
    let version = stage.server.resource_version().to_string();
    stage.informer.wait_for_version(&version, None).await.unwrap();
    stage.app.factory.stop(&stage.informer).await;
    stage.plugin.subscriptions().claims.lock().values_mut().for_each(|claim| {
        claim.listening.iter_mut().for_each(|listening| listening.successor = None);
    });
    let before = stage.plugin.queue().stats().offered;

    stage.plugin.subscriptions().replay_all(|_| SyncToken::new(|| {}));

    let cached = u64::try_from(stage.informer.cached().len()).unwrap();
    assert!(cached > 0);
    assert_eq!(stage.plugin.queue().stats().offered - before, cached);
    stage.end().await;
}

/// The object may be in the cache of the next informer.
#[tokio::test]
async fn a_requested_delivery_is_not_made_by_an_informer_that_has_ended() {
    let stage = Stage::new().await;
    let gvr = stage.informer.key().gvr.clone();
    let key = ObjectKey::new("default", "other");
    let deliver = || stage.plugin.subscriptions().deliver_unchanged(&gvr, &key);
    assert!(deliver(), "there is no such object");

    stage.app.factory.stop(&stage.informer).await;

    assert!(!deliver());
    stage.end().await;
}

/// A subscription with `namespaces-labels` may begin or change at the moment at which another informer replaces its informer.
#[tokio::test]
async fn a_subscription_whose_informer_has_ended_begins_with_the_next_informer() {
    let stage = Stage::new().await;
    let (gvr, next) = (stage.informer.key().gvr.clone(), stage.next());
    let subscriptions = stage.plugin.subscriptions();
    let mut on = stage.on();
    on.resync = Some(Duration::from_secs(7));
    let has_begun = || {
        let claims = subscriptions.claims.lock();
        let listening = claims.get(&gvr).and_then(|claim| claim.listening.as_ref());
        listening.is_some_and(|listening| listening.on == on) && !subscriptions.namespaces.is_awaited()
    };
    stage.app.factory.stop(&stage.informer).await;
    subscriptions.namespaces.wait_for(BTreeMap::from([(gvr.clone(), on.clone())]));

    subscriptions.review(None);
    assert!(!has_begun());
    stage.plugin.replace_informer(next).unwrap();

    // The plugin's task begins the subscription.
    timeout(PATIENCE, subscriptions.namespaces.known()).await.unwrap();
    assert!(has_begun());
    stage.end().await;
}

/// The plugin may need the namespaces for another subscription, and their informer may never sync or may be replaced too.
#[tokio::test]
async fn a_subscription_without_labels_of_namespaces_does_not_wait_for_the_namespaces() {
    let stage = Stage::new().await;
    let (gvr, next) = (stage.informer.key().gvr.clone(), stage.next());
    let namespaces = stage.namespaces().await;
    let subscriptions = stage.plugin.subscriptions();
    let mut on = stage.on();
    on.resync = Some(Duration::from_secs(7));
    stage.app.factory.stop(namespaces.informer()).await;
    stage.app.factory.stop(&stage.informer).await;

    subscriptions.claims.lock().insert(Gvr::namespaces(), Claim::of(namespaces));
    subscriptions.namespaces.wait_for(BTreeMap::from([(gvr.clone(), on)]));
    assert!(subscriptions.namespaces.unfollowed(&subscriptions.claims.lock()).is_none());
    if let Some(listening) = &mut subscriptions.claims.lock().get_mut(&gvr).unwrap().listening {
        listening.on.filter.namespaces_labels = "team=shop".parse().unwrap();
    }
    assert!(subscriptions.namespaces.unfollowed(&subscriptions.claims.lock()).is_some());

    // The plugin's task waits for the namespaces, and begins the subscription with the next informer.
    assert!(timeout(Duration::from_millis(200), subscriptions.namespaces.known()).await.is_err());
    stage.plugin.replace_informer(next).unwrap();
    timeout(PATIENCE, subscriptions.namespaces.known()).await.unwrap();
    stage.end().await;
}

/// The list of the removed resource may never end. A plugin that waits for this list would not be called before the host starts again.
#[tokio::test]
async fn a_plugin_waits_no_longer_for_the_cache_of_a_removed_subscription() {
    // Nothing listens there.
    let connection = connect(&Access::Server("http://127.0.0.1:9".parse().unwrap())).await.unwrap();
    let options = Options { connection: Some(connection), ..Options::default() };
    let app = App::start(config(""), options).await.unwrap();
    let plugin = app.applier.plugins().find("a").unwrap();
    let mut without = config("");
    without.plugins[0].subscriptions.clear();

    let completed = plugin.gate.completed(plugin.gate.round(), plugin.subscriptions().complete());
    let completed = timeout(PATIENCE, completed);
    let (is_complete, applied) = tokio::join!(biased; completed, app.apply(without));

    applied.unwrap();
    assert!(!is_complete.unwrap(), "it looks at its caches anew");
    assert!(timeout(PATIENCE, plugin.subscriptions().complete()).await.unwrap());
    app.stop().await;
}

#[tokio::test]
async fn an_informer_that_ends_before_it_has_reached_an_acknowledged_state_does_not_make_its_object_gone() {
    let stage = Stage::new().await;
    let filter = stage.recalling(UNREACHED);
    stage.app.factory.stop(&stage.informer).await;

    end_recall(stage.informer.clone(), Arc::clone(&filter)).await;

    assert_eq!((filter.recalls(), filter.stats().gone), (true, 0));
    stage.end().await;
}

/// The controller writes the cache first and then notifies the listeners (C-5).
#[tokio::test]
async fn no_object_counts_as_gone_while_the_changes_in_the_cache_are_being_offered() {
    let stage = Stage::new().await;
    // `end_recall` does not wait for this version, because the version has no order.
    let filter = stage.recalling("x");
    let (locked, is_locked) = oneshot::channel();
    let (release, released) = std::sync::mpsc::channel::<()>();
    let (informer, registration, sink) = (stage.informer.clone(), stage.registration(), Arc::clone(&filter));
    let offering = std::thread::spawn(move || {
        // The informer's lock is held meanwhile.
        informer.replay_object(&registration, &KEY.parse().unwrap(), Cause::Live, |_| {
            locked.send(()).unwrap();
            released.recv().unwrap();
            sink.offer(Notification {
                source: Source::new(informer.key().gvr.clone()),
                change: Change::Added { object: web("x") },
                cause: Cause::Live,
                initial: None,
                observed: std::time::Instant::now().into(),
            });
            None
        });
    });
    is_locked.await.unwrap();

    let mut ending = tokio::spawn(end_recall(stage.informer.clone(), Arc::clone(&filter)));
    assert!(timeout(Duration::from_millis(200), &mut ending).await.is_err(), "it waits for the offer");
    release.send(()).unwrap();
    ending.await.unwrap();

    offering.join().unwrap();
    assert_eq!((filter.recalls(), filter.stats().gone), (false, 0));
    stage.end().await;
}

/// An object that cannot be decoded exists, although no cache has it (D-2).
#[tokio::test]
async fn an_acknowledged_object_that_cannot_be_decoded_is_delivered_as_deleted_once_it_is_gone() {
    let stage = Stage::new().await;
    stage.server.load(vec![config_map(&json!(7))]).unwrap();
    let version = stage.server.resource_version().to_string();
    stage.informer.wait_for_version(&version, None).await.unwrap();
    assert!(stage.informer.undecoded().may_have(&KEY.parse().unwrap()));
    // `end_recall` does not wait for this version, because the version has no order.
    let filter = stage.recalling("x");
    let mut ending = tokio::spawn(end_recall(stage.informer.clone(), Arc::clone(&filter)));
    assert!(timeout(Duration::from_millis(500), &mut ending).await.is_err(), "the object exists");
    assert_eq!(filter.stats().gone, 0);

    delete_config_map(&stage.server).await;

    ending.await.unwrap();
    assert_eq!((filter.recalls(), filter.stats().gone), (false, 1));
    stage.end().await;
}

/// The cache of a new informer of namespaces has no state of a namespace that cannot be decoded (D-2).
#[tokio::test]
async fn a_namespace_that_cannot_be_decoded_does_not_leave_a_filter_by_labels() {
    let stage = Stage::new().await;
    let namespaces = stage.namespaces().await;
    let names = BTreeSet::from(["gone", "undecodable"].map(Arc::<str>::from));

    let chosen = {
        let claims = stage.plugin.subscriptions().claims.lock();
        let claim = claims.get(&stage.informer.key().gvr).unwrap();
        let listening = claim.listening.as_ref().unwrap();
        names.iter().for_each(|name| listening.filter.set_namespace(name, true));
        listening.review(&stage.informer, namespaces.informer(), &names);
        listening.filter.chosen()
    };

    assert_eq!(chosen, [Arc::<str>::from("undecodable")]);
    stage.end().await;
}

/// A filter that begins has no earlier labels of such a namespace. What the plugin knows of the namespace stays (D-2).
#[tokio::test]
async fn a_filter_that_begins_chooses_a_namespace_that_cannot_be_decoded_if_the_plugin_knows_it() {
    let stage = Stage::new().await;
    let namespaces = stage.namespaces().await;
    let labels: LabelSelector = "team=shop".parse().unwrap();
    let chosen = |known: &[&str]| {
        let known = known.iter().copied().map(Arc::<str>::from).collect();
        chosen(namespaces.informer(), &labels, known)
    };

    assert_eq!(chosen(&["", "default", "gone", "undecodable"]), [Arc::<str>::from("undecodable")]);
    assert!(chosen(&["gone"]).is_empty());
    stage.end().await;
}

#[tokio::test]
async fn a_changed_filter_deletes_no_objects_of_a_namespace_that_cannot_be_decoded() {
    let stage = Stage::new().await;
    let namespaces = stage.namespaces().await;
    let metadata = json!({"namespace": "undecodable", "name": "web"});
    stage.server.load(vec![json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})]).unwrap();
    let version = stage.server.resource_version().to_string();
    stage.informer.wait_for_version(&version, None).await.unwrap();

    stage.changes_its_filter_and_deletes_only_other_namespaces(namespaces.informer(), None);
    stage.end().await;
}

/// The previous informer delivered the object, and the next informer has not reached the object yet.
#[tokio::test]
async fn a_changed_filter_deletes_no_object_of_such_a_namespace_that_is_only_in_the_cache_of_the_informer_before()
 {
    let stage = Stage::new().await;
    let namespaces = stage.namespaces().await;
    let held = Some(web_in("undecodable", UNREACHED));

    stage.changes_its_filter_and_deletes_only_other_namespaces(namespaces.informer(), held);
    stage.end().await;
}

/// The plugin has received a newer state of the object than the cache has.
#[tokio::test]
async fn a_changed_filter_compares_an_object_that_the_informer_has_not_reached_only_once() {
    let stage = Stage::new().await;
    let subscriptions = stage.plugin.subscriptions();
    let offered = || stage.plugin.queue().stats().offered;
    stage.server.load(vec![config_map(&json!("2026-01-01T00:00:00Z"))]).unwrap();
    let version = stage.server.resource_version().to_string();
    stage.informer.wait_for_version(&version, None).await.unwrap();
    stage.informer.wait_offered();
    assert!(stage.is_behind() && stage.informer.lister().get(&KEY.parse().unwrap()).is_some());
    let cached = u64::try_from(stage.informer.cached().len()).unwrap();
    let (before, mut on) = (offered(), stage.on());
    on.filter.labels = "team=shop".parse().unwrap();

    {
        let mut claims = subscriptions.claims.lock();
        let claim = claims.get_mut(&stage.informer.key().gvr).unwrap();
        assert!(subscriptions.listen(claim, &on, None));
    }
    assert_eq!(offered() - before, cached, "one deletion for each object");
    // The succession ends after the change of the filter.
    assert!(subscriptions.caught_up(&stage.informer));

    assert_eq!(offered() - before, cached, "the plugin has received this deletion already");
    stage.end().await;
}

/// The filter before receives objects until the informer's lock is taken for the change.
#[tokio::test]
async fn a_changed_filter_chooses_such_a_namespace_also_for_an_object_that_came_just_before_the_change() {
    let stage = Stage::new().await;
    let namespaces = stage.namespaces().await;
    let (gvr, namespaces) = (stage.informer.key().gvr.clone(), namespaces.informer());
    let subscriptions = stage.plugin.subscriptions();
    let change = |on: &config::Subscription, namespaces: Option<&SharedInformer>| {
        let mut claims = subscriptions.claims.lock();
        let claim = claims.get_mut(&gvr).unwrap();
        assert!(subscriptions.listen(claim, on, namespaces));
        Arc::clone(&claim.listening.as_ref().unwrap().filter)
    };
    let mut on = stage.on();
    on.filter.namespaces = BTreeSet::from(["undecodable".to_owned()]);
    let before = change(&on, None);
    on.filter.namespaces_labels = "team=shop".parse().unwrap();
    let (changed, is_changed) = std::sync::mpsc::channel();

    std::thread::scope(|scope| {
        // The informer's lock is held meanwhile.
        stage.informer.replay_object(&stage.registration(), &KEY.parse().unwrap(), Cause::Live, |_| {
            scope.spawn(|| changed.send(change(&on, Some(namespaces))).unwrap());
            let waited = is_changed.recv_timeout(Duration::from_millis(200));
            assert!(waited.is_err(), "the change waits for the lock");
            before.offer(Notification {
                source: Source::new(gvr.clone()),
                change: Change::Added { object: web_in("undecodable", "x") },
                cause: Cause::Live,
                initial: None,
                observed: std::time::Instant::now().into(),
            });
            None
        });
    });

    let chosen = is_changed.recv().unwrap().chosen();
    assert_eq!(chosen, [Arc::<str>::from("undecodable")]);
    stage.end().await;
}
