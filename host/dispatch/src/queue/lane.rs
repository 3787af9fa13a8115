//! Who is next: two lanes of objects that are ready, with a fair ratio between them.

use super::slot::{Links, SlotId, Slots};

/// Turns of the live lane for one of the other. Four to one keeps the wait of a live change short behind any
/// number of listed objects (kubernetes#68179), and a list moving under any rate of live changes
/// (controller-runtime#3496).
const LIVE_TURNS: u8 = 4;

/// Both lanes. A slot is in at most one of them, once; the links are in the slots, so that leaving from the
/// middle takes constant time and leaves nothing behind.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    live: Lane,
    other: Lane,
    /// Turns the live lane took while the other waited.
    turns: u8,
}

#[derive(Debug, Default)]
struct Lane {
    first: Option<SlotId>,
    last: Option<SlotId>,
}

// === impl Lanes ===

impl Lanes {
    pub(super) fn push(&mut self, slots: &mut Slots, id: SlotId, live: bool) {
        self.lane(live).push(slots, id);
    }

    pub(super) fn remove(&mut self, slots: &mut Slots, id: SlotId, live: bool) {
        self.lane(live).remove(slots, id);
    }

    pub(super) fn pop(&mut self, slots: &mut Slots) -> Option<SlotId> {
        let live = match (self.live.first, self.other.first) {
            (Some(_), Some(_)) => self.turns < LIVE_TURNS,
            (live, _) => live.is_some(),
        };
        self.turns = if live && self.other.first.is_some() { self.turns + 1 } else { 0 };
        let id = self.lane(live).first?;
        self.lane(live).remove(slots, id);
        Some(id)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.live.first.is_none() && self.other.first.is_none()
    }

    fn lane(&mut self, live: bool) -> &mut Lane {
        if live { &mut self.live } else { &mut self.other }
    }
}

// === impl Lane ===

impl Lane {
    fn push(&mut self, slots: &mut Slots, id: SlotId) {
        let before = self.last.replace(id);
        if let Some(slot) = slots.get_mut(id) {
            slot.links = Links { before, after: None };
        }
        match before.and_then(|before| slots.get_mut(before)) {
            Some(before) => before.links.after = Some(id),
            None => self.first = Some(id),
        }
    }

    fn remove(&mut self, slots: &mut Slots, id: SlotId) {
        let Some(slot) = slots.get_mut(id) else { return };
        let Links { before, after } = std::mem::take(&mut slot.links);
        match before.and_then(|before| slots.get_mut(before)) {
            Some(slot) => slot.links.after = after,
            None => self.first = after,
        }
        match after.and_then(|after| slots.get_mut(after)) {
            Some(slot) => slot.links.before = before,
            None => self.last = before,
        }
    }
}
