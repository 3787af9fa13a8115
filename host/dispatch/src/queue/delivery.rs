//! The delivery mode of a queue, and how the queue falls behind and catches up.

use super::config::DeliveryMode;
use crate::coalesce::Rule;

/// Which pending changes of an object merge at present.
#[derive(Debug)]
pub(super) struct Delivery {
    mode: DeliveryMode,
    /// Each change was requested, but there were too many: they merge until the queue has caught up.
    behind: bool,
}

// === impl Delivery ===

impl Delivery {
    pub(super) fn new(mode: DeliveryMode) -> Self {
        Self { mode, behind: false }
    }

    pub(super) fn set_mode(&mut self, mode: DeliveryMode) {
        self.mode = mode;
        self.behind &= mode != DeliveryMode::Latest;
    }

    pub(super) fn rule(&self) -> Rule {
        match self.mode {
            DeliveryMode::Latest => Rule::Latest,
            DeliveryMode::Every { .. } if self.behind => Rule::Behind,
            DeliveryMode::Every { .. } => Rule::Every,
        }
    }

    pub(super) fn is_behind(&self) -> bool {
        self.behind
    }

    /// Before a notification is taken in. Returns true if the queue falls behind now, so that everything pending has to merge.
    ///
    /// Half of the capacity has to be delivered before this can happen again, so the amortized cost for each notification is
    /// constant.
    pub(super) fn falls_behind(&mut self, pending: usize) -> bool {
        let full = match self.mode {
            DeliveryMode::Latest => false,
            DeliveryMode::Every { capacity } => !self.behind && pending >= capacity.get(),
        };
        self.behind |= full;
        full
    }

    /// After a notification was handed out. Changes no longer merge once there is room again.
    pub(super) fn catch_up(&mut self, pending: usize) {
        if let DeliveryMode::Every { capacity } = self.mode {
            self.behind &= pending > capacity.get() / 2;
        }
    }
}
