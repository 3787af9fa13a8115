//! The documented differences and their counters.

use std::{collections::BTreeMap, fmt};

use super::{End, Life, Notified, Story};

/// A difference that `host/cache/DIFFERENCES.md` explains under the printed name of its counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::oracle) enum Difference {
    /// client-go notifies unchanged objects on a relist, we do not (D-5).
    UnchangedOnRelist,
    /// client-go notifies an update from one UID to another, we notify a deletion and an addition (D-6).
    ReplacedUnderOneName,
    /// One side's list passed over a state that the other side's watch delivered (C-14).
    StateMissedByClientGo,
    StateMissedByUs,
    /// One side's list passed over a whole object that the other side's watch delivered (C-14).
    LifeMissedByClientGo,
    LifeMissedByUs,
    /// One side's watch delivered the deletion, the other side inferred it from a list.
    DeletionInferredByClientGo,
    DeletionInferredByUs,
    /// The object is in one side's first list, but appeared after the other side's first list (C-11).
    InitialOnlyForClientGo,
    InitialOnlyForUs,
}

/// The number of differences by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::oracle) struct Differences(BTreeMap<Difference, usize>);

// === impl Difference ===

impl Difference {
    pub(super) const ALL: [Self; 10] = [
        Self::UnchangedOnRelist,
        Self::ReplacedUnderOneName,
        Self::StateMissedByClientGo,
        Self::StateMissedByUs,
        Self::LifeMissedByClientGo,
        Self::LifeMissedByUs,
        Self::DeletionInferredByClientGo,
        Self::DeletionInferredByUs,
        Self::InitialOnlyForClientGo,
        Self::InitialOnlyForUs,
    ];

    pub(in crate::oracle) fn counter(self) -> &'static str {
        match self {
            Self::UnchangedOnRelist => "D-5 unchanged-on-relist",
            Self::ReplacedUnderOneName => "D-6 replaced-under-one-name",
            Self::StateMissedByClientGo => "C-14 state-missed-by-client-go",
            Self::StateMissedByUs => "C-14 state-missed-by-us",
            Self::LifeMissedByClientGo => "C-14 life-missed-by-client-go",
            Self::LifeMissedByUs => "C-14 life-missed-by-us",
            Self::DeletionInferredByClientGo => "Q-5 deletion-inferred-by-client-go",
            Self::DeletionInferredByUs => "Q-5 deletion-inferred-by-us",
            Self::InitialOnlyForClientGo => "C-11 initial-only-for-client-go",
            Self::InitialOnlyForUs => "C-11 initial-only-for-us",
        }
    }
}

// === impl Differences ===

impl Differences {
    pub(in crate::oracle) fn add(&mut self, other: &Self) {
        for (difference, count) in &other.0 {
            *self.0.entry(*difference).or_default() += count;
        }
    }

    /// Counts the differences between two possible stories of one object.
    pub(super) fn of(&mut self, lives: &[Life], theirs: &Story, ours: &Story) {
        self.found(Difference::UnchangedOnRelist, theirs.unchanged);
        for life in lives {
            match (theirs.life(&life.uid), ours.life(&life.uid)) {
                (Some(theirs), Some(ours)) => self.of_life(theirs, ours),
                (None, Some(_)) => self.found(Difference::LifeMissedByClientGo, 1),
                (Some(_), None) => self.found(Difference::LifeMissedByUs, 1),
                (None, None) => {}
            }
        }
    }

    fn of_life(&mut self, theirs: &Notified, ours: &Notified) {
        let only = |one: &Notified, other: &Notified| {
            one.states.iter().filter(|state| !other.states.contains(state)).count()
        };
        self.found(Difference::StateMissedByClientGo, only(ours, theirs));
        self.found(Difference::StateMissedByUs, only(theirs, ours));
        match (theirs.end, ours.end) {
            (Some(End::Replaced), _) => self.found(Difference::ReplacedUnderOneName, 1),
            (Some(End::Inferred), Some(End::Seen)) => self.found(Difference::DeletionInferredByClientGo, 1),
            (Some(End::Seen), Some(End::Inferred)) => self.found(Difference::DeletionInferredByUs, 1),
            _ => {}
        }
        match (theirs.initial, ours.initial) {
            (true, false) => self.found(Difference::InitialOnlyForClientGo, 1),
            (false, true) => self.found(Difference::InitialOnlyForUs, 1),
            _ => {}
        }
    }

    pub(super) fn found(&mut self, difference: Difference, count: usize) {
        if count > 0 {
            *self.0.entry(difference).or_default() += count;
        }
    }
}

impl fmt::Display for Differences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counted = self.0.iter().map(|(difference, count)| format!("{} {count}", difference.counter()));
        f.write_str(&counted.collect::<Vec<_>>().join(", "))
    }
}
