//! Informers that run while they have subscriptions: D-12, P-13 to P-15, P-18, F-1, F-9, F-10; scenarios 85 to 90, 92,
//! 94 and 95.

use std::{
    sync::{Arc, mpsc},
    time::Duration,
};

use informer_cache::{InformerFactory, ListenerConfig, Phase, SharedInformer, Subscription};
use informer_types::{Notification, NotificationSink};
use parking_lot::Mutex;
use tokio::task::spawn_blocking;

use crate::{
    server::{Answer, Live, Script},
    world::{Recorder, config, core_v1, eventually, listener, pod, pods},
};

/// A factory whose server always serves pods.
fn factory(script: &Script) -> InformerFactory {
    script.always("/api/v1", Some(core_v1()));
    InformerFactory::new(script.client(), config())
}

fn subscribe(factory: &InformerFactory) -> (Subscription, Arc<Recorder>) {
    let subscription = factory.subscribe(pods()).unwrap();
    let recorder = Arc::new(Recorder::default());
    subscription.add_listener(listener("recorder"), Arc::clone(&recorder) as _).unwrap();
    (subscription, recorder)
}

async fn received(recorder: &Recorder, expected: &[&str]) {
    eventually(
        &format!("received = {expected:?}"),
        || recorder.received() == expected,
        || format!("{:?}", recorder.received()),
    )
    .await;
}

/// Scripts a list of this pod and a watch that the test writes to.
fn listing(script: &Script, version: &str, name: &str) -> Live {
    script.list(Answer::list(version, &[pod(name, "1")]));
    script.live_watch()
}

/// Subscriptions to the same resource and scope (F-1) share an informer that they start (D-12).
#[tokio::test(start_paused = true)]
async fn the_first_subscription_starts_the_informer_and_later_ones_share_its_watch() {
    let script = Script::new();
    let watch = listing(&script, "10", "a");
    let factory = factory(&script);

    let (first, received_first) = subscribe(&factory);
    assert!(first.informer().wait_synced().await);
    let (second, received_late) = subscribe(&factory);
    watch.event("ADDED", &pod("b", "11"));

    received(&received_first, &["add shop/a@1 initial", "add shop/b@11 live"]).await;
    received(&received_late, &["add shop/a@1 initial", "add shop/b@11 live"]).await;
    assert_eq!((script.lists().len(), script.watches().len()), (1, 1));
    assert_eq!(factory.informers().len(), 1);
    assert_eq!(first.informer().key(), second.informer().key());
}

/// After the last subscription the informer ends; a new subscription starts with a list (D-12).
#[tokio::test(start_paused = true)]
async fn the_last_release_closes_the_watch_and_frees_the_cache() {
    let script = Script::new();
    let watch = listing(&script, "10", "a");
    let factory = factory(&script);
    let (first, received_first) = subscribe(&factory);
    let (second, _) = subscribe(&factory);
    first.informer().wait_synced().await;
    let lister = first.informer().lister();
    let informer = first.informer().clone();

    second.release().await;
    assert!(!watch.is_closed());
    assert_eq!(lister.len(), 1);
    first.release().await;

    assert!(watch.is_closed());
    assert!(lister.is_empty() && !lister.has_synced());
    assert_eq!(informer.status().bytes, 0);
    assert_eq!(informer.status().phase, Phase::Stopped);
    assert!(factory.informers().is_empty());

    // Objects deleted in between are not reported; existing objects are added.
    listing(&script, "20", "b");
    let (third, received_anew) = subscribe(&factory);
    received(&received_anew, &["add shop/b@1 initial"]).await;
    assert_eq!(received_first.received(), ["add shop/a@1 initial"]);
    assert_eq!((third.informer().lister().len(), lister.len()), (1, 0));
    assert_eq!(script.lists()[1].get("resourceVersion"), "0");
}

/// The informer runs while it has any subscription (D-12).
#[tokio::test(start_paused = true)]
async fn a_release_does_not_affect_other_subscriptions() {
    let script = Script::new();
    let watch = listing(&script, "10", "a");
    let factory = factory(&script);
    let (stays, received_first) = subscribe(&factory);
    let (goes, received_by_leaver) = subscribe(&factory);
    stays.informer().wait_synced().await;

    goes.release().await;
    watch.event("DELETED", &pod("a", "11"));

    received(&received_first, &["add shop/a@1 initial", "delete shop/a@11 live"]).await;
    assert_eq!(received_by_leaver.received(), ["add shop/a@1 initial"]);
}

#[tokio::test(start_paused = true)]
async fn dropping_a_subscription_or_its_release_releases_it() {
    let script = Script::new();
    let factory = factory(&script);
    for drop_it in [true, false] {
        let watch = listing(&script, "10", "a");
        let (subscription, _) = subscribe(&factory);
        subscription.informer().wait_synced().await;
        eventually("a watch", || !script.watches().is_empty(), || "none".to_owned()).await;

        if drop_it {
            drop(subscription);
        } else {
            drop(subscription.release());
        }

        eventually("the watch to be closed", || watch.is_closed(), || "open".to_owned()).await;
        assert!(factory.informers().is_empty());
    }
}

/// An informer that has lost its last subscription is not returned again (D-12).
#[tokio::test(start_paused = true)]
async fn a_subscription_made_while_the_old_informer_ends_gets_a_new_one() {
    let script = Script::new();
    listing(&script, "10", "a");
    let factory = factory(&script);
    let (old, _) = subscribe(&factory);
    old.informer().wait_synced().await;
    let old_informer = old.informer().clone();
    listing(&script, "20", "b");

    drop(old);
    let (new, received_first) = subscribe(&factory);

    received(&received_first, &["add shop/b@1 initial"]).await;
    assert_eq!((old_informer.lister().len(), new.informer().lister().len()), (0, 1));
    assert_eq!(factory.informers().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_informer_that_belongs_to_the_factory_outlives_its_subscriptions() {
    let script = Script::new();
    let watch = listing(&script, "10", "a");
    let factory = factory(&script);
    let informer = factory.informer(pods());
    let (subscription, _) = subscribe(&factory);
    informer.wait_synced().await;

    subscription.release().await;

    assert!(!watch.is_closed());
    assert_eq!(informer.lister().len(), 1);
    assert!(informer.status().listeners.is_empty());
}

/// A factory that was shut down (F-5) starts no informer (F-2).
#[tokio::test(start_paused = true)]
async fn after_a_shutdown_subscribing_fails_and_the_cache_stays_readable() {
    let script = Script::new();
    listing(&script, "10", "a");
    let factory = factory(&script);
    let (subscription, _) = subscribe(&factory);
    let lister = subscription.informer().lister();
    subscription.informer().wait_synced().await;

    factory.shutdown().await;

    let error = factory.subscribe(pods()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the informer factory has been shut down, so it has no informer of v1/pods any more"
    );
    subscription.release().await;
    assert_eq!(lister.len(), 1);
}

/// Scenarios 85 to 87, 89, 90 and 95: a removal affects one listener and may be repeated (P-14). Rows 85, 86 and 87.
#[tokio::test(start_paused = true)]
async fn a_listener_can_be_removed_at_any_time_and_removes_no_other() {
    let script = Script::new();
    let watch = listing(&script, "10", "a");
    let factory = factory(&script);
    let (subscription, kept) = subscribe(&factory);
    let sink = Arc::new(Recorder::default());
    let early = subscription.add_listener(listener("early"), Arc::clone(&sink) as _).unwrap();
    // Scenario 95: the informer has not delivered anything yet.
    early.remove();
    let twice: Vec<_> = (0..2)
        .map(|_| subscription.add_listener(listener("twice"), Arc::clone(&sink) as _).unwrap())
        .collect();
    assert_eq!(subscription.informer().status().listeners.len(), 3);
    subscription.informer().wait_synced().await;
    assert_eq!(sink.received(), ["add shop/a@1 initial", "add shop/a@1 initial"]);

    twice[0].remove();
    twice[0].remove();
    early.remove();
    watch.event("ADDED", &pod("b", "11"));

    received(&kept, &["add shop/a@1 initial", "add shop/b@11 live"]).await;
    assert_eq!(sink.received().len(), 3);
    assert_eq!(subscription.informer().status().listeners.len(), 2);
    // Scenario 89: also after the stop.
    subscription.release().await;
    twice[1].remove();
}

/// Blocks every call until the test continues it.
struct Holds {
    entered: mpsc::Sender<()>,
    go: Mutex<mpsc::Receiver<()>>,
}

impl NotificationSink for Holds {
    fn offer(&self, _: Notification) {
        self.entered.send(()).unwrap();
        self.go.lock().recv().unwrap();
    }
}

/// Scenarios 94 and 95: unlike in client-go, the removal is complete when it returns (P-15).
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_removal_waits_for_the_call_in_progress_and_prevents_any_later_one() {
    let script = Script::new();
    script.list(Answer::list("10", &[]));
    let watch = script.live_watch();
    let factory = factory(&script);
    let subscription = factory.subscribe(pods()).unwrap();
    subscription.informer().wait_synced().await;
    let (entered, calls) = mpsc::channel();
    let (go, gone) = mpsc::channel();
    let sink = Arc::new(Holds { entered, go: Mutex::new(gone) });
    let registration = subscription.add_listener(listener("holds"), sink).unwrap();
    watch.event("ADDED", &pod("a", "11"));
    watch.event("ADDED", &pod("b", "12"));
    let calls = spawn_blocking(move || {
        calls.recv().unwrap();
        calls
    });
    let calls = calls.await.unwrap();

    let mut removal = spawn_blocking(move || registration.remove());
    let early = tokio::time::timeout(Duration::from_millis(200), &mut removal).await;
    assert!(early.is_err(), "it returned during a call");
    // One burst may deliver both events to the sink before the removal gets the lock.
    let _ = (go.send(()), go.send(()));
    removal.await.unwrap();
    let after = calls.try_iter().count();
    assert!(after <= 1, "{after}");

    watch.event("ADDED", &pod("c", "13"));
    subscription.informer().wait_for_version("13", None).await.unwrap();
    assert!(calls.try_recv().is_err(), "called after its removal");
}

/// Scenario 88.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_hundred_subscribers_join_and_leave_during_ten_thousand_events() {
    let script = Script::new();
    let watch = listing(&script, "10", "a");
    let factory = Arc::new(factory(&script));
    let (stays, received_first) = subscribe(&factory);
    stays.informer().wait_synced().await;

    let comers: Vec<_> = (0..100)
        .map(|number| {
            let factory = Arc::clone(&factory);
            tokio::spawn(async move {
                for _ in 0..20 {
                    let subscription = factory.subscribe(pods()).unwrap();
                    let config = ListenerConfig { name: number.to_string(), ..listener("") };
                    subscription.add_listener(config, Arc::new(Recorder::default())).unwrap();
                    tokio::task::yield_now().await;
                    subscription.release().await;
                }
            })
        })
        .collect();
    for version in 11..10_011 {
        watch.event("MODIFIED", &pod("a", &version.to_string()));
    }
    for comer in comers {
        comer.await.unwrap();
    }

    eventually(
        "every event",
        || received_first.received().len() == 10_001,
        || received_first.received().len().to_string(),
    )
    .await;
    assert_eq!(stays.informer().status().listeners.len(), 1);
    stays.release().await;
    assert!(watch.is_closed());
    assert_eq!(script.lists().len(), 1);
    tokio::time::timeout(Duration::from_secs(60), factory.shutdown()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_superseded_informer_is_listed_until_its_last_subscription_ends() {
    let script = Script::new();
    let watch = listing(&script, "10", "a");
    let factory = factory(&script);
    let (old, received_first) = subscribe(&factory);
    old.informer().wait_synced().await;
    listing(&script, "20", "b");

    let new = factory.supersede(pods(), &[]).unwrap();

    let is = |informers: Vec<SharedInformer>, one: &Subscription| {
        informers.len() == 1 && informers.iter().all(|informer| informer.is(one.informer()))
    };
    assert!(is(factory.superseded(), &old) && is(factory.informers(), &new));
    watch.event("DELETED", &pod("a", "11"));
    received(&received_first, &["add shop/a@1 initial", "delete shop/a@11 live"]).await;
    old.release().await;
    assert!(watch.is_closed());
    assert!(factory.superseded().is_empty() && is(factory.informers(), &new));
}

/// The last subscription may end at any moment of the supersession.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_informer_whose_last_subscription_ends_while_it_is_superseded_ends() {
    let script = Script::new();
    let factory = Arc::new(factory(&script));
    let often = |make: fn(&InformerFactory) -> Subscription| {
        let factory = Arc::clone(&factory);
        spawn_blocking(move || (0..20_000).for_each(|_| drop(make(&factory))))
    };

    let subscribing: Vec<_> = (0..3).map(|_| often(|factory| factory.subscribe(pods()).unwrap())).collect();
    often(|factory| factory.supersede(pods(), &[]).unwrap()).await.unwrap();
    for done in subscribing {
        done.await.unwrap();
    }

    assert!(factory.superseded().is_empty() && factory.informers().is_empty());
}
