//! What happens in a storm, at random.

use proptest::prelude::*;

use super::{events::OBJECTS, stage::Mood};

/// What happens next.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Something happens to this many objects, from this one on.
    Events { first: usize, count: usize },
    /// Another configuration: a new version takes over, or refuses to.
    Configuration { mood: Mood, workers: usize },
    /// The component is another file.
    Component,
    /// Others may run.
    Pause,
}

fn takes_over() -> impl Strategy<Value = Mood> {
    prop_oneof![4 => Just(Mood::Well), 2 => Just(Mood::Slow), 1 => Just(Mood::Busy), 2 => Just(Mood::Traps)]
}

fn does_not() -> impl Strategy<Value = Mood> {
    prop_oneof![Just(Mood::TrapsInStart), Just(Mood::Refuses)]
}

fn configuration(mood: impl Strategy<Value = Mood>) -> impl Strategy<Value = Step> {
    (mood, 1_usize..=8).prop_map(|(mood, workers)| Step::Configuration { mood, workers })
}

/// As many configurations as that take over, with something else before each.
pub(super) fn script(reloads: usize) -> impl Strategy<Value = Vec<Step>> {
    let between = prop_oneof![
        12 => (0..OBJECTS, 1_usize..4).prop_map(|(first, count)| Step::Events { first, count }),
        4 => configuration(does_not()),
        2 => Just(Step::Component),
        4 => Just(Step::Pause),
    ];
    let round = (prop::collection::vec(between, 0..3), configuration(takes_over()));
    prop::collection::vec(round, reloads).prop_map(|rounds| {
        let steps = rounds.into_iter().map(|(mut steps, last)| {
            steps.push(last);
            steps
        });
        steps.flatten().collect()
    })
}
