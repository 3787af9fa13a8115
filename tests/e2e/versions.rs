//! Both versions of the interface side by side: one source, built against each of them, plays the same story in the same host.

use informer_devserver::DevServer;
use informer_guests::guest;
use informer_tests::{
    host::TestHost,
    toml::{plugin, watch},
};
use serde_json::json;

use crate::configmaps::ConfigMaps;

/// The plugins by their names in the configuration, with their guests. The names have the same length, and so have their lines.
const TELLERS: [(&str, &str); 2] = [("old", "story_0_1"), ("new", "story_0_2")];

const GVR: &str = "v1/configmaps";

const TABLES: &str = "[plugin.grant]\nread = [\"v1/configmaps\"]\n[plugin.workqueue]\nmin = \"1ms\"\n[plugin.retry]\nmin = \"1ms\"\n\
                      [plugin.config]\ngreeting = \"hello\"\n";

async fn started(server: &DevServer) -> TestHost {
    let plugins = TELLERS.map(|(name, of)| async move {
        let component = tokio::task::spawn_blocking(move || guest(of)).await.unwrap();
        plugin(name, &component, GVR, TABLES)
    });
    let [old, new] = plugins;
    let toml = watch(GVR) + &old.await + &new.await;
    let host = TestHost::start(&server.url(), &toml).await.unwrap();
    for (name, _) in TELLERS {
        host.lines.said(name, "reconcile default/there ", "").await;
    }
    host
}

/// Makes a change, and waits until both plugins were called for it and have nothing more to do.
async fn step(host: &TestHost, change: impl Future<Output = ()>) {
    let before = TELLERS.map(|(name, _)| host.lines.of(name).len());
    change.await;
    host.until("calls of both plugins", |_| {
        TELLERS.iter().zip(before).all(|((name, _), before)| {
            if host.lines.of(name).len() == before {
                return false;
            }
            let plugin = host.plugin(name);
            [("/queue/pending", 0), ("/queue/in-flight", 0), ("/workqueue/keys", 0)]
                .iter()
                .all(|(pointer, expected)| plugin.pointer(pointer) == Some(&json!(expected)))
        })
    })
    .await;
}

/// A component that was built against the version before runs unchanged: it receives the same calls and answers.
#[tokio::test(flavor = "multi_thread")]
async fn one_story_gives_the_same_calls_and_answers_in_each_version_of_the_interface() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let objects = ConfigMaps::at(&server.url()).await;
    objects.create("there").await;
    let host = started(&server).await;
    for name in ["web", "failing", "hopeless", "later", "refused"] {
        step(&host, objects.create(name)).await;
    }
    for round in 1..4 {
        step(&host, objects.update("web", round)).await;
    }
    for name in ["web", "refused"] {
        step(&host, objects.delete(name)).await;
    }

    // Whether a key gets an instance of its own depends on the moment.
    let told = |name: &str| host.lines.of(name).into_iter().filter(|line| !line.starts_with("start "));
    let [old, new] = TELLERS.map(|(name, _)| told(name).collect::<Vec<_>>());
    assert_eq!(old, new);
    // Two lines of each addition, of each update and their repetition, the deletions, and the keys.
    assert!(old.len() > 25, "{old:#?}");
    for begin in [
        "add v1/configmaps default/there ",
        "delete v1/configmaps default/web ",
        "reconcile default/later 1 ",
    ] {
        assert!(old.iter().any(|line| line.starts_with(begin)), "{begin} is not in {old:#?}");
    }
    for (name, _) in TELLERS {
        assert_eq!(host.lines.of(name)[0], "start {\"greeting\":\"hello\"}");
    }
    let [old, new] = TELLERS.map(|(name, _)| {
        let plugin = host.plugin(name);
        let letters = plugin["dead-letters"].as_array().unwrap().len();
        (letters, plugin["workqueue"]["dropped-keys"].clone(), plugin["queue"]["retried"].clone())
    });
    assert_eq!(old, new);
    assert_eq!((old.0, &old.2), (1, &json!(1)));
    host.stop().await;
}
