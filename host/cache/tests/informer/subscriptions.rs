//! Informers counted by their subscriptions: D-12, P-13 to P-15, P-18, F-1, F-9, F-10; scenarios 85 to 90, 92, 94, 95.

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

/// A factory whose server always knows pods.
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

async fn told(recorder: &Recorder, expected: &[&str]) {
    eventually(
        &format!("told = {expected:?}"),
        || recorder.told() == expected,
        || format!("{:?}", recorder.told()),
    )
    .await;
}

/// One list of this pod, and a watch to write to.
fn listing(script: &Script, version: &str, name: &str) -> Live {
    script.list(Answer::list(version, &[pod(name, "1")]));
    script.live_watch()
}

#[tokio::test(start_paused = true)]
async fn the_first_subscription_starts_the_informer_and_later_ones_share_its_watch_d12_f1() {
    let script = Script::new();
    let watch = listing(&script, "10", "a");
    let factory = factory(&script);

    let (first, heard) = subscribe(&factory);
    assert!(first.informer().wait_synced().await);
    let (second, heard_late) = subscribe(&factory);
    watch.event("ADDED", &pod("b", "11"));

    told(&heard, &["add shop/a@1 initial", "add shop/b@11 live"]).await;
    told(&heard_late, &["add shop/a@1 initial", "add shop/b@11 live"]).await;
    assert_eq!((script.lists().len(), script.watches().len()), (1, 1));
    assert_eq!(factory.informers().len(), 1);
    assert_eq!(first.informer().key(), second.informer().key());
}

#[tokio::test(start_paused = true)]
async fn the_last_release_closes_the_watch_frees_the_cache_and_a_new_one_begins_with_a_list_d12() {
    let script = Script::new();
    let watch = listing(&script, "10", "a");
    let factory = factory(&script);
    let (first, heard) = subscribe(&factory);
    let (second, _) = subscribe(&factory);
    first.informer().wait_synced().await;
    let lister = first.lister();
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

    // What was deleted in between is told to nobody; what is there is told as new.
    listing(&script, "20", "b");
    let (third, heard_anew) = subscribe(&factory);
    told(&heard_anew, &["add shop/b@1 initial"]).await;
    assert_eq!(heard.told(), ["add shop/a@1 initial"]);
    assert_eq!((third.lister().len(), lister.len()), (1, 0));
    assert_eq!(script.lists()[1].get("resourceVersion"), "0");
}

#[tokio::test(start_paused = true)]
async fn those_who_stay_miss_nothing_when_others_go_d12() {
    let script = Script::new();
    let watch = listing(&script, "10", "a");
    let factory = factory(&script);
    let (stays, heard) = subscribe(&factory);
    let (goes, heard_by_who_goes) = subscribe(&factory);
    stays.informer().wait_synced().await;

    goes.release().await;
    watch.event("DELETED", &pod("a", "11"));

    told(&heard, &["add shop/a@1 initial", "delete shop/a@11 live"]).await;
    assert_eq!(heard_by_who_goes.told(), ["add shop/a@1 initial"]);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_subscription_is_released_too_and_so_is_one_whose_release_nobody_waits_for() {
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

#[tokio::test(start_paused = true)]
async fn whoever_subscribes_while_the_old_informer_ends_gets_a_new_one_d12() {
    let script = Script::new();
    listing(&script, "10", "a");
    let factory = factory(&script);
    let (old, _) = subscribe(&factory);
    old.informer().wait_synced().await;
    let old_informer = old.informer().clone();
    listing(&script, "20", "b");

    drop(old);
    let (new, heard) = subscribe(&factory);

    told(&heard, &["add shop/b@1 initial"]).await;
    assert_eq!((old_informer.lister().len(), new.lister().len()), (0, 1));
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

#[tokio::test(start_paused = true)]
async fn after_the_shutdown_nobody_subscribes_and_the_cache_stays_readable_f2_f5() {
    let script = Script::new();
    listing(&script, "10", "a");
    let factory = factory(&script);
    let (subscription, _) = subscribe(&factory);
    let lister = subscription.lister();
    subscription.informer().wait_synced().await;

    factory.shutdown().await;

    let error = factory.subscribe(pods()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the informer factory has been shut down, so v1/pods cannot be subscribed to"
    );
    subscription.release().await;
    assert_eq!(lister.len(), 1);
}

/// Scenarios 86 and 89.
#[tokio::test(start_paused = true)]
async fn a_listener_is_removed_once_alone_and_at_any_time_p14_scenarios_85_to_87_90_95() {
    let script = Script::new();
    let watch = listing(&script, "10", "a");
    let factory = factory(&script);
    let (subscription, kept) = subscribe(&factory);
    let sink = Arc::new(Recorder::default());
    let early = subscription.add_listener(listener("early"), Arc::clone(&sink) as _).unwrap();
    // Scenario 95: nothing has run yet.
    early.remove();
    let twice: Vec<_> = (0..2)
        .map(|_| subscription.add_listener(listener("twice"), Arc::clone(&sink) as _).unwrap())
        .collect();
    assert_eq!(subscription.informer().status().listeners.len(), 3);
    subscription.informer().wait_synced().await;
    assert_eq!(sink.told(), ["add shop/a@1 initial", "add shop/a@1 initial"]);

    twice[0].remove();
    twice[0].remove();
    early.remove();
    watch.event("ADDED", &pod("b", "11"));

    told(&kept, &["add shop/a@1 initial", "add shop/b@11 live"]).await;
    assert_eq!(sink.told().len(), 3);
    assert_eq!(subscription.informer().status().listeners.len(), 2);
    // Scenario 89: after the stop too.
    subscription.release().await;
    twice[1].remove();
}

/// Holds every call until it is let go.
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

/// Scenarios 94 and 95: other than client-go's, a removal has always happened when it returns.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_removal_returns_after_the_call_in_hand_and_before_any_other_p15() {
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
    // One burst may bring both events to the sink before the removal has its turn.
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
async fn a_hundred_come_and_go_during_ten_thousand_events_and_nothing_is_left_behind() {
    let script = Script::new();
    let watch = listing(&script, "10", "a");
    let factory = Arc::new(factory(&script));
    let (stays, heard) = subscribe(&factory);
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

    eventually("every event", || heard.told().len() == 10_001, || heard.told().len().to_string()).await;
    assert_eq!(stays.informer().status().listeners.len(), 1);
    stays.release().await;
    assert!(watch.is_closed());
    assert_eq!(script.lists().len(), 1);
    tokio::time::timeout(Duration::from_secs(5), factory.shutdown()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_informer_that_is_superseded_is_shown_and_goes_on_until_nobody_holds_it() {
    let script = Script::new();
    let watch = listing(&script, "10", "a");
    let factory = factory(&script);
    let (old, heard) = subscribe(&factory);
    old.informer().wait_synced().await;
    listing(&script, "20", "b");

    let new = factory.supersede(pods(), &[]).unwrap();

    let is = |informers: Vec<SharedInformer>, one: &Subscription| {
        informers.len() == 1 && informers.iter().all(|informer| informer.is(one.informer()))
    };
    assert!(is(factory.superseded(), &old) && is(factory.informers(), &new));
    watch.event("DELETED", &pod("a", "11"));
    told(&heard, &["add shop/a@1 initial", "delete shop/a@11 live"]).await;
    old.release().await;
    assert!(watch.is_closed());
    assert!(factory.superseded().is_empty() && is(factory.informers(), &new));
}

/// Wherever the end of the last subscription falls, the informer is found.
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
