//! One informer that takes over from another, or does not.

use std::path::Path;

use informer_cache::WatchConfig;
use informer_devserver::DevServer;
use tokio::time::timeout;

use super::*;
use crate::{
    app::{App, Options},
    config::{Access, Components, Environment, Place},
    connect::connect,
};

/// What must happen happens within this; a busy machine gets time.
const PATIENCE: Duration = Duration::from_secs(60);

/// One plugin without a component that hears of ConfigMaps: its queue takes in what it is told.
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

/// A host whose informer is to give way to another one, and nobody has begun it.
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
        Arc::clone(&self.app.applier).succeed(new, watch, pending)
    }

    async fn end(self) {
        self.app.stop().await;
        self.server.shutdown().await;
    }
}

#[tokio::test]
async fn a_changed_watch_takes_over_once_it_has_synced() {
    let stage = Stage::new().await;

    timeout(PATIENCE, stage.succeed()).await.unwrap();

    assert!(stage.old.has_ended() && stage.new.has_synced());
    let unit = stage.app.applier.units().find("a").unwrap();
    assert!(unit.other_than(&stage.new).is_none());
    assert!(stage.app.applier.hold().await.successions.is_empty());
    stage.end().await;
}

#[tokio::test]
async fn one_that_failed_before_it_took_over_leaves_the_one_before_in_service() {
    let stage = Stage::new().await;
    // As a bug would end it.
    stage.app.factory.stop(&stage.new).await;

    timeout(PATIENCE, stage.succeed()).await.unwrap();

    assert!(!stage.old.has_ended());
    let unit = stage.app.applier.units().find("a").unwrap();
    assert!(unit.other_than(&stage.new).is_some(), "it hears through the one before");
    stage.end().await;
}

#[tokio::test]
async fn a_stop_ends_the_wait_for_its_turn() {
    let stage = Stage::new().await;
    let turn = stage.app.applier.hold().await;
    let succeeding = tokio::spawn(stage.succeed());
    assert!(stage.new.wait_synced().await);
    // As far as it comes.
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
async fn what_is_being_applied_goes_on_though_nobody_waits_for_it() {
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

    assert_eq!(applied.config.as_ref().unwrap().plugins.len(), 2, "it had ended before its turn was over");
    assert!(app.applier.units().find("b").is_some());
    drop(applied);
    app.stop().await;
    server.shutdown().await;
}

/// Its key is another one than that of the informer it replaces: the selector is part of it.
#[tokio::test]
async fn until_it_takes_over_the_cache_of_the_one_before_is_what_is_read() {
    let stage = Stage::new().await;

    let gvr = &stage.old.key().gvr;
    assert!(matches!(&*stage.app.factory.superseded(), [one] if one.is(&stage.old)));
    assert!(matches!(&*stage.app.factory.informers(), [one] if one.is(&stage.new)));
    assert!(stage.app.lister(gvr).unwrap().has_synced(), "the new one has only begun");
    stage.end().await;
}
