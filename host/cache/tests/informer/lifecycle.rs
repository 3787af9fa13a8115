//! Factory, start and stop: F-1 to F-5, C-1, P-13, P-18, R-15, R-24, D-12.

use std::{
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

use informer_cache::{FactoryConfig, InformerFactory, Phase, WatchConfig, WatchListMode};
use informer_types::{Cause, Gvr, ObjectKey};
use tokio_util::sync::CancellationToken;

use crate::{
    server::{Answer, Script},
    world::{Recorder, World, config, event, eventually, listener, pod, pods},
};

/// A factory has one informer for each resource and scope (F-1).
#[tokio::test(start_paused = true)]
async fn requests_for_the_same_resource_and_scope_share_an_informer() {
    let factory = InformerFactory::new(Script::new().client(), config());
    let informer = factory.informer(pods());

    let again = factory.informer(pods());
    let other = factory.informer(WatchConfig { namespaces: vec!["shop".to_owned()], ..pods() });

    assert_eq!(informer.key(), again.key());
    assert_ne!(informer.key(), other.key());
    assert_eq!(factory.informers().len(), 2);
    // A listener that one handle adds is visible through the other.
    informer.add_listener(listener("x"), Arc::new(Recorder::default())).unwrap();
    assert_eq!(again.status().listeners.len(), 1);
}

/// A relist may hold the lock of its informer for a while. Only requests for this informer wait for it (F-2).
#[tokio::test]
async fn an_informer_whose_lock_is_held_delays_no_request_for_others() {
    let factory = InformerFactory::new(Script::new().client(), config());
    let informer = factory.informer(pods());
    let registration = informer.add_listener(listener("x"), Arc::new(Recorder::default())).unwrap();
    let (factory, informer, key) = (&factory, &informer, ObjectKey::new("shop", "web"));
    let (begins, begun) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    let (answers, answered) = mpsc::channel();

    let is_answered = thread::scope(|scope| {
        let locked = begins.clone();
        scope.spawn(move || {
            informer.replay_object(&registration, &key, Cause::Replay, |_| {
                locked.send(()).unwrap();
                released.recv().ok();
                None
            })
        });
        begun.recv().unwrap();
        scope.spawn(move || {
            begins.send(()).unwrap();
            factory.informer(pods());
        });
        begun.recv().unwrap();
        scope.spawn(move || {
            (0..1_000).for_each(|_| {
                factory.informers();
                thread::yield_now();
            });
            answers.send(()).ok();
        });
        let is_answered = answered.recv_timeout(Duration::from_secs(30)).is_ok();
        drop(release);
        is_answered
    });

    assert!(is_answered);
}

/// `start` starts every requested informer once (F-2).
#[tokio::test(start_paused = true)]
async fn no_request_is_sent_before_the_start_and_a_second_start_does_nothing() {
    let script = Script::new();
    script.list(Answer::list("10", &[]));
    let factory = InformerFactory::new(script.client(), config());
    let informer = factory.informer(pods());
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(script.requests().is_empty());
    assert_eq!(informer.status().phase, Phase::NotStarted);

    factory.start();
    factory.start();
    assert!(informer.wait_synced().await);

    assert_eq!(script.lists().len(), 1);
}

/// Scenario 106: the wait covers the started informers (F-3).
#[tokio::test(start_paused = true)]
async fn waiting_for_sync_reports_for_each_started_informer_whether_it_has_synced() {
    let script = Script::new();
    let cancel = CancellationToken::new();
    let factory = InformerFactory::new(script.client(), config());
    assert!(factory.wait_for_cache_sync(&cancel).await.is_empty());
    script.path("/api/v1/pods", Answer::list("10", &[]));
    let synced = factory.informer(pods());
    let failing = factory.informer(WatchConfig::new(Gvr::new("apps", "v1", "deployments")));
    factory.start();
    let unstarted = factory.informer(WatchConfig::new(Gvr::new("", "v1", "nodes")));
    let late = cancel.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(30)).await;
        late.cancel();
    });

    let result = factory.wait_for_cache_sync(&cancel).await;

    assert!(result[synced.key()]);
    assert!(!result[failing.key()]);
    assert!(!result.contains_key(unstarted.key()));
}

/// Scenario 106: a wait that was cancelled names the informers that have not synced (F-4).
#[tokio::test(start_paused = true)]
async fn after_a_cancelled_wait_the_status_of_an_unsynced_informer_names_the_reason() {
    let script = Script::new();
    let cancel = CancellationToken::new();
    script.path("/api/v1/pods", Answer::list("10", &[]));
    let factory = InformerFactory::new(script.client(), config());
    assert!(factory.wait_for_cache_sync(&cancel).await.is_empty());
    let synced = factory.informer(pods());
    factory.start();
    assert_eq!(factory.wait_for_cache_sync(&cancel).await, [(synced.key().clone(), true)].into());

    let missing = factory.informer(WatchConfig::new(Gvr::new("apps", "v1", "daemonsets")));
    factory.start();
    let late = cancel.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(30)).await;
        late.cancel();
    });
    let result = factory.wait_for_cache_sync(&cancel).await;

    assert_eq!(result, [(synced.key().clone(), true), (missing.key().clone(), false)].into());
    let text = missing.status().to_string();
    assert!(
        text.starts_with("apps/v1/daemonsets: waiting-for-resource, not synced, 0 objects; waiting for"),
        "{text}"
    );
}

/// Scenarios 11 and 16: a stop ends a list (R-15) and a watch (R-24) at once.
#[tokio::test(start_paused = true)]
async fn a_stop_is_prompt_in_every_state_of_the_informer() {
    let silent_list = Script::new();
    let (list, answer) = Answer::live(200);
    list.bytes(r#"{"kind":"PodList","#);
    silent_list.list(answer);
    let watching = Script::new();
    watching.list(Answer::list("10", &[]));
    let watch = watching.live_watch();
    let failing = Script::new();
    let undiscovered = Script::new();
    undiscovered.path("/api/v1", Answer::Refused);

    let unanswered = Script::new();
    unanswered.watch(Answer::Silent);
    let streaming = Script::new();
    let stream = streaming.live_watch();
    stream.event("ADDED", &pod("a", "1"));
    let unfinished = Script::new();
    unfinished.watch(Answer::watch(&[event("ADDED", pod("a", "1"))]));

    let plain = [silent_list, watching, failing, undiscovered].map(|script| (script, WatchListMode::Off));
    let streamed = [unanswered, streaming, unfinished].map(|script| (script, WatchListMode::Auto));
    for (script, watch_list) in plain.into_iter().chain(streamed) {
        let config = FactoryConfig { watch_list, ..config() };
        let world = World::start_with(script, config, pods());
        tokio::time::sleep(Duration::from_millis(100)).await;
        let start = tokio::time::Instant::now();

        world.factory.stop(&world.informer).await;

        assert!(start.elapsed() < Duration::from_millis(10));
        assert_eq!(world.informer.status().phase, Phase::Stopped);
    }
    assert!(list.is_closed() && watch.is_closed() && stream.is_closed());
}

/// Scenario 89: informers stop one by one, and the factory makes a new one for the next request (D-12).
#[tokio::test(start_paused = true)]
async fn a_stopped_informer_stays_readable_and_is_not_returned_again() {
    let world = World::listing("10", &[pod("a", "1")]);
    world.informer.wait_synced().await;

    world.factory.stop(&world.informer).await;
    world.factory.stop(&world.informer).await;

    assert_eq!(world.cached(), ["shop/a@1"]);
    let error = world.informer.add_listener(listener("x"), Arc::new(Recorder::default())).unwrap_err();
    assert!(error.to_string().contains("has stopped"), "{error}");
    world.registration.remove();
    world.script.list(Answer::list("20", &[pod("b", "2")]));
    world.script.path(
        "/api/v1",
        Answer::json(&serde_json::json!({"resources": [
        {"name": "pods", "kind": "Pod", "namespaced": true, "verbs": ["list", "watch"]}]})),
    );
    let fresh = world.factory.informer(pods());
    world.factory.start();
    assert!(fresh.wait_synced().await);
    assert_eq!(fresh.lister().len(), 1);
    assert_eq!(world.cached(), ["shop/a@1"]);
}

/// Scenario 92.
#[tokio::test(start_paused = true)]
async fn an_informer_that_was_never_started_can_be_stopped() {
    let factory = InformerFactory::new(Script::new().client(), config());
    let informer = factory.informer(pods());

    factory.stop(&informer).await;

    assert_eq!(informer.status().phase, Phase::Stopped);
    assert!(!informer.wait_synced().await);
}

/// Scenarios 10, 12 and 92: a shutdown waits for every task (F-5), and `start` does nothing after it (F-2).
#[tokio::test(start_paused = true)]
async fn a_shutdown_ends_every_task_and_no_informer_starts_after_it() {
    let (world, watch) = World::watching(Script::new(), pods()).await;
    let unstarted = world.factory.informer(WatchConfig::new(Gvr::new("", "v1", "nodes")));

    tokio::join!(world.factory.shutdown(), world.factory.shutdown());
    world.factory.shutdown().await;
    world.factory.start();

    assert!(watch.is_closed());
    assert_eq!(world.informer.status().phase, Phase::Stopped);
    assert_eq!(unstarted.status().phase, Phase::Stopped);
    assert!(!world.registration.wait_synced().await);
    let requests = world.script.requests().len();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(world.script.requests().len(), requests);
}

/// Informers end with their factory (F-5).
#[tokio::test(start_paused = true)]
async fn dropping_the_factory_stops_its_informers() {
    let script = Script::new();
    script.list(Answer::list("10", &[pod("a", "1")]));
    let watch = script.live_watch();
    let World { factory, informer, .. } = World::start(script);
    informer.wait_synced().await;

    drop(factory);

    eventually(
        "the stop",
        || informer.status().phase == Phase::Stopped,
        || format!("{:?}", informer.status()),
    )
    .await;
    assert!(watch.is_closed());
    assert_eq!(informer.lister().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_the_wait_of_a_listener_for_sync() {
    let world = World::start(Script::new());
    let registration = world.registration.clone();
    let waiting = tokio::spawn(async move { registration.wait_synced().await });

    world.factory.stop(&world.informer).await;

    assert!(!waiting.await.unwrap());
}

/// A runtime that ends drops the tasks of its informers (P-18).
#[test]
fn an_informer_whose_runtime_ended_before_its_first_step_has_ended() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let first = runtime();
    let subscription = first.block_on(async {
        let factory = InformerFactory::new(Script::new().client(), config());
        factory.subscribe(pods()).unwrap()
    });
    drop(first);

    let released = async { tokio::time::timeout(Duration::from_secs(10), subscription.release()).await };

    assert!(runtime().block_on(released).is_ok(), "the release waits for ever");
}
