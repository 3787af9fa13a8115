//! Where each change was asked for, and there are too many.

use super::{Keyed, Rule, Told};
use crate::{
    entry::Tokens,
    pending::{Effect, Pending},
    queue::{DeliveryMode, slot::SlotId},
};

// === impl Keyed ===

impl Keyed {
    pub(super) fn rule(&self) -> Rule {
        match self.delivery {
            DeliveryMode::Latest => Rule::Latest,
            DeliveryMode::Every { .. } if self.behind => Rule::Behind,
            DeliveryMode::Every { .. } => Rule::Every,
        }
    }

    /// Before something is taken in: falls behind where the queue is full, and merges all that is pending. True where
    /// somebody should look again; the tokens are to be dropped outside the lock.
    ///
    /// Half of the capacity has to be delivered before this can happen again, so its cost for each notification is
    /// constant in the long run.
    pub(super) fn make_room(&mut self) -> (bool, Tokens) {
        let (mut wake, mut released) = (false, Tokens::default());
        let full = match self.delivery {
            DeliveryMode::Latest => false,
            DeliveryMode::Every { capacity } => !self.behind && self.pending >= capacity.get(),
        };
        if full {
            self.behind = true;
            self.counts.overflows += 1;
            let several = self.slots.iter().filter(|(_, slot)| slot.pending.len() > 1);
            let several: Vec<SlotId> = several.map(|(id, _)| id).collect();
            for id in several {
                let (newer, tokens) = self.merge_pending(id);
                released = released.and(tokens);
                wake |= self.advance(id, newer);
                self.end_if_empty(id);
            }
        }
        (wake, released)
    }

    /// After something was handed out: merges no more once there is room again.
    pub(super) fn catch_up(&mut self) {
        if let DeliveryMode::Every { capacity } = self.delivery {
            self.behind &= self.pending > capacity.get() / 2;
        }
    }

    /// True where the oldest of them now tells of newer state.
    fn merge_pending(&mut self, id: SlotId) -> (bool, Tokens) {
        let (mut newer, mut released) = (false, Tokens::default());
        let Some(slot) = self.slots.get_mut(id) else { return (newer, released) };
        let (entries, object) = (std::mem::take(&mut slot.pending), slot.object.clone());
        self.pending -= entries.len();
        let mut merged = Pending::default();
        for entry in entries {
            let told = Told::of(&entry);
            let effect = merged.push(Rule::Behind, entry);
            if !matches!(effect, Effect::Grew) {
                told.note(&self.tracer, &object, &effect);
            }
            self.count(&effect);
            match effect {
                Effect::Grew => {}
                Effect::Merged { newer: first, .. } => newer |= first,
                Effect::Cancelled(tokens) => released = released.and(tokens),
            }
        }
        if let Some(slot) = self.slots.get_mut(id) {
            slot.pending = merged;
        }
        (newer, released)
    }
}
