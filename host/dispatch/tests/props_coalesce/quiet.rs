//! When the changes of an object may be delivered, and when they must, if objects have to be quiet first.

use std::time::{Duration, Instant};

use informer_dispatch::{QueueConfig, SETTLES_WITHIN};
use informer_types::{Cause, Change, Delivery, Notification};

use crate::history::OBJECTS;

/// Watches the changes and the calls of a queue whose changes merge.
pub(crate) struct Quiet {
    quiet: Duration,
    objects: [Waits; OBJECTS],
}

#[derive(Clone, Copy, Default)]
struct Waits {
    /// The first change that is pending and has to wait, and the last one that came before the object was quiet.
    changes: Option<(Instant, Instant)>,
    /// Something is pending that does not wait, so changes go with it.
    is_hurried: bool,
    /// A call is to be made again: when, the failure decides.
    failed: bool,
}

// === impl Quiet ===

impl Quiet {
    pub(crate) fn new(config: &QueueConfig) -> Self {
        let quiet = config.settle.values().next().copied().unwrap_or_default();
        Self { quiet, objects: Default::default() }
    }

    pub(crate) fn offered(&mut self, notification: &Notification, now: Instant) {
        let quiet = self.quiet;
        let waits = &mut self.objects[index(notification)];
        let lives = matches!(notification.cause, Cause::Live | Cause::Relist);
        match (&notification.change, &mut waits.changes) {
            (Change::Deleted { .. }, changes) => (*changes, waits.is_hurried) = (None, false),
            (_, Some(changes)) if lives && due(*changes, quiet) > now => changes.1 = now,
            (_, changes @ None) if lives && !waits.is_hurried => *changes = Some((now, now)),
            (_, None) => waits.is_hurried = true,
            (_, Some(_)) => {}
        }
    }

    /// No change is delivered before its object is quiet.
    pub(crate) fn began(&mut self, delivery: &Delivery, now: Instant) {
        if matches!(delivery.notification.change, Change::Deleted { .. }) {
            return;
        }
        let due = self.due(index(&delivery.notification));
        assert!(due.is_none_or(|due| due <= now), "not quiet yet: {delivery:?}");
        let waits = &mut self.objects[index(&delivery.notification)];
        (waits.changes, waits.is_hurried) = (None, false);
    }

    pub(crate) fn ended(&mut self, delivery: &Delivery, again: bool) {
        self.objects[index(&delivery.notification)].failed = again;
    }

    /// Nothing is ready, and nothing but the quiet time holds calls back: no object that no worker has is quiet.
    pub(crate) fn assert_none_is_due(&self, in_flight: &[usize], now: Instant) {
        for object in (0..OBJECTS).filter(|object| !in_flight.contains(object)) {
            assert!(self.due(object).is_none_or(|due| due > now), "{object} is quiet and not ready");
        }
    }

    fn due(&self, object: usize) -> Option<Instant> {
        let Waits { changes, failed, .. } = self.objects[object];
        changes.filter(|_| !failed).map(|changes| due(changes, self.quiet))
    }
}

/// When an object is quiet.
fn due((first, last): (Instant, Instant), quiet: Duration) -> Instant {
    (last + quiet).min(first + quiet * SETTLES_WITHIN)
}

fn index(notification: &Notification) -> usize {
    notification.key().name.parse().unwrap()
}
