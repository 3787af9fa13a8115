//! A watch whose new informer is behind the previous one, or fails.

use std::{collections::HashMap, time::SystemTime};

use informer_devserver::DevServer;
use informer_dispatch::{DeadLetter, ObjectRef};
use informer_types::{Body, Cause, Failure, FailureKind, Header, Source};

use super::*;
use crate::app::{
    App,
    applier::tests::{config, start},
    keeping::View,
    running_plugin::{RunningPlugin, letters::NotReplayed},
    settings,
    successor::{Received, Successor},
};

const KEY: &str = "default/web";

/// A host whose plugin has received an object that is in no cache: the informer before this one delivered it.
struct Stage {
    server: DevServer,
    app: App,
    plugin: Arc<RunningPlugin>,
    informer: SharedInformer,
}

impl Stage {
    async fn new() -> Self {
        let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
        let app = start(&server, config("")).await;
        let plugin = app.applier.plugins().find("a").unwrap();
        let informer = app.factory.informers().remove(0);
        let header = Header {
            namespace: "default".into(),
            name: "web".into(),
            uid: "u".into(),
            // Far above every version that this informer reaches.
            resource_version: "1000000".into(),
            ..Header::default()
        };
        let web = Arc::new(Object::new(&header, Body::Raw("{}".into())).unwrap());
        let view = View::of(&config::Subscription::default());
        let received = Received { cached: vec![web], newer: HashMap::new(), until: None, view };
        let source = Source::new(informer.key().gvr.clone());
        let mut claims = plugin.subscriptions().claims.lock();
        let listening =
            claims.get_mut(&informer.key().gvr).and_then(|claim| claim.listening.as_mut()).unwrap();
        let sink = Arc::clone(&listening.filter) as _;
        listening.successor = Some(Arc::new(Successor::new(source, received, sink, Tracer::default())));
        drop(claims);
        Self { server, app, plugin, informer }
    }

    fn is_behind(&self) -> bool {
        let claims = self.plugin.subscriptions().claims.lock();
        let listening = claims.get(&self.informer.key().gvr).and_then(|claim| claim.listening.as_ref());
        listening.unwrap().is_behind(&KEY.parse().unwrap())
    }

    async fn end(self) {
        self.app.stop().await;
        self.server.shutdown().await;
    }
}

#[tokio::test]
async fn a_dead_letter_is_not_replayed_before_the_informer_has_caught_up() {
    let stage = Stage::new().await;
    let source = Source::new(stage.informer.key().gvr.clone());
    let letter = DeadLetter {
        object: ObjectRef { source, key: KEY.parse().unwrap() },
        verb: "update",
        cause: Cause::Live,
        uid: "u".into(),
        resource_version: "1000000".into(),
        labels: Vec::new(),
        attempts: 1,
        failure: Failure::new(FailureKind::Handler, "no"),
        at: SystemTime::UNIX_EPOCH,
    };
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

#[tokio::test]
async fn objects_not_delivered_yet_are_kept_if_the_next_informer_fails_too() {
    let stage = Stage::new().await;
    let watch = settings::watches(&config("fields = \"metadata.name!=x\"")).into_values().next().unwrap();
    let next = stage.app.factory.supersede(watch, std::slice::from_ref(&stage.informer)).unwrap();
    stage.app.factory.stop(next.informer()).await;

    assert!(stage.plugin.replace_informer(next).is_err());

    assert!(stage.is_behind());
    stage.end().await;
}
