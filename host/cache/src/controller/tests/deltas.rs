//! Deltas that are in the queue together; scenarios 46 to 63.

use super::*;

fn object(name: &str, version: &str) -> Arc<Object> {
    super::object("", name, version)
}

fn replaced(version: &str, objects: &[(&str, &str)]) -> DeltaKind {
    ReplacedAll(0, list(version, objects.iter().map(|(name, version)| object(name, version)).collect()))
}

/// What a listener receives for these deltas, with versions. A `?` marks a deletion that was missed.
fn received(deltas: Vec<DeltaKind>) -> Vec<String> {
    let mut world = World::new(&[]);
    world.apply(deltas);
    let received = world.recorder.0.lock();
    let one = |received: &Notification| {
        let version = received.change.object().resource_version();
        let known = !matches!(received.change, Change::Deleted { final_state_known: false, .. });
        let unknown = if known { "" } else { "?" };
        format!("{} {}@{version} {}{unknown}", received.change.verb(), received.key(), received.cause)
    };
    received.iter().map(one).collect()
}

/// Scenarios 48, 52 and 59: no delta is merged, and no deletion is dropped because the object is not stored
///
/// A deletion delivers the last state that the server sent (C-4).
#[test]
fn queued_changes_of_one_object_are_delivered_one_by_one() {
    let deltas = vec![
        Deleted(0, object("never-seen", "1")),
        Added(0, object("a", "2")),
        Updated(0, object("a", "3")),
        Deleted(0, object("a", "4")),
        Added(0, object("a", "5")),
    ];

    assert_eq!(
        received(deltas),
        ["delete never-seen@1 live", "add a@2 live", "update a@3 live", "delete a@4 live", "add a@5 live"]
    );
}

/// Scenario 46: a list does not remove earlier deltas.
#[test]
fn a_deletion_is_delivered_even_if_the_next_list_has_the_object_again() {
    let deltas =
        vec![replaced("1", &[("a", "1")]), Deleted(0, object("a", "2")), replaced("3", &[("a", "3")])];

    assert_eq!(received(deltas), ["add a@1 initial", "delete a@2 live", "add a@3 relist"]);
}

/// Scenarios 47 and 53: the deletion has the newest known state whatever was queued before.
#[test]
fn an_object_missing_in_a_list_is_deleted_once_in_its_newest_state() {
    let added = || Added(0, object("a", "1"));
    let updated = || Updated(0, object("a", "2"));
    let deleted = || Deleted(0, object("a", "3"));
    let without = || replaced("9", &[]);
    for (deltas, expected) in [
        (vec![added(), without()], &["add a@1 live", "delete a@1 relist?"][..]),
        (vec![added(), updated(), without()], &["add a@1 live", "update a@2 live", "delete a@2 relist?"]),
        (vec![added(), deleted(), without()], &["add a@1 live", "delete a@3 live"]),
        (vec![deleted(), without()], &["delete a@3 live"]),
        (vec![deleted(), added(), without()], &["delete a@3 live", "add a@1 live", "delete a@1 relist?"]),
        (
            vec![replaced("5", &[("a", "5")]), without(), without()],
            &["add a@5 initial", "delete a@5 relist?"],
        ),
    ] {
        assert_eq!(received(deltas), expected);
    }
}

/// Scenario 49: an inferred deletion delivers the stored object itself, without decoding it again.
#[test]
fn an_inferred_deletion_delivers_the_stored_object_itself() {
    let mut world = World::new(&[]);
    let stored = object("a", "1");

    world.apply(vec![ReplacedAll(0, list("1", vec![Arc::clone(&stored)])), replaced("2", &[])]);

    let received = world.recorder.0.lock();
    assert!(matches!(&received[1].change, Change::Deleted { object, .. } if Arc::ptr_eq(object, &stored)));
}

/// Scenario 60: a list does not merge with earlier deltas.
#[test]
fn a_state_before_a_list_and_the_state_in_the_list_are_both_delivered() {
    let deltas = vec![Added(0, object("a", "1")), Added(0, object("b", "2")), replaced("3", &[("a", "3")])];

    assert_eq!(received(deltas), ["add a@1 live", "add b@2 live", "delete b@2 relist?", "update a@3 relist"]);
}

/// Scenarios 56 and 62: a key that is queued again does not change the order, and deltas are in order.
#[test]
fn deltas_keep_their_order() {
    let arrivals = ["a", "b", "a", "c", "b", "a"];
    let deltas = (1..).zip(arrivals).map(|(version, name)| Updated(0, object(name, &format!("{version}"))));

    let received = received(deltas.collect());

    assert_eq!(
        received,
        [
            "add a@1 live",
            "add b@2 live",
            "update a@3 live",
            "add c@4 live",
            "update b@5 live",
            "update a@6 live"
        ]
    );
}

/// Scenario 63: the size of batches has no effect, and only the first list is initial.
/// A batch is applied in one step and notified in the order of the queue (C-9), whatever kinds its deltas
/// have.
#[test]
fn batches_of_any_size_deliver_the_same_notifications() {
    let deltas = || {
        vec![
            replaced("3", &[("a", "1"), ("b", "2")]),
            Updated(0, object("a", "4")),
            Updated(0, object("a", "5")),
            Added(0, object("c", "6")),
            Bookmark(0, "7".to_owned()),
            Deleted(0, object("b", "8")),
            replaced("9", &[("a", "5"), ("d", "9")]),
        ]
    };
    let expected = [
        "add a initial",
        "add b initial",
        "update a live",
        "update a live",
        "add c live",
        "delete b live",
        "delete c relist",
        "add d relist",
    ];
    for size in 1..=deltas().len() {
        let mut world = World::new(&[]);
        let mut left = deltas();
        while !left.is_empty() {
            let rest = left.split_off(size.min(left.len()));
            world.apply(std::mem::replace(&mut left, rest));
        }

        assert_eq!(world.recorder.received(), expected, "{size}");
    }
}
