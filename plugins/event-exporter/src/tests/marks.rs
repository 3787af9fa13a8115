//! The marks of Events that the routes have judged.

use super::*;

#[test]
fn an_event_of_the_same_name_with_another_uid_is_new() {
    let mut world = World::webhook();
    let mut replaced = event("a", 1, AT);
    world.add(replaced.clone()).unwrap();
    replaced["metadata"]["uid"] = json!("another");
    world.work();
    world.add(replaced).unwrap();
    world.work();

    assert_eq!(world.receiver.events(), ["a 1", "a 1"]);
}

/// One webhook that gets no Warning.
fn without_warnings() -> World {
    World::new(json!({
        "route": {"drop": [{"type": "Warning"}], "match": [{"receiver": "hook"}]},
        "receivers": [{"name": "hook", "webhook": {"endpoint": "http://hook"}}],
    }))
}

#[test]
fn the_marks_of_dropped_events_do_not_add_up_while_the_disk_is_full() {
    let mut world = without_warnings();
    let add = |world: &mut World, number: usize| world.add(event(&format!("e-{number}"), 1, AT));
    let (marked, waiting) = (0..MARKS - 1, MARKS - 1..2 * MARKS);
    for number in marked {
        add(&mut world, number).unwrap();
    }
    *world.disk.is_full.borrow_mut() = true;
    for _ in ["the first delivery", "the second delivery"] {
        assert!(waiting.clone().all(|number| add(&mut world, number).is_err()));
        assert_eq!(world.exporter.marks.len(), MARKS - 1);
    }

    *world.disk.is_full.borrow_mut() = false;
    for number in waiting {
        add(&mut world, number).unwrap();
    }
    world.exporter.stop();
    let marks = world.disk.names().iter().filter(|key| key.starts_with("seen/")).count();
    assert_eq!(marks, 2 * MARKS);
}

#[test]
fn an_event_that_no_receiver_gets_is_judged_once_for_good() {
    let mut world = without_warnings();
    world.add(event("a", 1, AT)).unwrap();
    assert_eq!(world.work(), []);

    // Without the rule, the Event would be sent now. It was judged before.
    world.config["route"]["drop"] = json!([]);
    world.restart();
    world.add(event("a", 1, AT)).unwrap();
    world.add(event("b", 1, AT)).unwrap();
    world.work();

    assert_eq!(world.receiver.events(), ["b 1"]);
}

#[test]
fn housekeeping_forgets_events_that_are_gone_and_queues_of_removed_receivers() {
    let mut world = World::webhook();
    world.add(event("stays", 1, AT)).unwrap();
    world.add(event("goes", 1, AT)).unwrap();
    world.work();
    world.host.remove(EVENTS, &ObjectKey::new("shop", "goes"));
    world.host.set_synced(EVENTS, true);
    world.disk.entries.borrow_mut().insert("out/removed/1/shop/x".to_owned(), b"{}".to_vec());

    assert_eq!(world.reconcile(SWEEP), Ok(Reconciled::RequeueAfter(sweep::EVERY)));

    assert_eq!(world.disk.names(), ["seen/shop/stays", "since"]);
    assert!(world.host.log()[0].message.starts_with("1 Events are lost: the receiver is no longer"));
}

#[test]
fn housekeeping_forgets_nothing_before_the_cache_is_complete() {
    let mut world = World::webhook();
    world.add(event("a", 1, AT)).unwrap();
    world.work();
    world.restart();
    world.host.set_synced(EVENTS, false);
    world.reconcile(SWEEP).unwrap();

    world.add(event("a", 1, AT)).unwrap();
    assert_eq!(world.work(), []);
}

/// A plugin has several instances, and each one keeps marks of dropped Events in its memory for a while.
#[test]
fn the_mark_of_an_instance_does_not_replace_a_later_one_of_another_instance() {
    let mut world = World::new(json!({
        "route": {"match": [{"minCount": 2, "receiver": "hook"}]},
        "receivers": [{"name": "hook", "webhook": {"endpoint": "http://hook"}}],
    }));
    world.add(event("a", 1, AT)).unwrap();
    let mut other = started(&world.config, &world.disk, &world.receiver);
    other.on_add(world.host.event(EVENTS, event("a", 2, AT)), Cause::Live).unwrap();
    world.work();
    assert_eq!(world.receiver.events(), ["a 2"]);

    // The first list of a new watch delivers the Event again, also to the instance that saw only the first occurrence.
    world.add(event("a", 2, AT)).unwrap();
    world.restart();
    world.add(event("a", 2, AT)).unwrap();
    world.reconcile("send hook").unwrap();

    assert_eq!(world.receiver.events(), ["a 2"]);
}

/// Routes may choose a receiver for a later occurrence only.
#[test]
fn a_receiver_without_updates_gets_the_first_occurrence_that_a_route_sends_to_it() {
    let receiver = |name: &str, host: &str| {
        let endpoint = format!("http://{host}");
        json!({"name": name, "webhook": {"endpoint": endpoint, "sentUpdateEvent": false}})
    };
    let mut world = World::new(json!({
        "route": {"match": [{"receiver": "at once"}, {"minCount": 3, "receiver": "often"}]},
        "receivers": [receiver("at once", "one"), receiver("often", "three")],
    }));
    for count in 1..=5 {
        world.add(event("a", count, AT)).unwrap();
        for key in ["send at once", "send often"] {
            assert_eq!(world.reconcile(key), Ok(Reconciled::Done));
        }
        world.restart();
    }

    assert_eq!(world.receiver.events(), ["a 1", "a 3"]);
    let requests = world.receiver.requests.borrow();
    assert_eq!([&requests[0].url.authority, &requests[1].url.authority], ["one", "three"]);
}

/// Earlier versions wrote marks without the names of receivers.
#[test]
fn a_receiver_without_updates_does_not_get_an_event_again_that_an_earlier_version_judged() {
    let mut world = World::new(json!({
        "route": {"match": [{"receiver": "once"}, {"receiver": "often"}]},
        "receivers": [
            {"name": "once", "webhook": {"endpoint": "http://once", "sentUpdateEvent": false}},
            {"name": "often", "webhook": {"endpoint": "http://often"}},
        ],
    }));
    let mark = format!("uid-of-a 1 {}", now().as_nanosecond()).into_bytes();
    world.disk.entries.borrow_mut().insert("seen/shop/a".to_owned(), mark);

    for count in 1..=3 {
        world.add(event("a", count, AT)).unwrap();
        world.restart();
    }
    world.add(event("b", 1, AT)).unwrap();
    for key in ["send once", "send often"] {
        assert_eq!(world.reconcile(key), Ok(Reconciled::Done));
    }

    assert_eq!(world.receiver.events(), ["b 1", "b 1", "a 2", "a 3"]);
    assert_eq!(world.receiver.requests.borrow()[0].url.authority, "once");
}

#[test]
fn a_receiver_gets_updates_from_the_time_that_the_configuration_allows_them() {
    let mut world = World::new(json!({
        "route": {"match": [{"receiver": "hook"}]},
        "receivers": [{"name": "hook", "webhook": {"endpoint": "http://hook", "sentUpdateEvent": false}}],
    }));
    world.add(event("a", 1, AT)).unwrap();
    world.add(event("a", 2, AT)).unwrap();
    world.work();

    world.config["receivers"][0]["webhook"]["sentUpdateEvent"] = json!(true);
    world.restart();
    world.add(event("a", 3, AT)).unwrap();
    world.work();

    assert_eq!(world.receiver.events(), ["a 1", "a 3"]);
}
