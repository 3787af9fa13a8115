//! What a reload asks of an informer: other sinks and settings for a listener in place, everything or one object told
//! again, and another informer for the same watch; C-10, D-12.

use std::sync::Arc;

use informer_cache::{InformerFactory, SharedInformer, WatchConfig};
use informer_types::{Change, Object, ObjectKey};

use crate::{
    server::{Answer, Live, Script},
    world::{Recorder, World, config, core_v1, eventually, listener, pod, pods},
};

/// With `a` and `b` in the cache, which is what the listener was told so far, and a watch to write to.
async fn world() -> (World, Live) {
    let script = Script::new();
    script.list(Answer::list("10", &[pod("a", "1"), pod("b", "2")]));
    let watch = script.live_watch();
    let world = World::start(script);
    world.tells(&["add shop/a@1 initial", "add shop/b@2 initial"]).await;
    world.recorder.acknowledge();
    (world, watch)
}

fn key(name: &str) -> ObjectKey {
    ObjectKey { namespace: "shop".into(), name: name.into() }
}

async fn hears(recorder: &Recorder, expected: &[&str]) {
    let told = || recorder.told() == expected;
    eventually(&format!("told = {expected:?}"), told, || format!("{:?}", recorder.told())).await;
}

#[tokio::test(start_paused = true)]
async fn a_listener_goes_on_with_another_sink_which_is_told_the_difference_first_c10() {
    let (world, watch) = world().await;
    let other = Arc::new(Recorder::default());
    let only_b =
        |object: &Arc<Object>| (object.name() == "b").then(|| Change::Added { object: Arc::clone(object) });

    let sink = Arc::clone(&other) as _;
    assert!(world.informer.retarget_listener(&world.registration, listener("other"), || sink, only_b));
    watch.event("MODIFIED", &pod("a", "11"));

    hears(&other, &["add shop/b@2 replay", "update shop/a@1->11 live"]).await;
    assert!(world.told().is_empty(), "the sink before hears nothing any more: {:?}", world.told());
    assert_eq!(world.informer.status().listeners, [("other".to_owned(), true)], "it is the same listener");
    assert_eq!((world.script.lists().len(), world.script.watches().len()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn between_the_two_sinks_nothing_is_missed_and_nothing_doubled_c10() {
    let (world, watch) = world().await;
    let mut sinks = vec![Arc::clone(&world.recorder)];

    for version in 11..31 {
        watch.event("MODIFIED", &pod("a", &version.to_string()));
        let sink = Arc::new(Recorder::default());
        sinks.push(Arc::clone(&sink));
        assert!(world.informer.retarget_listener(&world.registration, listener("next"), || sink, |_| None));
        tokio::task::yield_now().await;
    }
    world.caches(&["shop/a@30", "shop/b@2"]).await;

    let told = || sinks.iter().flat_map(|sink| sink.told()).collect::<Vec<_>>();
    eventually("the last update", || told().len() >= 20, || format!("{:?}", told())).await;
    let before = |version: usize| if version == 11 { 1 } else { version - 1 };
    let each: Vec<String> =
        (11..31).map(|version| format!("update shop/a@{}->{version} live", before(version))).collect();
    assert_eq!(told(), each);
}

#[tokio::test(start_paused = true)]
async fn a_replay_tells_one_listener_everything_again_and_nobody_else_c10() {
    let (world, watch) = world().await;
    let other = Arc::new(Recorder::default());
    world.informer.add_listener(listener("other"), Arc::clone(&other) as _).unwrap();
    other.acknowledge();

    assert!(world.informer.replay(&world.registration));
    let mut again = world.told();
    again.sort();
    assert_eq!(again, ["add shop/a@1 replay", "add shop/b@2 replay"], "in no order among themselves");
    world.recorder.acknowledge();
    watch.event("MODIFIED", &pod("a", "11"));

    world.tells(&["update shop/a@1->11 live"]).await;
    hears(&other, &["update shop/a@1->11 live"]).await;
    assert_eq!(world.script.lists().len(), 1, "the cache knows it all");
}

#[tokio::test(start_paused = true)]
async fn one_object_is_told_again_as_it_is_in_the_cache_or_as_gone() {
    let (world, _watch) = world().await;
    let added = |cached: Option<Arc<Object>>| cached.map(|object| Change::Added { object });

    assert!(world.informer.tell_again(&world.registration, &key("b"), added));
    assert!(!world.informer.tell_again(&world.registration, &key("c"), added), "there is nothing to tell");
    assert_eq!(world.told(), ["add shop/b@2 replay"]);

    // What the caller knows of an object that is gone, it can tell itself.
    let last = world.objects().remove(0);
    let gone = |cached: Option<Arc<Object>>| {
        assert!(cached.is_none());
        Some(Change::Deleted { object: last, final_state_known: false })
    };
    assert!(world.informer.tell_again(&world.registration, &key("c"), gone));
    assert_eq!(world.told()[1], "delete shop/a@1 replay?");
}

#[tokio::test(start_paused = true)]
async fn a_listener_that_left_is_told_nothing_again_and_keeps_no_other_sink() {
    let (world, _watch) = world().await;
    let added = |cached: Option<Arc<Object>>| cached.map(|object| Change::Added { object });
    let other = Arc::new(Recorder::default());
    world.registration.remove();

    assert!(!world.informer.replay(&world.registration));
    assert!(!world.informer.tell_again(&world.registration, &key("a"), added));
    let sink = Arc::clone(&other) as _;
    assert!(!world.informer.retarget_listener(
        &world.registration,
        listener("other"),
        || sink,
        |object| { Some(Change::Added { object: Arc::clone(object) }) }
    ));

    assert!(world.told().is_empty() && other.told().is_empty());
    assert!(world.informer.status().listeners.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_registration_with_another_informer_is_not_taken_for_one_of_its_own() {
    let (one, _watch) = world().await;
    let (other, _watch) = world().await;

    assert!(!one.informer.replay(&other.registration));
    assert!(one.told().is_empty() && other.told().is_empty());
}

fn factory(script: &Script) -> InformerFactory {
    script.always("/api/v1", Some(core_v1()));
    InformerFactory::new(script.client(), config())
}

fn same(one: &SharedInformer, other: &SharedInformer) -> bool {
    one.is(other)
}

#[tokio::test(start_paused = true)]
async fn an_informer_that_is_superseded_serves_who_has_it_until_it_is_stopped_d12() {
    let script = Script::new();
    script.list(Answer::list("10", &[pod("a", "1")]));
    let first_watch = script.live_watch();
    let factory = factory(&script);
    let old = factory.subscribe(pods()).unwrap();
    let (heard, heard_new) = (Arc::new(Recorder::default()), Arc::new(Recorder::default()));
    old.add_listener(listener("old"), Arc::clone(&heard) as _).unwrap();
    assert!(old.informer().wait_synced().await);

    script.list(Answer::list("12", &[pod("b", "2")]));
    let second_watch = script.live_watch();
    let keep = vec!["/data/x".parse().unwrap()];
    let new = factory.supersede(WatchConfig { keep, ..pods() }, &[]).unwrap();
    assert!(new.informer().wait_synced().await);
    new.add_listener(listener("new"), Arc::clone(&heard_new) as _).unwrap();

    // The one before goes on, for those who have it; who asks now is given the new one.
    first_watch.event("MODIFIED", &pod("a", "11"));
    hears(&heard, &["add shop/a@1 initial", "update shop/a@1->11 live"]).await;
    assert_eq!(factory.informers().len(), 1);
    assert!(same(&factory.informers()[0], new.informer()) && !same(old.informer(), new.informer()));

    factory.stop(old.informer()).await;
    assert!(first_watch.is_closed() && !second_watch.is_closed());
    let cached = old.informer().cached();
    assert_eq!(cached[0].resource_version(), "11", "what was told can still be asked for");
    second_watch.event("MODIFIED", &pod("b", "13"));
    hears(&heard_new, &["add shop/b@2 initial", "update shop/b@2->13 live"]).await;
    assert_eq!(heard.told().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn what_nobody_has_any_more_ends_though_it_was_superseded_d12() {
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
async fn one_of_another_key_is_superseded_by_the_one_that_replaces_it() {
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
