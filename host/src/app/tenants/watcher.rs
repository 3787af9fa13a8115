//! Watches the Plugin objects, and has them applied after they changed.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures::future::select_all;
use informer_cache::{
    InformerFactory, ListQuery, ListenerConfig, SharedInformer, Subscription, Undecoded, WatchConfig,
};
use informer_types::{Gvr, LabelSelector, Notification, NotificationSink, ObjectKey};
use tokio::{
    select,
    sync::Notify,
    time::{Instant, sleep, sleep_until},
};

use super::{scopes::Scopes, writer::Writer};
use crate::{
    app::{
        applier::Applier,
        objects::{Candidate, Judged, Objects, Verdict},
    },
    config::{CLUSTER_PLUGINS, PLUGINS, Refused, Tenancy, host_name},
    state::{State, forget},
};

/// Objects that are applied together arrive within this time.
const TOGETHER: Duration = Duration::from_millis(300);

/// Least time between two applications, so that thousands of changes cause few of them.
const BETWEEN: Duration = Duration::from_secs(1);

/// Time after which an application that failed is tried again, and the scopes of resources are looked up again.
const AGAIN: Duration = Duration::from_secs(60);

/// Follows the objects of the cluster.
pub(in crate::app) struct Tenants {
    applier: Arc<Applier>,
    objects: Objects,
    factory: Arc<InformerFactory>,
    noticed: Arc<Noticed>,
    /// The subscriptions to Plugins and ClusterPlugins, as far as `[tenancy]` accepts them.
    subscriptions: Vec<Subscription>,
    client: kube::Client,
    scopes: Scopes,
    /// What was applied last.
    applied: Vec<(String, Option<i64>)>,
    state: State,
    /// The UID of each object by the name of its plugin: of all objects at the last look, and of deleted objects whose data is not
    /// deleted yet.
    uids: BTreeMap<String, String>,
}

/// Wakes the watcher.
#[derive(Default)]
struct Noticed(Notify);

// === impl Noticed ===

impl NotificationSink for Noticed {
    fn offer(&self, _notification: Notification) {
        self.0.notify_one();
    }
}

// === impl Tenants ===

impl Tenants {
    pub(in crate::app) fn new(
        applier: Arc<Applier>,
        factory: Arc<InformerFactory>,
        client: kube::Client,
        state: State,
    ) -> Self {
        let objects = applier.objects().clone();
        Self {
            objects,
            applier,
            factory,
            noticed: Arc::default(),
            subscriptions: Vec::new(),
            scopes: Scopes::new(client.clone()),
            client,
            applied: Vec::new(),
            state,
            uids: BTreeMap::new(),
        }
    }

    /// Follows the objects while `[tenancy]` accepts some. Never returns.
    pub(in crate::app) async fn run(mut self) {
        let (plugins, leadership) = (self.applier.plugins().clone(), self.applier.leadership().clone());
        let writer = Writer::new(self.objects.clone(), plugins, self.client.clone(), leadership);
        tokio::join!(self.follow(), writer.run());
    }

    async fn follow(&mut self) {
        let objects = self.objects.clone();
        loop {
            let changed = objects.changed();
            // While the host applies a change of `[tenancy]`, the current informer may keep only the fields that plugins read. The host
            // reads whole objects, so the watcher waits until the change is applied.
            let applied = self.applier.hold().await;
            let tenancy = objects.tenancy();
            self.subscribe(tenancy.as_ref());
            drop(applied);
            let looked = Instant::now();
            if let Some(tenancy) = &tenancy {
                self.look(tenancy).await;
            }
            // Notifications that came meanwhile wake at once.
            sleep_until(looked + BETWEEN).await;
            select! {
                biased;
                () = changed => self.scopes.renew(),
                () = self.wait() => sleep(TOGETHER).await,
                () = sleep(AGAIN), if tenancy.is_some() => {}
            }
        }
    }

    /// Subscribes to the objects that `[tenancy]` accepts, and to no others.
    fn subscribe(&mut self, tenancy: Option<&Tenancy>) {
        // A [[watch]] of these objects may share the informer. If the [[watch]] changes, another informer replaces the shared one.
        self.subscriptions.retain(|one| !is_replaced(&self.factory, one.informer()));
        let wanted = [
            (PLUGINS, tenancy.is_some_and(|tenancy| !tenancy.namespaces.is_empty())),
            (CLUSTER_PLUGINS, tenancy.is_some_and(|tenancy| tenancy.cluster_plugins)),
        ];
        for (text, wanted) in wanted {
            let Ok(gvr) = text.parse::<Gvr>() else { continue };
            let is_of_kind = |one: &Subscription| one.informer().key().gvr == gvr;
            if !wanted {
                self.subscriptions.retain(|one| !is_of_kind(one));
            } else if !self.subscriptions.iter().any(is_of_kind) {
                self.subscriptions.extend(self.subscription(&gvr));
            }
        }
        if self.subscriptions.is_empty() {
            self.objects.hold(Vec::new());
            if !self.applied.is_empty() {
                self.applied.clear();
                self.objects.set(Vec::new());
            }
        }
    }

    fn subscription(&self, gvr: &Gvr) -> Option<Subscription> {
        let subscribe = || -> anyhow::Result<Subscription> {
            let subscription = self.factory.subscribe(WatchConfig::new(gvr.clone()))?;
            let listener = ListenerConfig {
                name: "[tenancy]".to_owned(),
                resync: Some(Duration::ZERO),
                relist_all: false,
            };
            subscription.add_listener(listener, Arc::clone(&self.noticed) as _)?;
            Ok(subscription)
        };
        // This fails only while the host stops.
        subscribe().inspect_err(|error| tracing::debug!(%gvr, %error, "Plugin objects are not watched")).ok()
    }

    /// Waits until an object may have changed, or a first list is complete.
    async fn wait(&self) {
        let informers: Vec<SharedInformer> =
            self.subscriptions.iter().map(|one| one.informer().clone()).collect();
        let unsynced = informers.iter().filter(|informer| !informer.has_synced());
        let synced: Vec<_> = unsynced.map(|informer| Box::pin(informer.wait_synced())).collect();
        let synced = async {
            if synced.is_empty() {
                std::future::pending::<()>().await;
            }
            select_all(synced).await;
        };
        select! {
            () = self.noticed.0.notified() => {}
            () = synced => {}
        }
    }

    /// Applies the objects if they differ from those that were applied last.
    async fn look(&mut self, tenancy: &Tenancy) {
        // At the start, an object of an incomplete list could run although older ones use the quota.
        let informers = self.subscriptions.iter().map(Subscription::informer);
        let informers = informers.filter(|one| one.has_synced());
        // Read the quarantine before the cache. In the other order, an object that becomes decodable in between would be missing in both.
        let synced: Vec<(SharedInformer, Undecoded)> =
            informers.map(|one| (one.clone(), one.undecoded())).collect();
        if synced.is_empty() {
            return;
        }
        let scoped = self.scopes.cluster_scoped(tenancy).await;
        let same_scopes = self.objects.set_cluster_scoped(scoped);
        let mut found: Vec<Candidate> = synced.iter().flat_map(|(informer, _)| all(informer)).collect();
        found.extend(self.unlisted(&synced));
        let Some(mut present) = self.without_predecessors(found).await else { return };
        present.sort_by_cached_key(Candidate::identity);
        let identities: Vec<(String, Option<i64>)> = present.iter().map(Candidate::identity).collect();
        let uids = present.iter().map(|one| (plugin_of(one), one.0.uid().to_string())).collect();
        self.objects.set(present);
        if same_scopes && identities == self.applied {
            return self.forget(uids, &synced).await;
        }
        match self.applier.apply_again().await {
            Ok(report) => {
                report.changes.iter().for_each(|change| tracing::info!(%change, "Plugin objects applied"));
                self.applied = identities;
                self.forget(uids, &synced).await;
            }
            Err(error) => tracing::debug!(%error, "the Plugin objects are not applied"),
        }
    }
}

impl Tenants {
    /// The objects of the earlier look that may still exist: their kind has a new informer, which has not synced.
    fn unlisted(&self, synced: &[(SharedInformer, Undecoded)]) -> Vec<Candidate> {
        let is_kind = |informer: &SharedInformer, kind: &str| informer.key().gvr.to_string() == kind;
        let is_unlisted = |one: &&Candidate| {
            let kind = if one.0.namespace().is_empty() { CLUSTER_PLUGINS } else { PLUGINS };
            let is_followed = self.subscriptions.iter().any(|one| is_kind(one.informer(), kind));
            is_followed && !synced.iter().any(|(informer, _)| is_kind(informer, kind))
        };
        self.objects.present().iter().filter(is_unlisted).cloned().collect()
    }

    /// Returns the objects that may run. If a new object has the name of a deleted object, this function first ends the plugin of the
    /// deleted object and deletes its data, even if the watch reported no deletion. If the data cannot be deleted, the new object is held
    /// back with a refusal, and the next look tries again. Returns `None` if the host is stopping.
    async fn without_predecessors(&mut self, found: Vec<Candidate>) -> Option<Vec<Candidate>> {
        let has_predecessor = |one: &Candidate| {
            self.uids.get(&plugin_of(one)).is_some_and(|earlier| one.0.uid() != earlier.as_str())
        };
        let (anew, mut present): (Vec<_>, Vec<_>) = found.into_iter().partition(has_predecessor);
        if !anew.is_empty() {
            self.objects.set(present.clone());
            if let Err(error) = self.applier.apply_again().await {
                tracing::debug!(%error, "the Plugin objects are not applied");
                return None;
            }
        }
        let mut held = Vec::new();
        for one in anew {
            let plugin = plugin_of(&one);
            match forget(&self.state, &plugin).await {
                Ok(()) => {
                    self.uids.remove(&plugin);
                    present.push(one);
                }
                Err(error) => {
                    tracing::warn!(plugin, %error, "the Plugin object does not run yet, because the data of the deleted object of this name cannot be deleted; the host tries again");
                    held.push(held_back(one, plugin));
                }
            }
        }
        self.objects.hold(held);
        Some(present)
    }

    /// Deletes the data of objects that are gone, so that ever new names do not fill the disk. `uids` has the objects in the caches of
    /// `synced` and the objects that may exist, by the names of their plugins. If data cannot be deleted now, a later look deletes it.
    async fn forget(&mut self, mut uids: BTreeMap<String, String>, synced: &[(SharedInformer, Undecoded)]) {
        for (earlier, uid) in std::mem::take(&mut self.uids) {
            if uids.contains_key(&earlier) {
                continue;
            }
            if may_exist(&earlier, synced) {
                uids.insert(earlier, uid);
                continue;
            }
            if let Err(error) = forget(&self.state, &earlier).await {
                tracing::warn!(plugin = earlier, %error, "the data of the deleted Plugin object cannot be deleted yet");
                uids.insert(earlier, uid);
            }
        }
        self.uids = uids;
    }
}

/// The name of the plugin of an object.
fn plugin_of(candidate: &Candidate) -> String {
    host_name(candidate.0.namespace(), candidate.0.name())
}

/// The verdict about an object that waits until the data of the deleted object of its name is deleted.
fn held_back(candidate: Candidate, plugin: String) -> Judged {
    let message = "the host cannot delete the data of the deleted object of this name, and runs this object only after the deletion; \
                   ask the operator, because the log of the host has the cause";
    let verdict = Verdict::Refused(Refused::new(Refused::EARLIER_DATA, message));
    Judged { object: candidate.0, name: plugin, verdict }
}

/// Returns true if this is the resource of Plugin objects.
pub(in crate::app) fn is_plugin_resource(gvr: &Gvr) -> bool {
    let shown = gvr.to_string();
    [PLUGINS, CLUSTER_PLUGINS].contains(&shown.as_str())
}

/// Returns true if the object of this plugin may exist although no cache has it: its kind is no longer watched, the list of its kind is
/// not complete, or the object cannot be decoded.
fn may_exist(plugin: &str, synced: &[(SharedInformer, Undecoded)]) -> bool {
    let (kind, key) = match plugin.split_once('/') {
        Some((namespace, name)) => (PLUGINS, ObjectKey::new(namespace, name)),
        None => (CLUSTER_PLUGINS, ObjectKey::new("", plugin.trim_start_matches("cluster:"))),
    };
    let of_kind = synced.iter().find(|(informer, _)| informer.key().gvr.to_string() == kind);
    of_kind.is_none_or(|(_, undecoded)| undecoded.may_have(&key))
}

/// Returns true if the informer has ended, or if another informer of the same key has replaced it and has synced.
fn is_replaced(factory: &InformerFactory, informer: &SharedInformer) -> bool {
    let is_superseded = || factory.superseded().iter().any(|one| one.is(informer));
    let has_successor =
        || factory.informers().iter().any(|now| now.key() == informer.key() && now.has_synced());
    informer.has_ended() || (is_superseded() && has_successor())
}

fn all(informer: &SharedInformer) -> Vec<Candidate> {
    let query = ListQuery { namespace: None, labels: &LabelSelector::default(), index: None };
    informer.lister().list(&query).unwrap_or_default().into_iter().map(Candidate).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use informer_devserver::DevServer;
    use informer_runtime::capabilities::{KeyValueSource, Place, Quota};
    use informer_types::{Body, Header, Object};
    use serde_json::{Value, json};
    use tokio::time::timeout;

    use super::*;
    use crate::{
        app::{App, Options, applier::tests::config},
        config::{Access, Config, definitions},
        connect::{Connection, connect},
        state::KeyValues,
    };

    const TENANCY: &str = "[tenancy]\nnamespaces = [\"shop\"]\ncluster-plugins = true\nread = [\"v1/configmaps\"]\n\
                           registries = [\"ghcr.io/acme/*\"]\n";

    /// Time for something that must happen, on a busy machine.
    const PATIENCE: Duration = Duration::from_secs(60);

    /// A host with its watcher, and a second watcher for the test. Both watchers share [`Objects`] unless a test replaces the second's.
    struct Stage {
        server: DevServer,
        app: App,
        tenants: Tenants,
    }

    impl Stage {
        /// Starts a host at a server without the definitions of Plugins and ClusterPlugins.
        async fn start(config: Config) -> Self {
            Self::start_at(server().await, config).await
        }

        async fn start_at(server: DevServer, config: Config) -> Self {
            let connection = connection(&server).await;
            let client = connection.client.clone();
            let options = Options { connection: Some(connection), ..Options::default() };
            let app = App::start(config, options).await.unwrap();
            let (applier, factory) = (Arc::clone(&app.applier), Arc::clone(&app.factory));
            let tenants = Tenants::new(applier, factory, client, app.state.clone());
            Self { server, app, tenants }
        }

        /// The informer of a kind that the watcher follows.
        fn informer(&self, kind: &str) -> SharedInformer {
            let mut informers = self.tenants.subscriptions.iter().map(Subscription::informer);
            informers.find(|informer| informer.key().gvr.to_string() == kind).unwrap().clone()
        }

        /// The names of the plugins of all objects that are present.
        fn present(&self) -> Vec<String> {
            self.tenants.objects.present().iter().map(plugin_of).collect()
        }

        async fn stop(self) {
            self.app.stop().await;
            self.server.shutdown().await;
        }
    }

    async fn server() -> DevServer {
        DevServer::start(informer_devserver::Config::default()).await.unwrap()
    }

    async fn connection(server: &DevServer) -> Connection {
        connect(&Access::Server(server.url().parse().unwrap())).await.unwrap()
    }

    /// A server with the definition of ClusterPlugins, and without the definition of Plugins.
    async fn server_with_definition() -> DevServer {
        let server = server().await;
        let named = |one: &&Value| one["metadata"]["name"] == "clusterplugins.informer.dev";
        let definition = definitions().iter().find(named).unwrap().to_string();
        let request = http::Request::post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions")
            .header("content-type", "application/json")
            .body(definition.into_bytes());
        connection(&server).await.client.request::<Value>(request.unwrap()).await.unwrap();
        server
    }

    async fn synced(informer: &SharedInformer) {
        assert!(timeout(PATIENCE, informer.wait_synced()).await.unwrap());
    }

    fn place(plugin: &str) -> Place {
        Place { plugin: plugin.into(), bucket: "b".into() }
    }

    /// The key-values of the host, with one value of each of these plugins.
    async fn values<const N: usize>(app: &App, plugins: [&str; N]) -> KeyValues {
        let values = KeyValues::new(app.state.clone());
        for plugin in plugins {
            let change = vec![("k".to_owned(), Some(b"v".to_vec()))];
            values.change(place(plugin), change, Quota(1000)).await.unwrap();
        }
        values
    }

    /// Objects with the UID `one`, by the names of their plugins.
    fn uids<const N: usize>(plugins: [&str; N]) -> BTreeMap<String, String> {
        plugins.map(|plugin| (plugin.to_owned(), "one".to_owned())).into()
    }

    /// The object of the plugin `shop/NAME` with this UID.
    fn object(name: &str, uid: &str) -> Candidate {
        let header =
            Header { namespace: "shop".into(), name: name.into(), uid: uid.into(), ..Header::default() };
        Candidate(Arc::new(Object::new(&header, Body::Raw("{}".into())).unwrap()))
    }

    /// After a relist, only the UID of the new object shows that the first object was deleted.
    #[tokio::test]
    async fn an_object_that_was_created_anew_runs_once_the_data_of_the_deleted_object_is_gone() {
        let mut stage = Stage::start(config(TENANCY)).await;
        let values = values(&stage.app, ["shop/a", "shop/b"]).await;
        let tenants = &mut stage.tenants;
        tenants.uids = uids(["shop/a", "shop/b"]);
        let found = || vec![object("a", "two"), object("b", "one")];
        let plugins = |present: Vec<Candidate>| present.iter().map(plugin_of).collect::<Vec<_>>();
        let kept = async |plugin: &str| values.exists(place(plugin), "k".to_owned()).await.unwrap();
        let is_held = |tenants: &Tenants| {
            let of_a = |one: &&Judged| one.name == "shop/a";
            let verdict = tenants.objects.judged().iter().find(of_a).map(|one| one.verdict.clone());
            matches!(verdict, Some(Verdict::Refused(refused)) if refused.reason == Refused::EARLIER_DATA)
        };

        // No directory can be created below a file.
        tenants.state = State::open(Some(Path::new("/dev/null/state")));
        let present = tenants.without_predecessors(found()).await.unwrap();
        assert_eq!((plugins(present), kept("shop/a").await), (vec!["shop/b".to_owned()], true));
        assert!(is_held(tenants), "its status has the reason");

        tenants.state = stage.app.state.clone();
        let present = tenants.without_predecessors(found()).await.unwrap();
        assert_eq!(plugins(present), ["shop/b", "shop/a"]);
        assert_eq!((kept("shop/a").await, kept("shop/b").await), (false, true));
        assert!(!is_held(tenants));
        stage.stop().await;
    }

    /// A plugin that subscribes to the objects shares the informer with the host until the [[watch]] gets another informer.
    #[tokio::test]
    async fn the_objects_are_followed_after_another_informer_replaces_the_one_that_a_plugin_shares() {
        let with = |fields: &str| {
            let mut config = config(&format!("[[watch]]\ngvr = \"{CLUSTER_PLUGINS}\"\n{fields}\n{TENANCY}"));
            let mut on = config.plugins[0].subscriptions[0].clone();
            on.watch = CLUSTER_PLUGINS.parse().unwrap();
            config.plugins[0].subscriptions.push(on);
            config
        };
        let mut stage = Stage::start_at(server_with_definition().await, with("")).await;
        let objects = stage.tenants.objects.clone();
        let tenancy = objects.tenancy().unwrap();
        stage.tenants.subscribe(Some(&tenancy));
        let shared = stage.informer(CLUSTER_PLUGINS);
        synced(&shared).await;
        let apply = async |app: &App, fields: &str| {
            let changed = objects.changed();
            app.apply(with(fields)).await.unwrap();
            timeout(PATIENCE, changed).await.expect("the watcher is woken");
        };

        apply(&stage.app, "fields = \"metadata.name!=x\"").await;
        assert!(shared.has_ended(), "the informer of the changed watch has replaced it");
        stage.tenants.subscribe(Some(&tenancy));
        let own = stage.informer(CLUSTER_PLUGINS);
        synced(&own).await;

        apply(&stage.app, "fields = \"metadata.name!=y\"").await;
        assert!(stage.app.factory.superseded().iter().all(|one| !one.is(&own)), "no informer replaces it");
        assert!(!own.has_ended());

        // The next informer of the [[watch]] has the key of the host's own informer.
        apply(&stage.app, "").await;
        stage.tenants.subscribe(Some(&tenancy));
        let current = stage.informer(CLUSTER_PLUGINS);
        assert!(!current.is(&own) && current.has_synced() && !current.has_ended());
        stage.stop().await;
    }

    /// The informer that a plugin uses may keep less than the host reads, until the change of `[tenancy]` supersedes it.
    #[tokio::test]
    async fn the_objects_are_not_followed_before_a_change_of_tenancy_is_applied() {
        let mut stage = Stage::start(config("")).await;
        let (tenants, applier) = (&mut stage.tenants, &stage.app.applier);
        // The watcher of the host sets the objects that both watchers share.
        tenants.objects = Objects::default();
        let applied = applier.hold().await;
        tenants.objects.choose(&config(TENANCY));

        // The watcher goes on until it waits for the configuration that is being applied.
        timeout(Duration::ZERO, tenants.follow()).await.unwrap_err();
        assert!(tenants.subscriptions.is_empty());

        drop(applied);
        // The second hold is granted after the watcher has released the first one.
        let released = async {
            select! {
                biased;
                () = tenants.follow() => {}
                _ = applier.hold() => {}
            }
        };
        timeout(PATIENCE, released).await.unwrap();
        assert_eq!(tenants.subscriptions.len(), 2);
        stage.stop().await;
    }

    #[tokio::test]
    async fn the_objects_of_a_kind_stay_until_its_next_informer_has_synced() {
        let mut stage = Stage::start_at(server_with_definition().await, config(TENANCY)).await;
        let tenancy = stage.tenants.objects.tenancy().unwrap();
        // The watcher of the host sets the objects that both watchers share.
        stage.tenants.objects = Objects::default();
        stage.tenants.subscribe(Some(&tenancy));
        synced(&stage.informer(CLUSTER_PLUGINS)).await;
        // The server lacks the definition of Plugins, so their informer does not sync.
        stage.tenants.objects.set(vec![object("a", "one")]);

        stage.tenants.look(&tenancy).await;

        assert_eq!(stage.present(), ["shop/a"]);
        stage.tenants.subscriptions.retain(|one| one.informer().key().gvr.to_string() != PLUGINS);
        stage.tenants.look(&tenancy).await;
        assert_eq!(stage.present(), [""; 0], "the watcher does not follow the kind of the object any more");
        stage.stop().await;
    }

    /// The lists of both kinds begin anew, as after `[tenancy]` was removed and restored.
    #[tokio::test]
    async fn the_data_of_an_object_stays_while_its_list_is_not_complete_or_it_cannot_be_decoded() {
        let server = server_with_definition().await;
        let bad = json!({
            "apiVersion": "informer.dev/v1alpha1",
            "kind": "ClusterPlugin",
            "metadata": {"name": "bad", "creationTimestamp": 7},
            "spec": {"source": "oci://ghcr.io/acme/a:1", "on": [{"watch": "v1/configmaps"}]},
        });
        server.load(vec![bad]).unwrap();
        let mut stage = Stage::start_at(server, config(TENANCY)).await;
        let values = values(&stage.app, ["shop/a", "cluster:bad", "cluster:gone"]).await;
        stage.tenants.uids = uids(["shop/a", "cluster:bad", "cluster:gone"]);
        stage.tenants.applied = vec![("uid of a".to_owned(), Some(1))];
        let tenancy = stage.tenants.objects.tenancy().unwrap();
        stage.tenants.subscribe(Some(&tenancy));
        synced(&stage.informer(CLUSTER_PLUGINS)).await;
        assert!(!stage.informer(PLUGINS).has_synced());

        stage.tenants.look(&tenancy).await;

        let kept = async |plugin: &str| values.exists(place(plugin), "k".to_owned()).await.unwrap();
        let kept = [kept("shop/a").await, kept("cluster:bad").await, kept("cluster:gone").await];
        assert_eq!(kept, [true, true, false]);
        let undecided = uids(["cluster:bad", "shop/a"]);
        assert_eq!(stage.tenants.uids, undecided, "a later list decides whether they exist");
        stage.stop().await;
    }
}
