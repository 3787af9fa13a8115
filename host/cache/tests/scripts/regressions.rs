//! Shrunk scripts that once failed.

use crate::{
    script::{Fault, Key, Op, Script, Setup, Step, Streaming, Wait},
    world::play,
};

const POD: Key = Key { namespace: 1, name: 2 };

fn change(op: Op) -> Step {
    Step::Change { op, key: POD, hidden: false }
}

fn hidden(op: Op) -> Step {
    Step::Change { op, key: POD, hidden: true }
}

fn play_steps(steps: impl Into<Vec<Step>>) {
    let _ = play(&Script { steps: steps.into(), ..Script::default() });
}

/// If the watch missed the deletion of the first object, its deletion is delivered too (D-6).
#[test]
fn the_deletion_of_a_recreated_object_also_deletes_the_first_one() {
    play_steps([change(Op::Put), Step::Wait(Wait::Turn), hidden(Op::Recreate), change(Op::Delete)]);
}

/// With pages, a later list of the same reflector looks like the first one of a new reflector (D-12, D-15).
#[test]
fn a_resource_that_was_missed_for_a_moment_does_not_start_over_with_pages() {
    let setup = Setup { page_size: Some(1), streaming: Streaming::Works, ..Script::default().setup };
    let second = Step::Wait(Wait::Seconds(1));
    let steps = vec![
        second,
        Step::Remove,
        second,
        Step::FailList(Fault::Html),
        second,
        Step::FailList(Fault::Refused),
        Step::Serve,
        second,
    ];

    let _ = play(&Script { setup, steps });
}
