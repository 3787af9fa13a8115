//! The operations that a reload needs: another sink and other settings for a listener in place, a replay of all objects
//! or of one object, and another informer for the same watch (C-10, D-12).

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use informer_cache::{InformerFactory, ListenerStatus, SharedInformer, WatchConfig};
use informer_types::{Cause, Change, Object, ObjectKey, SyncToken};

use crate::{
    server::{Answer, Live, Script},
    world::{Recorder, World, config, core_v1, eventually, listener, pod, pods},
};

/// An informer with `a` and `b` in the cache, both delivered and acknowledged, and its open watch.
async fn world() -> (World, Live) {
    let script = Script::new();
    script.list(Answer::list("10", &[pod("a", "1"), pod("b", "2")]));
    let watch = script.live_watch();
    let world = World::start(script);
    world.receives(&["add shop/a@1 initial", "add shop/b@2 initial"]).await;
    world.recorder.acknowledge();
    (world, watch)
}

fn key(name: &str) -> ObjectKey {
    ObjectKey { namespace: "shop".into(), name: name.into() }
}

async fn receives(recorder: &Recorder, expected: &[&str]) {
    let received = || recorder.received() == expected;
    eventually(&format!("received = {expected:?}"), received, || format!("{:?}", recorder.received())).await;
}

/// A listener changes its sink between two notifications (C-10).
#[tokio::test(start_paused = true)]
async fn a_new_sink_of_a_listener_receives_the_difference_first() {
    let (world, watch) = world().await;
    let other = Arc::new(Recorder::default());
    let only_b =
        |object: &Arc<Object>| (object.name() == "b").then(|| Change::Added { object: Arc::clone(object) });

    let sink = Arc::clone(&other) as _;
    assert!(world.informer.retarget_listener(&world.registration, listener("other"), || sink, only_b));
    watch.event("MODIFIED", &pod("a", "11"));

    receives(&other, &["add shop/b@2 replay", "update shop/a@1->11 live"]).await;
    assert!(world.received().is_empty(), "the old sink receives nothing any more: {:?}", world.received());
    let status = ListenerStatus { name: "other".to_owned(), synced: true };
    assert_eq!(world.informer.status().listeners, [status], "it is the same listener");
    assert_eq!((world.script.lists().len(), world.script.watches().len()), (1, 1));
}

/// A change of the sink is atomic for the listener (C-10).
#[tokio::test(start_paused = true)]
async fn no_notification_is_missed_or_doubled_while_a_listener_changes_its_sink() {
    let (world, watch) = world().await;
    let mut sinks = vec![Arc::clone(&world.recorder)];

    for version in 11..31 {
        watch.event("MODIFIED", &pod("a", &version.to_string()));
        let sink = Arc::new(Recorder::default());
        sinks.push(Arc::clone(&sink));
        assert!(world.informer.replace_sink(&world.registration, listener("next"), || sink));
        tokio::task::yield_now().await;
    }
    world.caches(&["shop/a@30", "shop/b@2"]).await;

    let received = || sinks.iter().flat_map(|sink| sink.received()).collect::<Vec<_>>();
    eventually("the last update", || received().len() >= 20, || format!("{:?}", received())).await;
    let before = |version: usize| if version == 11 { 1 } else { version - 1 };
    let each: Vec<String> =
        (11..31).map(|version| format!("update shop/a@{}->{version} live", before(version))).collect();
    assert_eq!(received(), each);
}

/// A replay is in order with all other notifications (C-10).
#[tokio::test(start_paused = true)]
async fn a_replay_notifies_only_one_listener_of_all_objects() {
    let (world, watch) = world().await;
    let other = Arc::new(Recorder::default());
    world.informer.add_listener(listener("other"), Arc::clone(&other) as _).unwrap();
    other.acknowledge();

    let settled = Arc::new(AtomicBool::new(false));
    assert!(world.informer.replay(&world.registration, token(&settled)));
    let mut again = world.received();
    again.sort();
    assert_eq!(again, ["add shop/a@1 replay", "add shop/b@2 replay"], "in no order among themselves");
    assert!(!settled.load(Ordering::Relaxed));
    world.recorder.acknowledge();
    assert!(settled.load(Ordering::Relaxed));
    watch.event("MODIFIED", &pod("a", "11"));

    world.receives(&["update shop/a@1->11 live"]).await;
    receives(&other, &["update shop/a@1->11 live"]).await;
    assert_eq!(world.script.lists().len(), 1, "the cache has all objects");
}

#[tokio::test(start_paused = true)]
async fn one_object_is_replayed_in_its_cached_state_or_as_deleted() {
    let (world, _watch) = world().await;
    let added = |cached: Option<Arc<Object>>| cached.map(|object| Change::Added { object });

    assert!(world.informer.replay_object(&world.registration, &key("b"), Cause::Replay, added));
    assert!(
        !world.informer.replay_object(&world.registration, &key("c"), Cause::Replay, added),
        "there is no change to deliver"
    );
    assert_eq!(world.received(), ["add shop/b@2 replay"]);

    // If the object is gone, the caller may supply its last known state.
    let last = world.objects().remove(0);
    let gone = |cached: Option<Arc<Object>>| {
        assert!(cached.is_none());
        Some(Change::Deleted { object: last, final_state_known: false })
    };
    assert!(world.informer.replay_object(&world.registration, &key("c"), Cause::Replay, gone));
    assert_eq!(world.received()[1], "delete shop/a@1 replay?");
}

#[tokio::test(start_paused = true)]
async fn a_removed_listener_cannot_be_replayed_or_retargeted() {
    let (world, _watch) = world().await;
    let added = |cached: Option<Arc<Object>>| cached.map(|object| Change::Added { object });
    let other = Arc::new(Recorder::default());
    world.registration.remove();

    assert!(!world.informer.replay(&world.registration, token(&Arc::default())));
    assert!(!world.informer.replay_object(&world.registration, &key("a"), Cause::Replay, added));
    let sink = Arc::clone(&other) as _;
    assert!(!world.informer.replace_sink(&world.registration, listener("other"), || sink));
    let sink = Arc::clone(&other) as _;
    assert!(!world.informer.retarget_listener(
        &world.registration,
        listener("other"),
        || sink,
        |object| { Some(Change::Added { object: Arc::clone(object) }) }
    ));

    assert!(world.received().is_empty() && other.received().is_empty());
    assert!(world.informer.status().listeners.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_registration_of_another_informer_is_refused() {
    let (one, _watch) = world().await;
    let (other, _watch) = world().await;

    assert!(!one.informer.replay(&other.registration, token(&Arc::default())));
    assert!(one.received().is_empty() && other.received().is_empty());
}

/// A token that sets the flag when its last clone is dropped.
fn token(settled: &Arc<AtomicBool>) -> SyncToken {
    let settled = Arc::clone(settled);
    SyncToken::new(move || settled.store(true, Ordering::Relaxed))
}

fn factory(script: &Script) -> InformerFactory {
    script.always("/api/v1", Some(core_v1()));
    InformerFactory::new(script.client(), config())
}

fn same(one: &SharedInformer, other: &SharedInformer) -> bool {
    one.is(other)
}

/// A superseded informer keeps its watch and its cache while it has subscribers (D-12).
#[tokio::test(start_paused = true)]
async fn a_superseded_informer_serves_its_subscribers_until_it_is_stopped() {
    let script = Script::new();
    script.list(Answer::list("10", &[pod("a", "1")]));
    let first_watch = script.live_watch();
    let factory = factory(&script);
    let old = factory.subscribe(pods()).unwrap();
    let (received_first, received_new) = (Arc::new(Recorder::default()), Arc::new(Recorder::default()));
    old.add_listener(listener("old"), Arc::clone(&received_first) as _).unwrap();
    assert!(old.informer().wait_synced().await);

    script.list(Answer::list("12", &[pod("b", "2")]));
    let second_watch = script.live_watch();
    let keep = vec!["/data/x".parse().unwrap()];
    let new = factory.supersede(WatchConfig { keep, ..pods() }, &[]).unwrap();
    assert!(new.informer().wait_synced().await);
    new.add_listener(listener("new"), Arc::clone(&received_new) as _).unwrap();

    // The superseded informer continues for its subscribers; a new request gets the new informer.
    first_watch.event("MODIFIED", &pod("a", "11"));
    receives(&received_first, &["add shop/a@1 initial", "update shop/a@1->11 live"]).await;
    assert_eq!(factory.informers().len(), 1);
    assert!(same(&factory.informers()[0], new.informer()) && !same(old.informer(), new.informer()));

    factory.stop(old.informer()).await;
    assert!(first_watch.is_closed() && !second_watch.is_closed());
    let cached = old.informer().cached();
    assert_eq!(cached[0].resource_version(), "11", "the cache stays readable");
    second_watch.event("MODIFIED", &pod("b", "13"));
    receives(&received_new, &["add shop/b@2 initial", "update shop/b@2->13 live"]).await;
    assert_eq!(received_first.received().len(), 2);
}

/// The last subscription ends a superseded informer too (D-12).
#[tokio::test(start_paused = true)]
async fn a_superseded_informer_ends_with_its_last_subscription() {
    let script = Script::new();
    script.list(Answer::list("10", &[pod("a", "1")]));
    let watch = script.live_watch();
    let factory = factory(&script);
    let old = factory.subscribe(pods()).unwrap();
    assert!(old.informer().wait_synced().await);
    script.list(Answer::list("12", &[]));
    let second_watch = script.live_watch();
    let new = factory.supersede(pods(), &[]).unwrap();
    assert!(new.informer().wait_synced().await);

    old.release().await;

    assert!(watch.is_closed() && !second_watch.is_closed());
}

#[tokio::test(start_paused = true)]
async fn an_informer_of_another_key_can_be_superseded_explicitly() {
    let script = Script::new();
    script.list(Answer::list("10", &[]));
    let _first = script.live_watch();
    let factory = factory(&script);
    let old = factory.subscribe(pods()).unwrap();
    assert!(old.informer().wait_synced().await);
    script.list(Answer::list("12", &[]));
    let _second = script.live_watch();

    let fields = "metadata.name=web".to_owned();
    let replaced = [old.informer().clone()];
    let new = factory.supersede(WatchConfig { fields, ..pods() }, &replaced).unwrap();

    assert!(matches!(&*factory.superseded(), [one] if same(one, old.informer())));
    assert!(matches!(&*factory.informers(), [one] if same(one, new.informer())));
}
