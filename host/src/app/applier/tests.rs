//! An informer that replaces another one, or does not.

use std::path::Path;

use informer_cache::WatchConfig;
use informer_devserver::DevServer;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::*;
use crate::{
    app::{App, Options},
    config::{Access, Components, Environment, Place},
    connect::connect,
};

/// Time for something that must happen, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// One plugin without a component that subscribes to ConfigMaps: its queue receives notifications.
pub(in crate::app) fn config(watch: &str) -> Config {
    let text = format!(
        "[host]\nadmin = \"off\"\nstate-dir = \"off\"\n[[watch]]\ngvr = \"v1/configmaps\"\n{watch}\n\
         [[plugin]]\nname = \"a\"\nsource = \"/not/there.wasm\"\n[[plugin.on]]\nwatch = \"v1/configmaps\"\n"
    );
    let environment = Environment { home: None, cache_dir: None, state_dir: None };
    let place = Place { file: Path::new("informer.toml"), base: Path::new("/"), environment: &environment };
    crate::config::parse(&text, &place, Components::Unseen).unwrap()
}

pub(in crate::app) async fn start(server: &DevServer, config: Config) -> App {
    let connection = connect(&Access::Server(server.url().parse().unwrap())).await.unwrap();
    let options = Options { connection: Some(connection), ..Options::default() };
    let app = App::start(config, options).await.unwrap();
    assert!(app.factory.informers()[0].wait_synced().await);
    app
}

/// The ConfigMap `default/web`. If `created` is no text, an informer cannot decode the object.
pub(in crate::app) fn config_map(created: &Value) -> Value {
    let metadata = json!({"namespace": "default", "name": "web", "creationTimestamp": created});
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
}

/// Deletes the ConfigMap `default/web`.
pub(in crate::app) async fn delete_config_map(server: &DevServer) {
    let client = connect(&Access::Server(server.url().parse().unwrap())).await.unwrap().client;
    let request = http::Request::delete("/api/v1/namespaces/default/configmaps/web");
    let request = request.header("content-type", "application/json").body(b"{}".to_vec()).unwrap();
    client.request_text(request).await.unwrap();
}

/// A host with an informer that is to replace another one, before the succession begins.
struct Stage {
    server: DevServer,
    app: App,
    old: SharedInformer,
    new: SharedInformer,
    watch: WatchConfig,
    pending: CancellationToken,
}

impl Stage {
    async fn new() -> Self {
        let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
        let app = start(&server, config("")).await;
        let old = app.factory.informers().remove(0);
        Self::replacing(server, app, old).await
    }

    async fn replacing(server: DevServer, app: App, old: SharedInformer) -> Self {
        let gvr = old.key().gvr.clone();
        let watch = settings::watches(&config("fields = \"metadata.name!=x\"")).remove(&gvr).unwrap();
        let keeper = app.factory.supersede(watch.clone(), std::slice::from_ref(&old)).unwrap();
        let (new, pending) = (keeper.informer().clone(), app.stop.child_token());
        let succession = Succession { _keeper: keeper, pending: pending.clone() };
        app.applier.hold().await.successions.insert(gvr, succession);
        Self { server, app, old, new, watch, pending }
    }

    fn succeed(&self) -> impl Future<Output = ()> + use<> {
        let (new, watch, pending) = (self.new.clone(), self.watch.clone(), self.pending.clone());
        Arc::clone(&self.app.applier).complete_succession(new, watch, pending)
    }

    async fn end(self) {
        self.app.stop().await;
        self.server.shutdown().await;
    }
}

#[tokio::test]
async fn the_informer_of_a_changed_watch_replaces_the_one_before_once_it_has_synced() {
    let stage = Stage::new().await;

    timeout(PATIENCE, stage.succeed()).await.unwrap();

    assert!(stage.old.has_ended() && stage.new.has_synced());
    let plugin = stage.app.applier.plugins().find("a").unwrap();
    assert!(plugin.subscriptions().other_than(&stage.new).is_none());
    assert!(stage.app.applier.hold().await.successions.is_empty());
    stage.end().await;
}

#[tokio::test]
async fn an_informer_that_fails_before_it_has_synced_leaves_the_one_before_in_service() {
    let stage = Stage::new().await;
    // A bug of the host would end it in this way.
    stage.app.factory.stop(&stage.new).await;

    timeout(PATIENCE, stage.succeed()).await.unwrap();

    assert!(!stage.old.has_ended());
    let plugin = stage.app.applier.plugins().find("a").unwrap();
    assert!(plugin.subscriptions().other_than(&stage.new).is_some(), "it still uses the informer before");
    stage.end().await;
}

#[tokio::test]
async fn cancelling_a_succession_ends_its_wait() {
    let stage = Stage::new().await;
    let turn = stage.app.applier.hold().await;
    let succeeding = tokio::spawn(stage.succeed());
    assert!(stage.new.wait_synced().await);
    // It runs as far as it can.
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
    assert!(!succeeding.is_finished());

    stage.pending.cancel();

    timeout(PATIENCE, succeeding).await.unwrap().unwrap();
    assert!(!stage.old.has_ended());
    drop(turn);
    stage.end().await;
}

#[tokio::test]
async fn a_configuration_is_applied_to_its_end_even_if_the_future_is_dropped() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let app = start(&server, config("")).await;
    let mut new = config("");
    let other = Plugin { name: "b".to_owned(), ..new.plugins[0].clone() };
    new.plugins.push(other);
    {
        let mut applying = std::pin::pin!(app.apply(new));
        assert!(futures::poll!(&mut applying).is_pending());
    }

    let applied = timeout(PATIENCE, app.applier.hold()).await.unwrap();

    assert_eq!(applied.config.as_ref().unwrap().plugins.len(), 2, "it was applied before the next turn");
    assert!(app.applier.plugins().find("b").is_some());
    drop(applied);
    app.stop().await;
    server.shutdown().await;
}

/// A new informer would list every object again.
#[tokio::test]
async fn a_renamed_plugin_uses_the_informer_of_its_unchanged_watch() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let app = start(&server, config("")).await;
    let informer = app.factory.informers().remove(0);
    let mut renamed = config("");
    "b".clone_into(&mut renamed.plugins[0].name);

    app.apply(renamed).await.unwrap();

    assert!(app.applier.plugins().find("a").is_none());
    let plugin = app.applier.plugins().find("b").unwrap();
    assert!(plugin.subscriptions().contains(&informer.key().gvr));
    assert!(plugin.subscriptions().other_than(&informer).is_none());
    let mut without = config("");
    without.plugins.clear();
    app.apply(without).await.unwrap();
    assert!(app.factory.informers().is_empty(), "only plugins keep an informer");
    app.stop().await;
    server.shutdown().await;
}

/// The two informers have different keys, because the selector is part of the key.
#[tokio::test]
async fn until_the_new_informer_has_synced_the_cache_of_the_one_before_is_read() {
    let stage = Stage::new().await;

    let gvr = &stage.old.key().gvr;
    assert!(matches!(&*stage.app.factory.superseded(), [one] if one.is(&stage.old)));
    assert!(matches!(&*stage.app.factory.informers(), [one] if one.is(&stage.new)));
    assert!(stage.app.lister(gvr).unwrap().has_synced(), "the new informer has only begun");
    stage.end().await;
}

/// An object that cannot be decoded exists, although no cache has it (D-2).
#[tokio::test]
async fn an_object_that_the_new_informer_cannot_decode_is_delivered_as_deleted_once_it_is_gone() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    server.load(vec![config_map(&json!("2026-01-01T00:00:00Z"))]).unwrap();
    let app = start(&server, config("")).await;
    let old = app.factory.informers().remove(0);
    // The plugin has received the object. The old informer does not see that the object becomes undecodable.
    app.factory.stop(&old).await;
    delete_config_map(&server).await;
    server.load(vec![config_map(&json!(7))]).unwrap();
    let stage = Stage::replacing(server, app, old).await;
    let plugin = stage.app.applier.plugins().find("a").unwrap();
    let mut succeeding = tokio::spawn(stage.succeed());
    assert!(timeout(Duration::from_millis(500), &mut succeeding).await.is_err(), "the object exists");
    let before = plugin.queue().stats().offered;

    delete_config_map(&stage.server).await;

    timeout(PATIENCE, succeeding).await.unwrap().unwrap();
    assert_eq!(plugin.queue().stats().offered, before + 1);
    assert_eq!(plugin.subscriptions().awaits(&stage.new), None);
    stage.end().await;
}
