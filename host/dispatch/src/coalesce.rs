//! The merging rule (`design.md` section 4, point 4), written once.
//!
//! Only entries of one object that are still pending meet here; what a worker has in hand never does. An entry
//! whose attempt failed is pending again, and merges like any other.
//!
//! | pending | then | becomes |
//! |---|---|---|
//! | added(a) | updated(_, b) | added(b) |
//! | added(a), unseen | deleted | nothing |
//! | added(a), perhaps seen | deleted | deleted |
//! | updated(a, b) | updated(_, c) | updated(a, c) |
//! | updated(a, b) | updated(c, d) of another UID | updated(c, d) |
//! | updated | deleted | deleted |
//! | deleted | added(b) | both, in this order |
//! | deleted | updated(_, b): additions are left out | both, in this order |
//! | updated(_, b), unseen | deleted | nothing |
//! | added or updated | added(b): a replay | added(b) |
//! | deleted | deleted | the earlier, unless only the later knows the final state of that object (Q-12, D-6) |
//! | deleted | a resync of the same UID | deleted: a cached copy never follows newer news (Q-17) |
//!
//! So at most two entries of an object are ever pending: a deletion and, behind it, an addition or an update. That one is
//! always unseen, so a second deletion takes it away and leaves the first.
//!
//! Nothing becomes a call that the subscription left out (`events`): an addition is one of the two that merge, or there is
//! none. Where additions are left out, what follows a deletion is an update of an object that the handler hears of for
//! the first time: another one of the name, or the same one that left the subscription and came back.
//!
//! **Unseen** means that no attempt was ever made: an addition whose attempt failed may have been seen by the
//! handler, and its deletion is told. A replay is never taken as unseen, but behind a deletion everything is: of what
//! exists now the handler cannot know while it was not told what is gone.
//!
//! **Cause.** An addition keeps its own cause, so that an object that was there from the start is not announced
//! as new because it changed while it waited. A deletion has the cause of the deletion. Updates, and additions
//! told twice, have the stronger cause of the two: live, initial, relist, replay, resync. A resync of an object
//! with a pending update thus disappears in it.
//!
//! **Attempts.** Newer state ends the wait of the older one, but not its count: a handler that fails on every
//! state of an object that changes all the time runs out of attempts like any other. A deletion starts at zero,
//! because it is another call, and the last one of its object.
//!
//! **Every.** Where each change is to be delivered ([`DeliveryMode::Every`](crate::DeliveryMode::Every)) two entries
//! become one only where the later one is no change: a resync, or the same deletion told twice. So many entries of an
//! object may be pending then, each unseen only if it is an addition or an update behind a deletion. Once the queue fell behind, the
//! table above holds, and what is missing something has the cause `replay`.
//!
//! **Controllers.** Where they are asked for, the entry keeps the controllers of all states that merged into it, up to a
//! thousand (beyond that they are counted), and what is nothing in the table above is the deletion if either of the two has
//! any, or disappears in the deletion before it: whoever reconciles them is to hear of each. A handler is not: such a
//! deletion is marked as unseen.
//!
//! **The rest.** The times are those of the oldest, and every sync token survives until the result is settled.

use std::sync::Arc;

use informer_types::{Cause, Change};

use crate::entry::{Entry, Tokens};

/// What two entries that follow one another become.
#[derive(Debug)]
pub(crate) enum Coalesced {
    /// One entry.
    One {
        entry: Entry,
        merge: Merge,
        /// The later one brought newer state, rather than telling the same again.
        newer: bool,
    },
    /// They stay two, in this order.
    Both(Entry, Entry),
    /// They cancel out: the handler never has to know. The sync tokens of both.
    Neither(Tokens),
}

/// How a notification disappeared in a pending one of the same object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Merge {
    /// The result is an addition.
    Add,
    /// The result is an update.
    Update,
    /// The result is a deletion.
    Delete,
    /// It was a resync, and what was pending is at least as new.
    Resync,
}

/// Which entries of an object merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// All that can.
    Latest,
    /// None that is a change.
    Every,
    /// All that can, although each was asked for: what it did is told by the cause.
    Behind,
}

// === impl Rule ===

impl Rule {
    /// What two pending entries of one object become; `later` follows `earlier` without a gap.
    pub(crate) fn apply(self, earlier: Entry, later: Entry) -> Coalesced {
        match self {
            Self::Latest => coalesce(earlier, later),
            Self::Every => follow(earlier, later),
            Self::Behind => behind(coalesce(earlier, later)),
        }
    }

    /// True where `later` takes the place of `earlier`, which failed.
    pub(crate) fn supersedes(self, earlier: &Entry, later: &Entry) -> bool {
        self != Self::Every && supersedes(earlier, later)
    }
}

/// Keeps both entries wherever the later one is a change.
fn follow(earlier: Entry, later: Entry) -> Coalesced {
    let same = earlier.change.object().uid() == later.change.object().uid();
    match (earlier.is_deletion(), later.is_deletion()) {
        // Another object of the name, whose addition the subscription left out.
        (true, true) if !same => Coalesced::Both(earlier, later),
        (true, _) => coalesce(earlier, later),
        (false, _) if later.cause == Cause::Resync => coalesce(earlier, later),
        (false, _) => Coalesced::Both(earlier, Entry { unseen: false, ..later }),
    }
}

/// Says of an entry that took in a change that it did.
fn behind(coalesced: Coalesced) -> Coalesced {
    match coalesced {
        Coalesced::One { mut entry, merge, newer: true } if !entry.is_deletion() => {
            entry.cause = Cause::Replay;
            Coalesced::One { entry, merge, newer: true }
        }
        other => other,
    }
}

/// Applies the merging rule to two pending entries of one object; `later` follows `earlier` without a gap.
fn coalesce(mut earlier: Entry, mut later: Entry) -> Coalesced {
    // Whether they are asked for may have changed in between.
    if earlier.controllers.is_some() || later.controllers.is_some() {
        earlier.keep_controllers();
        later.keep_controllers();
    }
    let resync = later.cause == Cause::Resync;
    let controlled = earlier.is_controlled() || later.is_controlled();
    match (&earlier.change, &later.change) {
        (_, Change::Deleted { .. }) if earlier.unseen && !controlled => {
            Coalesced::Neither(earlier.tokens.and(later.tokens))
        }
        (Change::Deleted { .. }, Change::Added { .. }) => Coalesced::Both(earlier, unseen(later)),
        (Change::Deleted { object: gone, .. }, Change::Updated { new, .. })
            if !resync || gone.uid() != new.uid() =>
        {
            Coalesced::Both(earlier, unseen(later))
        }
        _ => {
            let newer = supersedes(&earlier, &later);
            let entry = merge(earlier, later);
            let merge = if resync { Merge::Resync } else { Merge::of(&entry.change) };
            Coalesced::One { entry, merge, newer }
        }
    }
}

/// True where `later` merges into `earlier` and brings newer state: then nobody needs `earlier` any more.
fn supersedes(earlier: &Entry, later: &Entry) -> bool {
    match (&earlier.change, &later.change) {
        (Change::Deleted { .. }, _) => false,
        (_, Change::Deleted { .. }) => true,
        (before, after) => {
            let (before, after) = (before.object(), after.object());
            !Arc::ptr_eq(before, after)
                && (before.resource_version() != after.resource_version() || before.uid() != after.uid())
        }
    }
}

fn merge(earlier: Entry, later: Entry) -> Entry {
    let attempts = if later.is_deletion() && !earlier.is_deletion() { 0 } else { earlier.attempts };
    let stronger = stronger(earlier.cause, later.cause);
    let (change, cause) = match (earlier.change, later.change) {
        (
            Change::Deleted { object, final_state_known: false },
            known @ Change::Deleted { final_state_known: true, .. },
        ) if object.uid() == known.object().uid() => (known, later.cause),
        // A second deletion, or a resync of what is gone.
        (deleted @ Change::Deleted { .. }, _) => (deleted, earlier.cause),
        (_, deleted @ Change::Deleted { .. }) => (deleted, later.cause),
        (Change::Added { .. }, added @ Change::Added { .. }) => (added, stronger),
        (Change::Added { .. }, Change::Updated { new, .. }) => (Change::Added { object: new }, earlier.cause),
        (Change::Updated { .. }, added @ Change::Added { .. }) => (added, later.cause),
        (Change::Updated { old, new: between }, Change::Updated { old: since, new }) => {
            // Where a subscription leaves out additions and deletions, another object may have taken the name
            // in between; what is told of it starts with itself (D-6).
            let old = if between.uid() == new.uid() { old } else { since };
            (Change::Updated { old, new }, stronger)
        }
    };
    Entry {
        unseen: earlier.unseen,
        change,
        cause,
        observed: earlier.observed.min(later.observed),
        queued: earlier.queued.min(later.queued),
        attempts,
        live: earlier.live || later.live,
        tokens: earlier.tokens.and(later.tokens),
        controllers: earlier.controllers.zip(later.controllers).map(|(earlier, later)| earlier.and(later)),
    }
}

fn unseen(entry: Entry) -> Entry {
    Entry { unseen: true, ..entry }
}

fn stronger(left: Cause, right: Cause) -> Cause {
    if strength(left) >= strength(right) { left } else { right }
}

fn strength(cause: Cause) -> u8 {
    match cause {
        Cause::Resync => 0,
        Cause::Replay => 1,
        Cause::Relist => 2,
        Cause::Initial => 3,
        Cause::Live => 4,
    }
}

// === impl Merge ===

impl Merge {
    fn of(result: &Change) -> Self {
        match result {
            Change::Added { .. } => Self::Add,
            Change::Updated { .. } => Self::Update,
            Change::Deleted { .. } => Self::Delete,
        }
    }
}

#[cfg(test)]
mod tests;
