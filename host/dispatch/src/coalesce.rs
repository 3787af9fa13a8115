//! The pending notifications of one object, and the merging rule: what two of them become.
//!
//! Only pending entries of one object merge. An entry in flight never does. An entry whose attempt failed is pending again
//! and merges like any other.
//!
//! | pending | then | becomes |
//! |---|---|---|
//! | added(a) | updated(_, b) | added(b) |
//! | added(a), unseen | deleted | nothing |
//! | added(a), possibly seen | deleted | deleted |
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
//! Therefore at most two entries of an object are pending: a deletion and, behind it, an addition or an update. The second
//! one is always unseen, so a second deletion cancels it and leaves the first deletion.
//!
//! Merging never produces a call that the subscription excludes (`events`): a merge results in an addition only if one of
//! the two entries is an addition. If the subscription excludes additions, an update that follows a deletion is the first
//! notification of its object: another object of the same name, or the same object after it left the filter and came back.
//!
//! **Unseen** means that the handler cannot know the object: the entry is an addition of which no attempt was ever made. The
//! handler may have seen an addition whose attempt failed, so its deletion is delivered. A replay is never unseen. Behind a
//! deletion every entry is unseen: the handler cannot know what exists now before it has received the deletion.
//!
//! **Cause.** An addition keeps its cause, so that an object from the first list is not announced as new because it changed
//! while it was pending. A deletion has the cause of the deletion. Updates, and repeated additions, have the stronger of
//! both causes: live, initial, relist, replay, resync. A resync therefore disappears in a pending update.
//!
//! **Attempts.** Newer state ends the wait of older state, and inherits the attempts of the older state: a handler that fails on every
//! state of an object that keeps changing runs out of attempts like any other. A deletion starts at zero, because it is another call,
//! and the last one of its object.
//!
//! **Every.** If each change is to be delivered ([`DeliveryMode::Every`](crate::DeliveryMode::Every)), two entries merge only
//! if the later one is no change: a resync, or a repetition of the same deletion. Any number of entries of an object may be
//! pending then, and an entry is unseen only if it is an addition, or an update behind a deletion. After the queue fell
//! behind, the table above applies, and an entry that merged changes has the cause `replay`.
//!
//! **The rest.** The result keeps the times of the oldest entry, and every sync token is held until the result is settled.

use std::{collections::VecDeque, sync::Arc};

use informer_types::{Cause, Change, Object, Observed};

use crate::entry::{Entry, Tokens, is_same_version};

/// The pending entries of one object, in order and merged. If changes merge, there are at most two entries: a deletion and
/// what follows it.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    first: Option<Entry>,
    /// Almost always empty, and then without an allocation.
    rest: VecDeque<Entry>,
}

/// The effect of a new entry.
#[derive(Debug)]
pub(crate) enum Effect {
    /// There is one more entry.
    Grew,
    /// The new entry merged with another.
    Merged {
        merge: Merge,
        /// The oldest entry, which may be waiting for its retry, now has newer state.
        newer: bool,
    },
    /// The new entry, which is a deletion, and the previous one cancelled each other.
    Cancelled {
        /// The sync tokens of both, which have to be released.
        tokens: Tokens,
        /// The deleted object.
        object: Arc<Object>,
    },
}

/// The result of merging two consecutive entries: at most two entries, in their order, and the effect of the later one.
type Coalesced = (Option<Entry>, Option<Entry>, Effect);

/// How a notification merged with a pending one of the same object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Merge {
    /// The result is an addition.
    Add,
    /// The result is an update.
    Update,
    /// The result is a deletion.
    Delete,
    /// The notification was a resync, and the pending one is at least as new.
    Resync,
}

/// The rule that decides which entries of an object merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// All pending entries that can merge.
    Latest,
    /// Only entries without a change: resyncs, and repetitions of a deletion.
    Every,
    /// All pending entries that can merge, although each change was requested; the cause `replay` shows it.
    Behind,
}

// === impl Pending ===

impl Pending {
    /// Adds the newest entry.
    pub(crate) fn push(&mut self, rule: Rule, entry: Entry) -> Effect {
        let Some(last) = self.rest.pop_back().or_else(|| self.first.take()) else {
            self.first = Some(entry);
            return Effect::Grew;
        };
        let (earlier, later, mut effect) = rule.apply(last, entry);
        for entry in earlier.into_iter().chain(later) {
            match &self.first {
                None => self.first = Some(entry),
                Some(_) => self.rest.push_back(entry),
            }
        }
        if let Effect::Merged { newer, .. } = &mut effect {
            *newer &= self.rest.is_empty();
        }
        effect
    }

    /// Puts back an entry that was in flight. It is older than all others.
    pub(crate) fn put_back(&mut self, rule: Rule, entry: Entry) -> Effect {
        let Some(next) = self.first.take() else {
            self.first = Some(entry);
            return Effect::Grew;
        };
        let (earlier, later, effect) = rule.apply(entry, next);
        if let Some(later) = later {
            self.rest.push_front(later);
        }
        self.first = earlier.or_else(|| self.rest.pop_front());
        effect
    }

    /// Takes the oldest entry.
    pub(crate) fn pop(&mut self) -> Option<Entry> {
        let entry = self.first.take()?;
        self.first = self.rest.pop_front();
        Some(entry)
    }

    pub(crate) fn first(&self) -> Option<&Entry> {
        self.first.as_ref()
    }

    pub(crate) fn last(&self) -> Option<&Entry> {
        self.rest.back().or(self.first.as_ref())
    }

    /// Returns true if newer state is pending that would replace `entry`, which is in flight.
    pub(crate) fn supersedes(&self, rule: Rule, entry: &Entry) -> bool {
        self.first.as_ref().is_some_and(|next| rule.supersedes(entry, next))
    }

    /// Returns true if a pending entry has other content than `entry`, which is in flight, at the same version (D-5). The entries about
    /// this version come first, so the search ends at the first entry about another version.
    pub(crate) fn renews(&self, entry: &Entry) -> bool {
        let state = entry.change.object();
        let states = self.iter().map(|next| next.change.object());
        states.take_while(|next| is_same_version(next, state)).any(|next| !Arc::ptr_eq(next, state))
    }

    /// Returns true if any entry belongs in the live lane.
    pub(crate) fn is_live(&self) -> bool {
        self.iter().any(|entry| entry.live)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    pub(crate) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.rest.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.first.iter().chain(&self.rest)
    }
}

impl IntoIterator for Pending {
    type Item = Entry;
    type IntoIter =
        std::iter::Chain<std::option::IntoIter<Entry>, std::collections::vec_deque::IntoIter<Entry>>;

    fn into_iter(self) -> Self::IntoIter {
        self.first.into_iter().chain(self.rest)
    }
}

// === impl Rule ===

impl Rule {
    /// Merges two pending entries of one object if the rule allows it; `later` follows `earlier` without a gap.
    fn apply(self, earlier: Entry, later: Entry) -> Coalesced {
        match self {
            Self::Latest => coalesce(earlier, later),
            Self::Every => follow(earlier, later),
            Self::Behind => behind(coalesce(earlier, later)),
        }
    }

    /// Returns true if `later` replaces `earlier`, which failed.
    fn supersedes(self, earlier: &Entry, later: &Entry) -> bool {
        self != Self::Every && supersedes(earlier, later)
    }
}

/// Keeps both entries if the later one is a change.
fn follow(earlier: Entry, later: Entry) -> Coalesced {
    let same = earlier.change.object().uid() == later.change.object().uid();
    match (earlier.is_deletion(), later.is_deletion()) {
        // The second deletion is of another object of the same name, whose addition the subscription excludes.
        (true, true) if !same => (Some(earlier), Some(later), Effect::Grew),
        (true, _) => coalesce(earlier, later),
        (false, _) if later.cause == Cause::Resync => coalesce(earlier, later),
        (false, _) => (Some(earlier), Some(Entry { unseen: false, ..later }), Effect::Grew),
    }
}

/// Marks an entry that merged with a change.
fn behind((mut earlier, later, effect): Coalesced) -> Coalesced {
    let entry = earlier.as_mut().filter(|entry| !entry.is_deletion());
    if let (Some(entry), Effect::Merged { newer: true, .. }) = (entry, &effect) {
        entry.cause = Cause::Replay;
    }
    (earlier, later, effect)
}

/// Applies the merging rule to two pending entries of one object; `later` follows `earlier` without a gap.
fn coalesce(earlier: Entry, later: Entry) -> Coalesced {
    let resync = later.cause == Cause::Resync;
    match (&earlier.change, &later.change) {
        (_, Change::Deleted { object, .. }) if earlier.unseen => {
            let object = Arc::clone(object);
            (None, None, Effect::Cancelled { tokens: earlier.tokens.and(later.tokens), object })
        }
        (Change::Deleted { .. }, Change::Added { .. }) => (Some(earlier), Some(unseen(later)), Effect::Grew),
        (Change::Deleted { object: gone, .. }, Change::Updated { new, .. })
            if !resync || gone.uid() != new.uid() =>
        {
            (Some(earlier), Some(unseen(later)), Effect::Grew)
        }
        _ => {
            let newer = supersedes(&earlier, &later);
            let entry = merge(earlier, later);
            let merge = if resync { Merge::Resync } else { Merge::of(&entry.change) };
            (Some(entry), None, Effect::Merged { merge, newer })
        }
    }
}

/// Returns true if `later` merges with `earlier` and has newer state, so that `earlier` is no longer needed.
fn supersedes(earlier: &Entry, later: &Entry) -> bool {
    match (&earlier.change, &later.change) {
        (Change::Deleted { .. }, _) => false,
        (_, Change::Deleted { .. }) => true,
        (before, after) => !is_same_version(before.object(), after.object()),
    }
}

fn merge(earlier: Entry, later: Entry) -> Entry {
    let starts_over = later.is_deletion() && !earlier.is_deletion();
    let (attempts, counted) = if starts_over { (0, false) } else { (earlier.attempts, earlier.counted) };
    let stronger = stronger(earlier.cause, later.cause);
    let (change, cause) = match (earlier.change, later.change) {
        (
            Change::Deleted { object, final_state_known: false },
            known @ Change::Deleted { final_state_known: true, .. },
        ) if object.uid() == known.object().uid() => (known, later.cause),
        // A second deletion, or a resync of a deleted object.
        (deleted @ Change::Deleted { .. }, _) => (deleted, earlier.cause),
        (_, deleted @ Change::Deleted { .. }) => (deleted, later.cause),
        (Change::Added { .. }, added @ Change::Added { .. }) => (added, stronger),
        (Change::Added { .. }, Change::Updated { new, .. }) => (Change::Added { object: new }, earlier.cause),
        (Change::Updated { .. }, added @ Change::Added { .. }) => (added, later.cause),
        (Change::Updated { old, new: between }, Change::Updated { old: since, new }) => {
            // If a subscription excludes additions and deletions, another object may have the same name now. Its updates
            // start with its own state (D-6).
            let old = if between.uid() == new.uid() { old } else { since };
            (Change::Updated { old, new }, stronger)
        }
    };
    Entry {
        unseen: earlier.unseen,
        change,
        cause,
        observed: oldest(earlier.observed, later.observed),
        queued: earlier.queued.min(later.queued),
        attempts,
        counted,
        live: earlier.live || later.live,
        tokens: earlier.tokens.and(later.tokens),
    }
}

/// The time of the older one. Its trace goes on, and the trace of the later one ends with a link to it.
fn oldest(earlier: Observed, later: Observed) -> Observed {
    Observed { at: earlier.at.min(later.at), trace: earlier.trace.merge(later.trace) }
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
