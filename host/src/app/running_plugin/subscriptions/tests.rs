//! A watch that is taken over by an informer that is behind the one before, or fails.

use std::{collections::HashMap, time::SystemTime};

use informer_devserver::DevServer;
use informer_dispatch::{DeadLetter, ObjectRef};
use informer_types::{Body, Cause, Failure, FailureKind, Header};

use super::*;
use crate::{
    app::{
        App,
        applier::tests::{config, start},
        running_plugin::RunningPlugin,
    },
    commands::dead_letters::Refused,
};

const KEY: &str = "default/web";

/// A host whose plugin knows an object that is in no cache: the informer before this one had told of it.
struct Stage {
    server: DevServer,
    app: App,
    unit: Arc<RunningPlugin>,
    informer: SharedInformer,
}

impl Stage {
    async fn new() -> Self {
        let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
        let app = start(&server, config("")).await;
        let unit = app.applier.units().find("a").unwrap();
        let informer = app.factory.informers().remove(0);
        let header = Header {
            namespace: "default".into(),
            name: "web".into(),
            uid: "u".into(),
            // Far beyond whatever this one has come to.
            resource_version: "1000000".into(),
            ..Header::default()
        };
        let web = Arc::new(Object::new(&header, Body::Raw("{}".into())).unwrap());
        let told = Told { cached: vec![web], untold: HashMap::new(), until: None, alike: true };
        let source = Source::new(informer.key().gvr.clone());
        let mut claims = unit.claims.lock();
        let listening = claims.0.get_mut(&informer.key().gvr).unwrap().listening.as_mut().unwrap();
        let sink = Arc::clone(&listening.filter) as _;
        listening.successor = Some(Arc::new(Successor::new(source, told, sink, Tracer::default())));
        drop(claims);
        Self { server, app, unit, informer }
    }

    fn is_behind(&self) -> bool {
        self.unit.claims.lock().is_behind(&self.informer.key().gvr, &KEY.parse().unwrap())
    }

    async fn end(self) {
        self.app.stop().await;
        self.server.shutdown().await;
    }
}

#[tokio::test]
async fn a_dead_letter_waits_until_it_is_known_whether_its_object_is_there() {
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
    assert_eq!(stage.unit.replay(&letter), Err(Refused::NotSynced), "its deletion would be told");

    // It is gone.
    stage.unit.caught_up(&stage.informer);

    assert_eq!(stage.unit.replay(&letter), Ok("delete"));
    stage.end().await;
}

#[tokio::test]
async fn what_is_not_told_yet_is_kept_where_the_next_informer_fails_too() {
    let stage = Stage::new().await;
    let watch = settings::watches(&config("fields = \"metadata.name!=x\"")).into_values().next().unwrap();
    let next = stage.app.factory.supersede(watch, std::slice::from_ref(&stage.informer)).unwrap();
    stage.app.factory.stop(next.informer()).await;

    assert!(stage.unit.succeed(next).is_err());

    assert!(stage.is_behind());
    stage.end().await;
}
