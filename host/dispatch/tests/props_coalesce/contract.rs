//! What a handler may rely on, checked call by call.

use std::collections::HashSet;

use informer_types::{Cause, Change, Delivery};

use crate::history::{Collection, OBJECTS, State};

/// Watches the calls of one handler.
#[derive(Default)]
pub(crate) struct Contract {
    objects: [Watched; OBJECTS],
    /// Objects, by UID, of which a call was ever made.
    received: HashSet<u32>,
}

#[derive(Default)]
struct Watched {
    in_hand: bool,
    /// What the handler has received by the last call that is over: acknowledged or given up.
    known: Option<State>,
    /// The newest state ever received: a version, and whether it was its deletion.
    newest: (u32, bool),
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Acknowledged or given up: the next call builds upon it.
    Over,
    /// To be made again.
    Again,
}

// === impl Contract ===

impl Contract {
    pub(crate) fn begin(&mut self, delivery: &Delivery) {
        let change = &delivery.notification.change;
        let state = State::of(change.object());
        let watched = &mut self.objects[index(delivery)];
        let what = format!("{delivery:?}, known {:?}", watched.known);

        assert!(!watched.in_hand, "two calls at once: {what}");
        let now = (state.rv, matches!(change, Change::Deleted { .. }));
        assert!(watched.newest <= now, "back in time: {what}");
        assert!(delivery.attempt >= 1, "attempts count from one: {what}");
        match (change, watched.known) {
            (Change::Added { .. }, None) => {}
            (Change::Added { .. }, Some(known)) => {
                assert_eq!(delivery.notification.cause, Cause::Replay, "received twice: {what}");
                assert_eq!(known.uid, state.uid, "a new object before the old one's deletion: {what}");
            }
            (Change::Updated { old, new }, known) => {
                assert_eq!(Some(State::of(old)), known, "the update leaves a gap: {what}");
                assert_eq!(old.uid(), new.uid(), "{what}");
            }
            (Change::Deleted { .. }, known) => {
                assert!(
                    self.received.contains(&state.uid),
                    "the deletion of an object that the handler never saw: {what}"
                );
                assert!(known.is_none_or(|known| known.uid == state.uid), "another one is gone: {what}");
            }
        }
        watched.in_hand = true;
        watched.newest = now;
        self.received.insert(state.uid);
    }

    pub(crate) fn end(&mut self, delivery: &Delivery, end: End) {
        let watched = &mut self.objects[index(delivery)];
        watched.in_hand = false;
        if end == End::Over {
            let change = &delivery.notification.change;
            watched.known = (!matches!(change, Change::Deleted { .. })).then(|| State::of(change.object()));
        }
    }

    /// When nothing is left to deliver, the handler knows the collection as it is (point 1): every deletion of
    /// an object that it received was delivered.
    pub(crate) fn assert_up_to_date(&self, collection: &Collection) {
        for (watched, object) in self.objects.iter().zip(collection.objects()) {
            assert_eq!(watched.known, *object);
        }
    }
}

/// A deletion says what the cache knew of it.
pub(crate) fn assert_deletion_is_as_told(delivery: &Delivery, collection: &Collection) {
    if let Change::Deleted { object, final_state_known } = &delivery.notification.change {
        let expected = collection.final_state_known(State::of(object).uid);
        assert_eq!(Some(*final_state_known), expected, "{delivery:?}");
    }
}

fn index(delivery: &Delivery) -> usize {
    delivery.notification.key().name.parse().unwrap()
}
