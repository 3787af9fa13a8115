//! One notification in the queue, or several merged into one.

use std::time::Instant;

use informer_types::{Cause, Change, Delivery, Notification, ObjectKey, Source, SyncToken};

/// Controllers that one entry remembers; a name changes hands this often only if somebody wants it to.
const MAX_CONTROLLERS: usize = 1000;

/// A notification in the queue, with what the queue must remember about it.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) change: Change,
    pub(crate) cause: Cause,
    /// When the cache took in the oldest notification merged into this one.
    pub(crate) observed: Instant,
    /// When the oldest notification merged into this one entered the queue.
    pub(crate) queued: Instant,
    /// Calls made for this entry; see [`coalesce`](crate::coalesce) for what merging does to it.
    pub(crate) attempts: u32,
    /// The handler cannot know the object: nothing of it was ever handed out, but perhaps its deletion. True for additions only, for an
    /// update behind a deletion, and for the deletion that these become where their controllers are kept.
    pub(crate) unseen: bool,
    /// A live notification is part of it, so it belongs to the live lane.
    pub(crate) live: bool,
    pub(crate) tokens: Tokens,
    /// The controllers of the object in all states merged into this entry; none where nobody asks.
    pub(crate) controllers: Option<Controllers>,
}

/// The controllers of several states of an object.
#[derive(Debug, Default)]
pub(crate) struct Controllers {
    /// Each once.
    keys: Vec<ObjectKey>,
    /// Those that there was no room for.
    given_up: u64,
}

/// The sync tokens of everything merged into an entry; held until it is settled (P-16).
#[derive(Debug, Default)]
pub(crate) struct Tokens {
    first: Option<SyncToken>,
    /// Almost always empty, and then without memory of its own.
    more: Vec<SyncToken>,
}

// === impl Entry ===

impl Entry {
    /// The entry of a notification that was just offered, and the source it came from.
    ///
    /// An addition the queue knows nothing else about is taken as unseen, because the store says that the
    /// object was not in the cache. A replay tells again what was told before, so it never is.
    pub(crate) fn new(notification: Notification, now: Instant) -> (Source, Self) {
        let Notification { source, change, cause, initial, observed } = notification;
        let entry = Self {
            unseen: matches!(change, Change::Added { .. }) && cause != Cause::Replay,
            live: cause == Cause::Live,
            change,
            cause,
            observed,
            queued: now,
            attempts: 0,
            tokens: Tokens { first: initial, more: Vec::new() },
            controllers: None,
        };
        (source, entry)
    }

    /// Remembers who controls the object, whatever it merges with; what it remembers already stays.
    pub(crate) fn keep_controllers(&mut self) {
        let change = &self.change;
        self.controllers.get_or_insert_with(|| Controllers { keys: change.controllers(), given_up: 0 });
    }

    /// Somebody is to hear of it although the handler never knew the object.
    pub(crate) fn is_controlled(&self) -> bool {
        self.controllers.as_ref().is_some_and(|controllers| !controllers.keys.is_empty())
    }

    /// How many controllers there was no room for since this was asked last.
    pub(crate) fn take_given_up(&mut self) -> u64 {
        self.controllers.as_mut().map_or(0, |controllers| std::mem::take(&mut controllers.given_up))
    }

    pub(crate) fn is_deletion(&self) -> bool {
        matches!(self.change, Change::Deleted { .. })
    }

    /// What a worker hands to the handler. The sync tokens stay here: they are the queue's to release, however
    /// long the handler keeps its copy.
    pub(crate) fn delivery(&self, source: Source, now: Instant) -> Delivery {
        Delivery {
            notification: Notification {
                source,
                change: self.change.clone(),
                cause: self.cause,
                initial: None,
                observed: self.observed,
            },
            attempt: self.attempts,
            queued: now.saturating_duration_since(self.queued),
            controllers: self.controllers.as_ref().map(|kept| kept.keys.clone()).unwrap_or_default(),
            unseen: self.unseen && self.is_deletion(),
        }
    }
}

// === impl Controllers ===

impl Controllers {
    /// All of both, those of the earlier state first; at most [`MAX_CONTROLLERS`].
    pub(crate) fn and(mut self, later: Self) -> Self {
        self.given_up += later.given_up;
        for controller in later.keys {
            if self.keys.contains(&controller) {
                continue;
            }
            if self.keys.len() < MAX_CONTROLLERS {
                self.keys.push(controller);
            } else {
                self.given_up += 1;
            }
        }
        self
    }
}

// === impl Tokens ===

impl Tokens {
    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_none() && self.more.is_empty()
    }

    /// All tokens of both.
    pub(crate) fn and(mut self, other: Self) -> Self {
        for token in other.first.into_iter().chain(other.more) {
            match &self.first {
                None => self.first = Some(token),
                Some(_) => self.more.push(token),
            }
        }
        self
    }
}
