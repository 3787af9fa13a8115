//! The random steps of a storm.

use proptest::prelude::*;

use super::{events::OBJECTS, stage::Mood};

/// The next step.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// `count` objects change, starting with the object `first`.
    Events { first: usize, count: usize },
    /// The configuration changes: a new version is promoted, or it is refused.
    Configuration { mood: Mood, workers: usize },
    /// The component file is replaced.
    Component,
    /// The script yields to other tasks.
    Pause,
}

fn promoted() -> impl Strategy<Value = Mood> {
    prop_oneof![4 => Just(Mood::Well), 2 => Just(Mood::Slow), 1 => Just(Mood::Busy), 2 => Just(Mood::Traps)]
}

fn refused() -> impl Strategy<Value = Mood> {
    prop_oneof![Just(Mood::TrapsInStart), Just(Mood::Refuses)]
}

fn configuration(mood: impl Strategy<Value = Mood>) -> impl Strategy<Value = Step> {
    (mood, 1_usize..=8).prop_map(|(mood, workers)| Step::Configuration { mood, workers })
}

/// A script with `reloads` configurations whose versions are promoted, and with other steps before each of them.
pub(super) fn script(reloads: usize) -> impl Strategy<Value = Vec<Step>> {
    let between = prop_oneof![
        12 => (0..OBJECTS, 1_usize..4).prop_map(|(first, count)| Step::Events { first, count }),
        4 => configuration(refused()),
        2 => Just(Step::Component),
        4 => Just(Step::Pause),
    ];
    let round = (prop::collection::vec(between, 0..3), configuration(promoted()));
    prop::collection::vec(round, reloads).prop_map(|rounds| {
        let steps = rounds.into_iter().map(|(mut steps, last)| {
            steps.push(last);
            steps
        });
        steps.flatten().collect()
    })
}
