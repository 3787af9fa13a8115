//! Shrunk scripts that once failed.

use crate::{
    script::{Key, Op, Script, Step, Wait},
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
