//! Objects that do not decode (D-2).

use super::*;
use crate::delta_queue::Quarantined;

fn undecoded(name: &str) -> DeltaKind {
    Undecoded(0, quarantined(name))
}

fn quarantined(name: &str) -> Quarantined {
    Quarantined { key: Some(ObjectKey::new("", name)), problem: "bad".to_owned() }
}

/// A list whose only object did not decode.
fn listed(version: &str, name: &str) -> DeltaKind {
    ReplacedAll(0, Replacement { quarantined: vec![quarantined(name)], ..list(version, Vec::new()) })
}

/// An object exists if it is in the store or in the quarantine, at each version of the store.
#[test]
fn the_quarantine_follows_the_order_of_the_deltas() {
    let good = || object("", "a", "5");
    for (deltas, expected) in [
        (vec![undecoded("a")], &["a"][..]),
        (vec![undecoded("a"), Updated(0, good())], &[]),
        (vec![Updated(0, good()), undecoded("a")], &["a"]),
        (vec![undecoded("a"), Deleted(0, good())], &[]),
        (vec![undecoded("a"), DeletedKey(0, ObjectKey::new("", "a"))], &[]),
        // A delta that is older than a list does not end the quarantine of an object in the list.
        (vec![Added(0, good()), listed("9", "a")], &["a"]),
        (vec![Deleted(0, good()), listed("9", "a")], &["a"]),
        (vec![undecoded("a"), listed("9", "b")], &["b"]),
        (vec![undecoded("a"), ReplacedAll(0, list("9", vec![good()]))], &[]),
    ] {
        let mut world = World::new(&[]);

        world.apply(deltas);

        let keys: Vec<String> = world.cells[0].undecoded().unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(keys, expected);
    }
}

#[test]
fn a_list_keeps_the_last_good_state_of_an_object_that_does_not_decode() {
    let mut world = World::new(&[]);

    world.apply(vec![Added(0, object("", "a", "5")), listed("9", "a"), listed("10", "b")]);

    assert_eq!(world.recorder.received(), ["add a live", "delete a relist"], "the second list has no `a`");
}
