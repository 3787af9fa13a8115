//! Two lanes of ready keys, with a fair ratio between them.

use super::slot::{Lane, Links, SlotId, Slots};

/// Turns of the live lane for each turn of the backlog lane. Four to one keeps the delay of a live change short behind any
/// number of listed objects (kubernetes#68179), and keeps a list moving under any rate of live changes
/// (controller-runtime#3496).
const LIVE_TURNS: u8 = 4;

/// Both lanes. A slot is in at most one lane, and at most once. Each lane is a list linked through the slots, so a slot
/// leaves the middle of its lane in constant time.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    live: Ends,
    backlog: Ends,
    /// Turns that the live lane took in a row while the backlog lane was not empty.
    turns: u8,
}

#[derive(Debug, Default)]
struct Ends {
    first: Option<SlotId>,
    last: Option<SlotId>,
}

// === impl Lanes ===

impl Lanes {
    pub(super) fn push<K, P>(&mut self, slots: &mut Slots<K, P>, id: SlotId, lane: Lane) {
        self.ends(lane).push(slots, id);
    }

    pub(super) fn remove<K, P>(&mut self, slots: &mut Slots<K, P>, id: SlotId, lane: Lane) {
        self.ends(lane).remove(slots, id);
    }

    /// Removes and returns the slot whose turn it is.
    pub(super) fn pop<K, P>(&mut self, slots: &mut Slots<K, P>) -> Option<SlotId> {
        let live = match (self.live.first, self.backlog.first) {
            (Some(_), Some(_)) => self.turns < LIVE_TURNS,
            (live, _) => live.is_some(),
        };
        self.turns = if live && self.backlog.first.is_some() { self.turns + 1 } else { 0 };
        let ends = self.ends(Lane::of(live));
        let id = ends.first?;
        ends.remove(slots, id);
        Some(id)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.live.first.is_none() && self.backlog.first.is_none()
    }

    fn ends(&mut self, lane: Lane) -> &mut Ends {
        match lane {
            Lane::Live => &mut self.live,
            Lane::Backlog => &mut self.backlog,
        }
    }
}

// === impl Ends ===

impl Ends {
    fn push<K, P>(&mut self, slots: &mut Slots<K, P>, id: SlotId) {
        let before = self.last.replace(id);
        if let Some(slot) = slots.get_mut(id) {
            slot.links = Links { before, after: None };
        }
        match before.and_then(|before| slots.get_mut(before)) {
            Some(before) => before.links.after = Some(id),
            None => self.first = Some(id),
        }
    }

    fn remove<K, P>(&mut self, slots: &mut Slots<K, P>, id: SlotId) {
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
