//! What becomes of deltas that are in the queue together; scenarios 46 to 63.

use super::*;

fn object(name: &str, version: &str) -> Arc<Object> {
    super::object("", name, version)
}

fn replaced(version: &str, objects: &[(&str, &str)]) -> DeltaKind {
    ReplacedAll(0, list(version, objects.iter().map(|(name, version)| object(name, version)).collect()))
}

/// What a listener is told of these deltas, with versions; `?` where the deletion itself was missed.
fn told(deltas: Vec<DeltaKind>) -> Vec<String> {
    let mut world = World::new(&[]);
    world.apply(deltas);
    let told = world.recorder.0.lock();
    let one = |told: &Notification| {
        let version = told.change.object().resource_version();
        let known = !matches!(told.change, Change::Deleted { final_state_known: false, .. });
        let unknown = if known { "" } else { "?" };
        format!("{} {}@{version} {}{unknown}", told.change.verb(), told.key(), told.cause)
    };
    told.iter().map(one).collect()
}

/// Scenarios 48, 52 and 59: nothing is merged, and no deletion dropped for want of a stored object.
#[test]
fn what_happens_to_one_object_before_anybody_looks_is_told_step_by_step_q20_q21() {
    let deltas = vec![
        Deleted(0, object("never-seen", "1")),
        Added(0, object("a", "2")),
        Updated(0, object("a", "3")),
        Deleted(0, object("a", "4")),
        Added(0, object("a", "5")),
    ];

    assert_eq!(
        told(deltas),
        ["delete never-seen@1 live", "add a@2 live", "update a@3 live", "delete a@4 live", "add a@5 live"]
    );
}

/// Scenario 46.
#[test]
fn a_deletion_is_told_though_the_next_list_has_the_object_again_q16() {
    let deltas =
        vec![replaced("1", &[("a", "1")]), Deleted(0, object("a", "2")), replaced("3", &[("a", "3")])];

    assert_eq!(told(deltas), ["add a@1 initial", "delete a@2 live", "add a@3 relist"]);
}

/// Scenarios 47 and 53.
#[test]
fn what_a_list_lacks_is_deleted_once_in_its_newest_state_whatever_was_queued_q15_q23() {
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
        assert_eq!(told(deltas), expected);
    }
}

/// Scenario 49: whatever was taken from an object when it was decoded is not asked for again.
#[test]
fn an_inferred_deletion_carries_the_very_copy_of_the_store_q6() {
    let mut world = World::new(&[]);
    let stored = object("a", "1");

    world.apply(vec![ReplacedAll(0, list("1", vec![Arc::clone(&stored)])), replaced("2", &[])]);

    let told = world.recorder.0.lock();
    assert!(matches!(&told[1].change, Change::Deleted { object, .. } if Arc::ptr_eq(object, &stored)));
}

/// Scenario 60.
#[test]
fn a_state_before_a_list_and_the_state_in_it_are_both_told_q22() {
    let deltas = vec![Added(0, object("a", "1")), Added(0, object("b", "2")), replaced("3", &[("a", "3")])];

    assert_eq!(told(deltas), ["add a@1 live", "add b@2 live", "delete b@2 relist?", "update a@3 relist"]);
}

/// Scenarios 56 and 62.
#[test]
fn nobody_jumps_the_line_q11_q20() {
    let arrivals = ["a", "b", "a", "c", "b", "a"];
    let deltas = (1..).zip(arrivals).map(|(version, name)| Updated(0, object(name, &format!("{version}"))));

    let told = told(deltas.collect());

    assert_eq!(
        told,
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

/// Scenario 63: the same whatever the batches, and only what the first list brought is initial.
#[test]
fn batches_of_any_size_tell_the_same_q35() {
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

        assert_eq!(world.recorder.told(), expected, "{size}");
    }
}
